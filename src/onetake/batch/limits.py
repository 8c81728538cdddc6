"""How much may be asked at once: buckets, a hold of the whole run, and a number of calls that adapts.

Nothing here has a clock: every time is in seconds of one monotonic clock, which the caller reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from onetake.batch.retrying import Fault, Kind, backoff

_MINUTE = 60.0
_LESS, _MORE = 0.8, 0.05
_USED = 0.8
_JAMS = ("503", "529", "timeout")
_BURST_S = 10.0
"""Seconds' worth of tokens that are there at once: one call may take more than a second's."""
COOL_DOWN_S = 10.0
"""Seconds in which the number of calls is lowered once at most: one jam fails all calls that are in it."""
PATIENCE_S = 900.0
"""Seconds without a good answer, while calls fail, after which a run stops."""
_ALIKE_ACCESS = 3
_FIRST_REFUSED = 20


class Bucket:
    """What may be taken a minute; in no minute is more taken, save that one large take may go into debt.

    Args:
        per_minute: Above 0.
        now: When it is made: it is full then.
        burst: Seconds' worth that it holds, at least one.
    """

    def __init__(self, per_minute: float, now: float, burst: float = 1.0) -> None:
        # A minute that begins with a full bucket must not give more than any other.
        self._rate = per_minute / (_MINUTE + burst)
        self._size = self._rate * burst
        if self._size < 1.0:
            self._rate, self._size = per_minute / _MINUTE, 1.0
        self._level = self._size
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until *amount* may be taken; what is more than the bucket holds, once it is full."""
        self._fill(now)
        lacks = min(amount, self._size) - self._level
        return lacks / self._rate if lacks > 1e-9 else 0.0

    def take(self, amount: float, now: float) -> None:
        """Take; a negative amount is given back."""
        self._fill(now)
        self._level = min(self._size, self._level - amount)

    def _fill(self, now: float) -> None:
        self._level = min(self._size, self._level + max(0.0, now - self._at) * self._rate)
        self._at = max(self._at, now)


class Concurrency:
    """How many calls may be in flight: doubles each round until the first jam, then creeps.

    Args:
        least: To begin with, 1 or more; a jam may lower it to 1.
        most: At most.
    """

    def __init__(self, least: int, most: int) -> None:
        self._limit = float(least)
        self._most = most
        self._is_starting = True
        self._lowered = float("-inf")

    @property
    def limit(self) -> int:
        """Calls that may be in flight now, 1 or more."""
        return int(self._limit)

    def succeeded(self, in_flight: int) -> None:
        """Note a good answer.

        Args:
            in_flight: Calls that were in flight, this one too: what is not used says nothing of what more would do.
        """
        if in_flight >= _USED * self.limit:
            self._limit = min(float(self._most), self._limit + (1.0 if self._is_starting else _MORE))

    def jammed(self, now: float) -> None:
        """Note that the provider had too much: a rate limit, an overload, a timeout."""
        self._is_starting = False
        if now - self._lowered >= COOL_DOWN_S:
            self._lowered = now
            self._limit = max(1.0, self._limit * _LESS)


class Breaker:
    """Says when a run had better stop, for it pays or waits for nothing.

    Args:
        most: Calls that may be in flight: as many fail at once where a connection breaks.
    """

    def __init__(self, most: int) -> None:
        self._alike = max(_FIRST_REFUSED, 3 * most)
        self._label, self._count = "", 0
        self._failing: float | None = None
        self._refused = 0
        self._has_good = False
        self._last: Fault | None = None

    def good(self) -> None:
        """Note a good answer, or one that at least is the model's."""
        self._has_good = True
        self._answered()

    def failed(self, fault: Fault, now: float, until: float | None = None) -> str:
        """Note a fault, and say why the run must stop; empty where it goes on.

        Args:
            fault: What came.
            now: When.
            until: When the next call may be sent; now where left out.
        """
        if fault.kind is Kind.MONEY:
            return str(fault)
        if fault.kind is Kind.REFUSED:
            return self._refuse(fault)
        self._last = fault
        self._failing = now if self._failing is None else self._failing
        without = (now if until is None else until) - self._failing
        if without > PATIENCE_S:
            return f"no answer for {without:.0f} s, the wait that it asks for included: {fault}"
        return self._repeated(fault)

    def stands(self) -> str:
        """Say, at the end of a run, what no answer has proved wrong yet and concerns every request; else empty."""
        return str(self._last) if self._last is not None and self._last.kind is Kind.ACCESS else ""

    def _answered(self) -> None:
        self._label, self._count, self._failing, self._last = "", 0, None, None

    def _refuse(self, fault: Fault) -> str:
        self._answered()
        self._refused += 1
        if self._has_good or self._refused < _FIRST_REFUSED:
            return ""
        return f"the first {_FIRST_REFUSED} requests were all refused: {fault}"

    def _repeated(self, fault: Fault) -> str:
        if fault.kind is Kind.RATE:
            return ""
        self._count = self._count + 1 if fault.label == self._label else 1
        self._label = fault.label
        enough = _ALIKE_ACCESS if fault.kind is Kind.ACCESS else self._alike
        return f"{self._count} calls failed alike: {fault}" if self._count >= enough else ""


