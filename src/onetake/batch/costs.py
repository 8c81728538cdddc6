"""What calls cost, to the last fraction of a cent, and a budget that they stay within."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from onetake import picking, prices
from onetake.batch.attempts import Spent
from onetake.batch.job import Ask, Job
from onetake.errors import UsageError
from onetake.model import Entry, KeySpec, Request, Response

_MOST = 1000
"""Prices that are remembered."""
_MILLION = Decimal(1_000_000)
_DIALECTS = {"openai": "openai-chat/1", "anthropic": "anthropic-messages/1"}


class Costs:
    """Knows what tokens cost: the job's own `prices`, else the list prices of the optional genai-prices.

    Args:
        ask: What is asked: the model, and where.
        own: US dollars a million tokens, `input` and `output`; None for list prices.
    """

    def __init__(self, ask: Ask, own: Mapping[str, float] | None = None) -> None:
        self._ask = ask
        self._own = None if own is None else {name: Decimal(str(price)) / _MILLION for name, price in own.items()}
        self._listed: dict[object, Decimal | None] = {}
        self.is_known = self.of_tokens(1000, 1000) is not None
        """Whether there is a price; without one calls are counted, and their cost is not known."""

    @property
    def why_unknown(self) -> str:
        """Why there is no price, and what mends it; empty where there is one."""
        if self.is_known:
            return ""
        listed = "genai-prices lists none" if prices.is_installed() else "genai-prices is not installed"
        return f"the price of {self._ask.model} is not known ({listed}): say `prices` under [run]"

    def of(self, entry: Entry) -> Spent:
        """Return what a reply took; what is read from a prompt cache has its own list price."""
        asked, answered = (picking.count(entry.metrics.get(name)) for name in ("input_tokens", "output_tokens"))
        if self._own is not None or (asked is None and answered is None):
            return Spent(asked, answered, self.of_tokens(asked, answered))
        # The answers of a batch are much alike, and to look a price up takes longer than to store an entry.
        same = prices.depends_on(entry)
        if same not in self._listed:
            if len(self._listed) >= _MOST:
                self._listed.clear()
            self._listed[same] = _exact(prices.cost_of(entry))
        return Spent(asked, answered, self._listed[same])

    def of_tokens(self, asked: int | None, answered: int | None) -> Decimal | None:
        """Return what tokens cost in US dollars; None where no price is known, or nothing was counted.

        Args:
            asked: Tokens of the request.
            answered: Tokens of the reply.
        """
        if asked is None and answered is None:
            return None
        if self._own is not None:
            return self._own["input"] * (asked or 0) + self._own["output"] * (answered or 0)
        return _exact(prices.cost_of(self._supposed(asked or 0, answered or 0)))

    def _supposed(self, asked: int, answered: int) -> Entry:
        """Return a reply of so many tokens, for genai-prices to price."""
        return Entry(
            verdict="good",
            key="",
            ordinal=0,
            key_spec=KeySpec("", ""),
            request=Request("POST", self._ask.base_url),
            response=Response(200),
            dialect=_DIALECTS[self._ask.api],
            provenance={"model_asked": self._ask.model},
            metrics={"input_tokens": asked, "output_tokens": answered},
        )


class Budget:
    """What a run may spend. Whoever sends a call first reserves the most that it can cost.

    Args:
        limit: US dollars; None for no limit.
    """

    def __init__(self, limit: float | None) -> None:
        self._limit = None if limit is None else Decimal(str(limit))
        self._reserved = Decimal(0)
        self._spent = Decimal(0)

    def reserve(self, most: Decimal) -> bool:
        """Set money aside for a call; False where that would be more than is left, now or at all.

        Args:
            most: What the call can cost, US dollars.
        """
        if self._limit is not None and self._spent + self._reserved + most > self._limit:
            return False
        self._reserved += most
        return True

    def settle(self, most: Decimal, cost: Decimal | None) -> None:
        """End a call.

        Args:
            most: What was reserved for it.
            cost: What it cost; None where nobody knows, which then counts as all that was reserved.
        """
        self._reserved -= most
        self._spent += most if cost is None else cost


def costs_of(job: Job) -> Costs:
    """Return what knows the prices of a job.

    Raises:
        UsageError: It has a budget, and no price is known.
    """
    costs = Costs(job.ask, job.run.prices)
    if job.run.max_cost is not None and not costs.is_known:
        raise UsageError(f"a budget cannot be kept: {costs.why_unknown}")
    return costs


def _exact(dollars: float | None) -> Decimal | None:
    return None if dollars is None else Decimal(repr(dollars))
