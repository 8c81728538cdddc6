"""What a run would do: which records have replies, why the others have none, and what asking them would take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from onetake.batch.adopting import refusal
from onetake.batch.asking import Asking
from onetake.batch.costs import Costs
from onetake.batch.editing import edit
from onetake.batch.failures import Failure
from onetake.batch.job import Job
from onetake.batch.measuring import SPREAD, Measured, measure
from onetake.batch.opening import Opened
from onetake.batch.records import Record
from onetake.batch.remembering import Asked
from onetake.batch.resolving import Needed, Resolver, Row
from onetake.batch.seen import Seen
from onetake.picking import count
from onetake.printable import one_line
from onetake.stores import Store

NEW = "not asked before"
REPAIR = "a bad reply is to be repaired"
OTHER = "other reasons"

_REASONS = 50
"""Reasons that are told apart: those that a damaged store gives are all different."""
_DIGITS = 12
_AROUND = 60
"""Tokens that a repair says besides the bad reply."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why records have no reply.

    Args:
        reason: In words.
        count: How many records.
        example: The line of the first of them.
        adopt: Digits of the earlier job from which `onetake adopt --from` takes the answers over; None where it would
            not.
    """

    reason: str
    count: int
    example: int
    adopt: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would find and do.

    Args:
        records: Lines of the input, the bad ones too.
        hits: Records whose row can be made from what is stored.
        misses: Records for which something must be asked.
        keys: Different requests, as far as they are the first of their records.
        duplicates: Records that ask what another one before them asks.
        bad_lines: Lines that are no records.
        missing_fields: Records that lack a field that the prompt names.
        failures: Of the hits, those whose row is an error, by class.
        reasons: Why there are misses, the most frequent first.
        calls: Requests to send, repairs not counted.
        orphans: Stored replies that no record of this input and job leads to.
        tokens: Estimated, asked and answered.
        cost_low: US dollars if answers are short and none needs a repair; None where no price is known.
        cost_high: If they are as long as they may be, and each needs all its repairs; None also where nothing says how
            long an answer may be.
        seconds: At the job's limits; None where nothing is known to estimate by.
    """

    records: int
    hits: int
    misses: int
    keys: int
    duplicates: int
    bad_lines: int
    missing_fields: int
    failures: dict[str, int]
    reasons: tuple[Reason, ...]
    calls: int
    orphans: int
    tokens: int
    cost_low: float | None
    cost_high: float | None
    seconds: float | None


def plan(batch: Opened, costs: Costs, earlier: Iterable[Asked] = ()) -> Plan:
    """Say what a run would do. Asks nobody.

    Args:
        batch: A job on an input.
        costs: What knows the price of the job's model.
        earlier: What other jobs asked on the same store, the last one first.

    Raises:
        StoreError: The store as a whole cannot be read.
        UsageError: The input cannot be read.
    """
    with closing(_Count(Why(batch, earlier))) as count:
        for record in batch.records():
            count.add(record, batch.resolver.resolve(record))
        orphans = count.orphans(batch.store)
        return _planned(count, orphans, batch.job, measure(batch.store), costs)


class Why:
    """Says why a record has no reply: by what is stored for it, else by what earlier jobs asked about it.

    Args:
        batch: The job of today.
        earlier: What others asked, the last one first.
    """

    def __init__(self, batch: Opened, earlier: Iterable[Asked]) -> None:
        self._before: list[tuple[str, str | None, Resolver]] = []
        for asked in earlier:
            made = Asking(asked.ask, asked.schema, asked.name)
            said = edit(asked, batch.job.ask, batch.asking.schema)
            digits = None if refusal(batch, asked) else asked.digest[:_DIGITS]
            self._before.append((said, digits, batch.resolver_for(made, asked.repairs)))

    def __call__(self, record: Record, needed: Needed) -> tuple[str, str | None]:
        """Return the reason, in one line, and from which job answers may be adopted, as `Reason` has it."""
        if needed.reply.why:
            return one_line(needed.reply.why.partition("\n")[0], 300), None
        if needed.repairs:
            return REPAIR, None
        for said, digits, resolver in self._before:
            found = resolver.resolve(record)
            if found.keys:
                is_good = isinstance(found, Row) and found.failure is None and len(found.keys) == 1
                return said, digits if is_good else None
        return NEW, None