@dataclass(slots=True)
class Ticket:
    """One call's place in flight.

    Args:
        tokens: What was taken of the tokens.
        sent: When.
        in_flight: Calls in flight then, this one too.
    """

    tokens: float
    sent: float
    in_flight: int


class Limits:
    """All limits of a run.

    Args:
        least: Calls in flight to begin with.
        most: Calls in flight at most.
        rpm: Requests a minute at most; None for no limit.
        tpm: Tokens a minute at most; None for no limit.
        now: The time.
        chance: Returns a number from 0 to 1.
    """

    def __init__(
        self, least: int, most: int, *, rpm: float | None, tpm: float | None, now: float, chance: Callable[[], float]
    ) -> None:
        self.concurrency = Concurrency(least, most)
        self.in_flight = 0
        self._requests = Bucket(rpm, now) if rpm else None
        self._tokens = Bucket(tpm, now, _BURST_S) if tpm else None
        self._chance = chance
        self._hold = now
        self._held = float("-inf")
        self._rounds = 0

    @property
    def hold(self) -> float:
        """When calls may be sent again; past where nothing holds them."""
        return self._hold

    @property
    def is_full(self) -> bool:
        """Whether a call must end before another may begin."""
        return self.in_flight >= self.concurrency.limit

    def wait(self, tokens: float, now: float) -> tuple[float, str]:
        """Return the seconds until a call may be sent, as far as time decides, and what decides: a word or empty.

        Args:
            tokens: What it takes, as far as is known.
            now: The time.
        """
        waits = [(self._hold - now, "provider")]
        if self._requests:
            waits.append((self._requests.wait(1, now), "rpm"))
        if self._tokens:
            waits.append((self._tokens.wait(tokens, now), "tpm"))
        longest = max(waits)
        return longest if longest[0] > 0 else (0.0, "")

    def begin(self, tokens: float, now: float) -> Ticket:
        """Take what a call takes."""
        self.in_flight += 1
        if self._requests:
            self._requests.take(1, now)
        if self._tokens:
            self._tokens.take(tokens, now)
        return Ticket(tokens, now, self.in_flight)

    def end(self, ticket: Ticket, now: float, used: float | None = None) -> None:
        """Give back what a call did not take.

        Args:
            ticket: The call's.
            now: The time.
            used: Its tokens as the provider counts them; None where it does not.
        """
        self.in_flight -= 1
        if self._tokens and used is not None:
            self._tokens.take(used - ticket.tokens, now)

    def succeeded(self, ticket: Ticket, now: float, hint: float = 0.0) -> None:
        """Note a good answer.

        Args:
            ticket: The call's.
            now: The time.
            hint: Seconds for which the provider's headers say that there is no room.
        """
        self.concurrency.succeeded(ticket.in_flight)
        if ticket.sent >= self._held:
            self._rounds = 0
        self._hold = max(self._hold, now + min(hint, _MINUTE))

    def failed(self, ticket: Ticket, fault: Fault, now: float) -> None:
        """Note a fault: after a rate limit the whole run waits."""
        if fault.kind is Kind.RATE or fault.label in _JAMS:
            self.concurrency.jammed(now)
        if fault.kind is not Kind.RATE:
            return
        wait = fault.wait
        if ticket.sent >= self._held:  # those sent before the last hold tell nothing new
            self._rounds += 1
            self._held = now
            wait = max(wait, backoff(self._rounds, self._chance()))
        self._hold = max(self._hold, now + wait)
