"""What became of a batch: its rows by class, and those that failed, with the replies behind them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from onetake.batch.failures import FIXES, Failure
from onetake.batch.opening import Opened
from onetake.batch.records import Tally
from onetake.batch.resolving import Needed, Row
from onetake.batch.seen import Seen
from onetake.cassette import Cassette
from onetake.format.heads import is_adopted
from onetake.model import Entry
from onetake.printable import one_line

_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Failed:
    """A row without an answer.

    Args:
        line: The record's number.
        failure: Its class.
        message: The same in words.
        reply: What came last, as text: what the model said, else the response's body; None where nothing is stored.
        key: Of the request that it answers; None where none was made.
        keys: Of all replies that led to it.
    """

    line: int
    failure: Failure
    message: str
    reply: str | None
    key: str | None
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Class:
    """The failures of one class.

    Args:
        failure: The class.
        count: How many rows.
        line: The first of them.
        message: What that one says.
        fix: What most often mends it.
    """

    failure: Failure
    count: int
    line: int
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a batch is.

    Args:
        records: Lines of the input.
        answered: Rows with an answer.
        adopted: Of these, those whose answer `onetake adopt --from` took over from an earlier prompt.
        failed: Rows that are errors; those without a stored reply are not among them.
        waiting: Records for which something is still to be asked.
        classes: The failures, the most frequent first.
    """

    records: int
    answered: int
    adopted: int
    failed: int
    waiting: int
    classes: tuple[Class, ...]


def standing(batch: Opened, *, gave_up: bool = False, tally: Tally | None = None) -> Standing:
    """Say how far a batch is. Asks nobody.

    Args:
        batch: A job on an input.
        tally: Is told what was read of the input.
        gave_up: True counts a record without a reply among the failed, as the rows of a run do; else it is waiting.

    Raises:
        StoreError: The store as a whole cannot be read.
        UsageError: The input cannot be read.
    """
    records = answered = adopted = waiting = 0
    classes: dict[Failure, Class] = {}
    for record in batch.records(tally):
        found = batch.resolver.resolve(record)
        if gave_up and isinstance(found, Needed):
            found = batch.resolver.gave_up(found)
        records += 1
        waiting += isinstance(found, Needed)
        if isinstance(found, Row) and found.failure is None:
            answered += 1
            adopted += is_adopted(batch.store.get(found.keys[-1], 0) or b"")
        elif isinstance(found, Row) and found.failure is not None:
            first = classes.get(found.failure) or _class(found.failure, found)
            classes[found.failure] = Class(first.failure, first.count + 1, first.line, first.message, first.fix)
    shown = tuple(sorted(classes.values(), key=lambda one: (-one.count, one.line)))
    return Standing(records, answered, adopted, sum(one.count for one in shown), waiting, shown)


def failures(batch: Opened, only: Collection[Failure] = ()) -> Iterator[Failed]:
    """List the rows without an answer, in order, a record at a time; what no run came to ask is missing, not failed.

    Args:
        batch: A job on an input.
        only: Of these classes; of all where it is empty.

    Raises:
        StoreError: The store as a whole cannot be read.
        UsageError: The input cannot be read.
    """
    cassette = Cassette(batch.store)
    with closing(_in_vain(batch)) as in_vain:
        for record in batch.records():
            found = batch.resolver.resolve(record)
            row = batch.resolver.gave_up(found) if isinstance(found, Needed) else found
            if row.failure is None or (only and row.failure not in only):
                continue
            key = found.reply.asked.key if isinstance(found, Needed) else row.keys[-1] if row.keys else None
            if isinstance(found, Needed) and not in_vain.has("asked", found.reply.asked.key):
                continue
            reply = _reply(cassette, row.keys[-1]) if row.keys else None
            yield Failed(row.line, row.failure, row.message, reply, key, row.keys)


def failed_data(one: Failed) -> dict[str, Any]:
    """Return a failure as `failures --json` has it."""
    return {"line": one.line, "class": one.failure.value, "message": one.message, "reply": one.reply, "key": one.key}


def _in_vain(batch: Opened) -> Seen:
    """Return the keys of requests that were sent without a reply to store."""
    found = Seen("asked")
    with closing(batch.ledger()) as ledger:
        for key in ledger.in_vain():
            found.add("asked", key)
    return found


def _class(failure: Failure, row: Row) -> Class:
    return Class(failure, 0, row.line, row.message, FIXES[failure])


def _reply(cassette: Cassette, key: str) -> str | None:
    entry = cassette.load(key, 0)
    if not isinstance(entry, Entry):
        return None
    choice = entry.answer.choices[0] if entry.answer and entry.answer.choices else None
    said = (choice.text or choice.refusal) if choice else None
    return said if said is not None else one_line(entry.response.body.decode("utf-8", "replace"), _LONGEST)