class _Count:
    """Counts records by what is known of them."""

    def __init__(self, why: Why) -> None:
        self._why = why
        self._seen = Seen("first", "reached")
        self._reasons: dict[str, Reason] = {}
        self.records = self.hits = self.misses = self.keys = self.bad_lines = self.missing = 0
        self.calls = self.bytes = 0
        self.failures: dict[str, int] = {}

    def add(self, record: Record, found: Row | Needed) -> None:
        """Count one more record."""
        self.records += 1
        for key in found.keys:
            self._seen.add("reached", key)
        if isinstance(found, Needed):
            self._miss(record, found)
            return
        self.bad_lines += found.failure is Failure.BAD_LINE
        self.missing += found.failure is Failure.MISSING_FIELD
        if found.keys:
            self.hits += 1
            self.keys += self._seen.add("first", found.keys[0])
            if found.failure:
                self.failures[found.failure] = self.failures.get(found.failure, 0) + 1

    def reasons(self) -> tuple[Reason, ...]:
        """Return why there are misses, the most frequent first."""
        return tuple(sorted(self._reasons.values(), key=lambda one: (-one.count, one.example)))

    def orphans(self, store: Store) -> int:
        """Count what is stored and was not reached."""
        return sum(not self._seen.has("reached", key) for key, _ in store.names())

    def close(self) -> None:
        """Forget everything."""
        self._seen.close()

    def _miss(self, record: Record, needed: Needed) -> None:
        self.misses += 1
        asked = needed.reply.asked.key
        first = needed.keys[0] if needed.keys else asked
        self.keys += self._seen.add("first", first)
        # What there is for it does not count, but the run replaces it: it is nobody's orphan.
        if self._seen.add("reached", asked):
            self.calls += 1
            self.bytes += len(needed.request.body)
        reason, adopt = self._why(record, needed)
        if reason not in self._reasons and len(self._reasons) >= _REASONS:
            reason = OTHER
        known = self._reasons.get(reason, Reason(reason, 0, record.line, adopt))
        self._reasons[reason] = replace(known, count=known.count + 1, adopt=known.adopt or adopt)


def _planned(count: _Count, orphans: int, job: Job, measured: Measured, costs: Costs) -> Plan:
    most = _longest(job.ask.params, measured)
    low, expected, high = (count.bytes * rate for rate in measured.per_byte)
    answered = count.calls * (measured.answered if measured.answered is not None else most or 0)
    shortest = count.calls * (measured.answered * (1 - SPREAD) if measured.answered is not None else 1)
    tokens = round(expected + answered)
    return Plan(
        records=count.records,
        hits=count.hits,
        misses=count.misses,
        keys=count.keys,
        duplicates=count.hits + count.misses - count.keys,
        bad_lines=count.bad_lines,
        missing_fields=count.missing,
        failures=dict(sorted(count.failures.items())),
        reasons=count.reasons(),
        calls=count.calls,
        orphans=orphans,
        tokens=tokens,
        cost_low=_dollars(costs, low, shortest) if count.calls else 0.0,
        cost_high=_dearest(count.calls, high, most, job.run.repairs, costs) if count.calls else 0.0,
        seconds=_seconds(count.calls, tokens, job, measured) if count.calls else 0.0,
    )


def _dearest(calls: int, asked: float, most: int | None, repairs: int, costs: Costs) -> float | None:
    """Return the cost where each answer is as long as it may be, and each record needs all its repairs."""
    if most is None:
        return None
    times = repairs + 1
    quoted = calls * (most + _AROUND) * (repairs * times // 2)  # each repair quotes all the answers before it
    return _dollars(costs, asked * times + quoted, calls * most * times)


def _dollars(costs: Costs, asked: float, answered: float) -> float | None:
    price = costs.of_tokens(round(asked), round(answered))
    return None if price is None else float(price)


def _seconds(calls: int, tokens: int, job: Job, measured: Measured) -> float | None:
    run = job.run
    known = [
        calls * measured.seconds / run.most if measured.seconds is not None else None,
        calls * 60 / run.rpm if run.rpm else None,
        tokens * 60 / run.tpm if run.tpm else None,
    ]
    return max((one for one in known if one is not None), default=None)


def _longest(params: Mapping[str, Any], measured: Measured) -> int | None:
    """Return the most tokens of one answer: what the job allows, or what one took, where that is more."""
    said = [count(params.get(name)) for name in ("max_tokens", "max_completion_tokens")]
    allowed = next((one for one in said if one is not None), None)
    known = [one for one in (allowed, measured.most) if one is not None]
    return max(known, default=None)
