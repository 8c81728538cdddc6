"""An open session as tests written for vcrpy look at their cassette: what it holds, and what was played of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from onetake import waiting
from onetake.engine import Engine
from onetake.imported import imported_from
from onetake.model import Entry, Mode, Repeats, Request
from onetake.preparing import Preparing
from onetake.vcrwords import matching
from onetake.vcrwords.requests import VcrRequest, as_vcr, from_vcr, response_as_vcr, stored_as_vcr


class VcrCassette:
    """What a session's cassette holds, in vcrpy's words; nothing of it can be changed here.

    Args:
        engine: Of the test's session.
        preparing: What is done to a request before it is compared.
        matches: What tells whether a request is answered by a stored one.
    """

    def __init__(
        self,
        engine: Engine,
        preparing: Preparing,
        matches: matching.Compare,
    ) -> None:
        self._engine = engine
        self._preparing = preparing
        self._matches = matches
        self.inject = False
        """Whether a function that it decorates gets it as its first argument."""
        self._rewound = 0
        self._found: list[Entry] | None = None
        if waiting.may_not_block():
            self._stored()  # a test may look at it inside an event loop

    @property
    def requests(self) -> list[VcrRequest]:
        """The requests that it holds, in recorded order."""
        return [stored_as_vcr(entry.request) for entry in self._held()]

    @property
    def responses(self) -> list[dict[str, Any]]:
        """The responses that it holds, in recorded order."""
        return [response_as_vcr(entry.response) for entry in self._held()]

    @property
    def data(self) -> list[tuple[VcrRequest, dict[str, Any]]]:
        """Both of them."""
        return list(zip(self.requests, self.responses, strict=True))

    @property
    def play_counts(self) -> Counter[int]:
        """How often each was played, by its place."""
        places = {(entry.key, entry.ordinal): number for number, entry in enumerate(self._held())}
        return Counter(places[slot] for slot in self._engine.played[self._rewound :] if slot in places)

    @property
    def play_count(self) -> int:
        """How many answers were played."""
        return self.play_counts.total()

    @property
    def all_played(self) -> bool:
        """Whether each was played."""
        return len(self.play_counts) == len(self)

    @property
    def record_mode(self) -> str:
        """The session's mode."""
        return str(self._engine.policy.mode)

    @property
    def dirty(self) -> bool:
        """Whether anything was recorded."""
        return bool(self._engine.recorded)

    @property
    def write_protected(self) -> bool:
        """Whether nothing can be recorded."""
        return self.record_mode == "none"

    def rewind(self) -> None:
        """Count anew what is played from here on; what was played before is not played again."""
        self._rewound = len(self._engine.played)

    def responses_of(self, request: Any) -> list[dict[str, Any]]:
        """Return the responses to requests that match one.

        Raises:
            LookupError: It holds none.
        """
        found = [response for _, response in self._matching(request)]
        if not found:
            raise LookupError(f"the cassette holds no answer to {request!r}")
        return found

    def can_play_response_for(self, request: Any) -> bool:
        """Tell whether it would answer a request: it holds an answer, and asks nobody anew."""
        return self._engine.policy.mode is not Mode.ALL and request in self

    def __contains__(self, request: Any) -> bool:
        """Tell whether it holds an answer to a request that was not played, or that is played again and again."""
        again, counts = self._engine.policy.repeats is Repeats.SAME, self.play_counts
        return any(again or not counts[number] for number, _ in self._matching(request))

    def __len__(self) -> int:
        return len(self._held())

    def _matching(self, request: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        asked = self._prepared(request)
        for number, (stored, response) in enumerate(self.data):
            if asked is not None and self._matches(asked, stored):
                yield number, response

    def _prepared(self, request: Any) -> VcrRequest | None:
        """Return a request, also one of vcrpy's own class, as it is compared."""
        plain = Request(request.method, request.uri, tuple(request.headers.items()))
        plain = from_vcr(VcrRequest(request.method, request.uri, request.body, request.headers), plain)
        prepared = self._preparing.prepared(plain)
        return None if prepared is None else as_vcr(prepared)

    def _held(self) -> list[Entry]:
        """Return its entries: those of an import as they came, then those that were recorded here, as they were."""
        recorded = {(entry.key, entry.ordinal): entry for entry in self._engine.recorded}
        stored = (entry for entry in self._stored() if (entry.key, entry.ordinal) not in recorded)
        return [*stored, *recorded.values()]

    def _stored(self) -> list[Entry]:
        """Return what it held when it was first looked at, read once: what comes later was recorded here."""
        if self._found is None:
            held = (entry for _, _, entry in self._engine.cassette.all() if isinstance(entry, Entry))
            self._found = sorted(held, key=_order)
        return self._found


def _order(entry: Entry) -> tuple[bool, str, int, str, int]:
    came = imported_from(entry)
    file, position = came or ("", 0)
    return came is None, file, position, str(entry.provenance.get("recorded_at", "")), entry.ordinal
