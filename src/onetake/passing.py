"""What goes out untouched: calls that are none of a session's business, and a word on those that look like one."""

from __future__ import annotations

from onetake import dialects, forking, waiting
from onetake.ledger import Ledger
from onetake.misses import line_of
from onetake.model import Request
from onetake.steps import Policy
from onetake.traffic import Route


class Passing:
    """Which calls of a session go out untouched.

    Args:
        policy: What the session goes by.
        ledger: Its refusals; what looks like a model call is said there.
    """

    def __init__(self, policy: Policy, ledger: Ledger) -> None:
        self._policy = policy
        self._ledger = ledger
        self._warned: set[tuple[str, str]] = set()
        self._lock = forking.Lock()
        if waiting.may_not_block():
            dialects.known()  # they look at files once, and the first call may come inside an event loop

    def passes(self, method: str, url: str) -> bool:
        """Tell whether a request goes out untouched, and warn of one that looks like a model's."""
        if self._policy.traffic.verdict(method, url) is Route.INTERACTION:
            return False
        self._warn(method, url.partition("?")[0])
        return True

    def _warn(self, method: str, place: str) -> None:
        """Say, once a place, that a call which goes out untouched looks like one that should be recorded."""
        said = self._policy.traffic.warning(method, place)
        if not said:
            return
        with self._lock.held:
            if (method, place) in self._warned:
                return
            self._warned.add((method, place))
        self._ledger.say(f"{line_of(Request(method, place), self._policy)} {said}")
