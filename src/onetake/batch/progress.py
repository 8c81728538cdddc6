"""How far a run is: what was counted, what follows from it, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from onetake.batch.attempts import Spent
from onetake.printable import counted

_WINDOW_S = 60
LIMITS = {
    "": "",
    "calls": "calls in flight",
    "rpm": "requests a minute",
    "tpm": "tokens a minute",
    "provider": "the provider, which asks to wait",
    "budget": "the budget: calls in flight must end first",
    "other": "another run, which asks the same",
}
"""What may hold a run back, and how that is said."""


class Rate:
    """What came within the last minute, second by second, in constant space.

    Args:
        now: Seconds of a monotonic clock.
    """

    def __init__(self, now: float) -> None:
        self._sums = [0.0] * _WINDOW_S
        self._began = self._last = int(now)

    def add(self, amount: float, now: float) -> None:
        """Count something."""
        self._go_on(now)
        self._sums[int(now) % _WINDOW_S] += amount

    def per_second(self, now: float) -> float:
        """Return how much came a second, over the last minute or since the beginning."""
        self._go_on(now)
        return sum(self._sums) / max(1, min(_WINDOW_S, int(now) - self._began + 1))

    def _go_on(self, now: float) -> None:
        for second in range(max(self._last, int(now) - _WINDOW_S) + 1, int(now) + 1):
            self._sums[second % _WINDOW_S] = 0.0
        self._last = max(self._last, int(now))


@dataclass(slots=True)
class Tally:
    """What a run has counted so far.

    Args:
        began: When, in seconds of a monotonic clock.
        total: Records of the input; None where nobody counted them.
        done: Records that need nothing more in this run.
        cached: Of these, those whose row could be made from what was stored.
        shared: Of these, those that ask what another one asks just now, or has asked in vain.
        asked: Records for which something was asked.
        repaired: Of these, those that needed another question.
        failed: Records without an answer, by class.
        calls: Requests sent, all attempts.
        again: Of these, those that were sent again.
        in_flight: Since when each call is in flight, by attempt.
        tokens: Of requests and replies, as providers count them.
        cost: US dollars, as far as prices are known.
        unpriced: Calls that took tokens and have no known price.
        limit: What limits right now: a name of `LIMITS`.
        room: Calls that may be in flight now.
    """

    began: float
    total: int | None = None
    done: int = 0
    cached: int = 0
    shared: int = 0
    asked: int = 0
    repaired: int = 0
    failed: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    again: int = 0
    in_flight: dict[int, float] = field(default_factory=dict)
    tokens: int = 0
    cost: Decimal = Decimal(0)
    unpriced: int = 0
    limit: str = ""
    room: int = 0
    answers: Rate = field(init=False)
    """Records that were asked and are done."""
    taken: Rate = field(init=False)
    """Tokens."""

    def __post_init__(self) -> None:
        self.answers, self.taken = Rate(self.began), Rate(self.began)

    def sent(self, attempt: int, now: float, *, is_again: bool) -> None:
        """Count a call that goes out."""
        self.calls += 1
        self.again += is_again
        self.in_flight[attempt] = now

    def took(self, spent: Spent, now: float) -> None:
        """Count what a call took."""
        tokens = (spent.input or 0) + (spent.output or 0)
        self.tokens += tokens
        self.taken.add(tokens, now)
        self.cost += spent.cost or 0
        self.unpriced += spent.cost is None and tokens > 0

    def share(self) -> None:
        """Count a record that asks what another one asks."""
        self.shared += 1
        self.done += 1

    def settled(self, failure: str | None, now: float, *, asked: int, keys: int) -> None:
        """Count a record that needs nothing more in this run.

        Args:
            failure: The class of its failure; None for an answer.
            now: The time.
            asked: Replies of this run that it took; 0 where all were stored.
            keys: Replies that it took, of any run.
        """
        self.done += 1
        if failure is not None:
            self.failed[failure] = self.failed.get(failure, 0) + 1
        if not asked:
            self.cached += 1
            return
        self.asked += 1
        self.repaired += keys > 1
        self.answers.add(1, now)


def facts(tally: Tally, now: float) -> dict[str, Any]:
    """Return what there is to say, as `--progress json` prints it.

    Args:
        tally: What was counted.
        now: Seconds of the same clock.

    Returns:
        The counts; `oldest_s`, `calls_per_second`, `tokens_per_minute`, `eta_s` (None where it cannot be told: only
        records that are asked tell it, as those that are stored take no time) and `cost_projected` (None likewise).
    """
    speed = tally.answers.per_second(now)
    left = None if tally.total is None else max(0, tally.total - tally.done)
    asked = tally.asked
    return {
        "total": tally.total,
        "done": tally.done,
        "cached": tally.cached,
        "shared": tally.shared,
        "asked": asked,
        "repaired": tally.repaired,
        "failed": dict(sorted(tally.failed.items())),
        "calls": tally.calls,
        "again": tally.again,
        "in_flight": len(tally.in_flight),
        "oldest_s": round(now - min(tally.in_flight.values()), 1) if tally.in_flight else 0.0,
        "room": tally.room,
        "calls_per_second": round(speed, 2),
        "tokens_per_minute": round(tally.taken.per_second(now) * 60),
        "limit": tally.limit,
        "cost": float(tally.cost),
        "unpriced": tally.unpriced,
        "cost_projected": float(tally.cost / asked * (asked + left)) if asked and left is not None else None,
        "elapsed_s": round(now - tally.began, 1),
        "eta_s": round(left / speed) if speed and left is not None else None,
    }


def lines(said: Mapping[str, Any]) -> list[str]:
    """Return what `facts` says in words, a block of a few lines; joined by `; ` it is one line of a log."""
    total = f"{said['done']:,}/{said['total']:,}" if said["total"] is not None else counted(said["done"], "record")
    counts = [f"{said[name]:,} {name}" for name in ("cached", "asked", "repaired", "shared") if said[name]]
    counts += [f"{count:,} {name}" for name, count in said["failed"].items()]
    rates = [f"{said['in_flight']} of {said['room']} in flight"]
    if said["in_flight"]:
        rates.append(f"the oldest for {span(said['oldest_s'])}")
    rates += [f"{said['calls_per_second']:.1f} calls/s", f"{said['tokens_per_minute']:,} tokens/min"]
    if said["limit"]:
        rates.append(f"limited by {LIMITS[said['limit']]}")
    ends = [_money(said)] if said["asked"] else []
    if said["eta_s"] is not None and said["done"] != said["total"]:
        ends.append(f"about {span(said['eta_s'])} left")
    return [line for line in (" · ".join([total, *counts]), " · ".join(rates), " · ".join(ends)) if line]


def span(seconds: float) -> str:
    """Write a span of time: `8 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _money(said: Mapping[str, Any]) -> str:
    spent = f"${said['cost']:,.4f} spent"
    if said["unpriced"]:
        spent += f", the price of {counted(said['unpriced'], 'call')} unknown"
    elif said["cost_projected"] is not None:
        spent += f", ${said['cost_projected']:,.4f} projected"
    return spent
