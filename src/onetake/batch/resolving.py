"""What becomes of a record: its row, or the request that is still to be asked. Pure but for reading the store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

from onetake import strictjson
from onetake.batch.asking import Asking, MissingFieldError
from onetake.batch.failures import Failure
from onetake.batch.keys import Keys
from onetake.batch.records import Record
from onetake.batch.replies import Replies, Reply
from onetake.decide import Found
from onetake.errors import StoreError
from onetake.model import Choice, Entry, Request
from onetake.printable import one_line
from onetake.stores import Store

_LONGEST = 300
_AHEAD = 1 << 18
"""Bytes of the input that are read ahead; a longer line stands alone."""
_NOT_READ: tuple[None, str, None] = (None, "", None)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the output.

    Args:
        line: The record's number, from 1.
        answer: What the model said: a JSON value under a schema, else text; None in a row that failed.
        failure: Why there is no answer; None where there is one.
        message: The same in words; holds nothing that another run would say otherwise.
        offset: Of a bad line: where it begins, in bytes.
        keys: The keys of the replies that it was made from, in the order in which they were asked.
    """

    line: int
    answer: Any = None
    failure: Failure | None = None
    message: str = ""
    offset: int | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """A request that is still to be asked.

    Args:
        line: The record's number.
        request: The request, without any credential.
        reply: What there is for it: nothing that counts.
        repairs: How many bad replies came before it.
        keys: Their keys.
    """

    line: int
    request: Request
    reply: Reply
    repairs: int
    keys: tuple[str, ...]


class Resolver:
    """Resolves the records of a job.

    Args:
        asking: Makes the requests.
        replies: What is stored.
        repairs: How often a model is asked again after a reply that breaks the contract.
        parses: Whether an answer is JSON, as under a schema.
    """

    first_tells_all = True
    """Whether records with the same first request have all later ones in common, too."""

    def __init__(self, asking: Asking, replies: Replies, *, repairs: int, parses: bool) -> None:
        self._asking = asking
        self._replies = replies
        self._repairs = repairs
        self._parses = parses
        self._keys = Keys(asking, replies.policy.keyer)
        self._ahead: dict[int, tuple[Record, str, bytes | None]] = {}

    @property
    def store(self) -> Store:
        """Where the replies are."""
        return self._replies.store

    def apart(self) -> Resolver:
        """Return one that reads ahead for itself."""
        other = copy(self)
        other._ahead = {}
        return other

    def ahead(self, records: Iterable[Record]) -> Iterator[Record]:
        """Return the same records, the replies to some of them read together, for whoever resolves each as it comes.

        Args:
            records: In the order of the input.
        """
        if not self._replies.at_once:
            yield from records
            return
        for some in _parts(records, self._replies.at_once):
            self._ahead = self._read_ahead(some)
            yield from some

    def _read_ahead(self, records: list[Record]) -> dict[int, tuple[Record, str, bytes | None]]:
        keyed = []
        for record in records:
            if record.data is not None:
                with suppress(MissingFieldError):
                    keyed.append((record, self._keys.of(record.data)))
        found = self._replies.ahead([key for _, key in keyed])
        return {record.line: (record, key, found.get(key)) for record, key in keyed}

    def resolve(self, record: Record, *, is_sure: bool = True) -> Row | Needed:
        """Return the row of a record, or what must be asked before there can be one.

        Args:
            record: The record.
            is_sure: False for whoever looks once more before it asks: a reply counts as missing then where none was
                read ahead, which may be large, or have come meanwhile.

        Raises:
            StoreError: The store cannot be read.
        """
        line = record.line
        if record.data is None:
            return Row(line, None, Failure.BAD_LINE, record.why, record.offset)
        of, key, data = self._ahead.pop(line, _NOT_READ)
        is_ahead = of is record  # a reply that was read ahead counts once: what comes later is looked for
        if not is_ahead:
            try:
                key = self._keys.of(record.data)
            except MissingFieldError as error:
                return Row(line, None, Failure.MISSING_FIELD, str(error))
        if data is None and is_ahead and not is_sure:
            request = self._asking.request(record.data)
            return Needed(line, request, self._replies.missing(request, key), 0, ())
        said = self._replies.said(key, data, parses=self._parses)
        if said is not None:
            return Row(line, said, keys=(key,))
        return self._followed(line, self._asking.request(record.data))

    def came(self, record: Record, needed: Needed, data: bytes) -> None:
        """Take note of the entry that was stored just now for what a record needed: it need not be read again.

        Args:
            record: The record.
            needed: What was asked for it.
            data: The entry's bytes; empty where there is none.
        """
        # What a function makes is asked for again: it may be another request now, see `Steadiness`.
        if data and not needed.keys and self._asking.is_template:
            self._ahead[record.line] = (record, needed.reply.asked.key, data)

    def _followed(self, line: int, request: Request) -> Row | Needed:
        """Follow the chain of a request's replies and repairs to its end."""
        keys: tuple[str, ...] = ()
        while True:
            reply = self._replies.find(request)
            entry = reply.entry
            if entry is None:
                return Needed(line, request, reply, len(keys), keys)
            keys = (*keys, entry.key)
            if entry.verdict != "kept:violation" or len(keys) > self._repairs:
                return self._row(line, entry, keys)
            request = self._asking.repair(request, entry)

    def gave_up(self, needed: Needed) -> Row:
        """Return the row of a record whose reply never came.

        Raises:
            StoreError: It came, was paid for, and cannot be read.
        """
        if needed.reply.found is Found.UNREADABLE:
            raise StoreError(f"line {needed.line}: {needed.reply.why}")
        return Row(needed.line, None, Failure.GAVE_UP, "no reply that counts is stored for it", keys=needed.keys)

    def _row(self, line: int, entry: Entry, keys: tuple[str, ...]) -> Row:
        choices = entry.answer.choices if entry.answer else ()
        choice = choices[0] if choices else Choice()
        if entry.verdict != "good":
            failure, message = _failure(entry, choice)
        elif not choices:
            failure, message = Failure.INVALID, "the reply holds no answer"
        else:
            try:
                return Row(line, self._value(choice), keys=keys)
            except strictjson.NotStrictError:  # no contract judged it: it called a tool, or said nothing
                failure, message = Failure.INVALID, "the answer is no JSON"
        return Row(line, None, failure, message, keys=keys)

    def _value(self, choice: Choice) -> Any:
        """Return what a good answer says: its JSON or its text; of tool calls the arguments."""
        if choice.tool_calls:
            found = [call.arguments for call in choice.tool_calls]
            return found[0] if len(found) == 1 else found
        return strictjson.loads(choice.text or "") if self._parses else choice.text or ""


def _parts(records: Iterable[Record], most: int) -> Iterator[list[Record]]:
    """Return records a part at a time, so few that their lines and not their number may be large."""
    part: list[Record] = []
    for record in records:
        part.append(record)
        if len(part) == most or record.offset - part[0].offset > _AHEAD:
            yield part
            part = []
    yield part


def _failure(entry: Entry, choice: Choice) -> tuple[Failure, str]:
    reason = entry.verdict.partition(":")[2]
    if reason == "length":
        return Failure.TRUNCATED, "the answer was cut by the token limit"
    if reason == "refusal":
        is_filtered = choice.finish == "content_filter"
        said = one_line((choice.refusal or choice.text or "").strip(), _LONGEST)
        return (Failure.FILTERED, "a content filter stopped the answer") if is_filtered else (Failure.REFUSAL, said)
    if reason == "secret":
        return Failure.INVALID, f"the answer held a secret that cannot be taken out, and is not stored: {_kinds(entry)}"
    if reason.startswith("status:"):
        return Failure.REFUSED, f"the provider answered {entry.response.status}: {_told(entry.response.body)}"
    return Failure.INVALID, "; ".join(one_line(str(one), _LONGEST) for one in entry.violations[:3])


def _kinds(entry: Entry) -> str:
    """Return the kinds of secrets that were found, never where: a place may be one itself."""
    return ", ".join(dict.fromkeys(one_line(one.found, _LONGEST) for one in entry.violations))


def _told(body: bytes) -> str:
    """Return what a provider says of an error, in one line."""
    try:
        found = strictjson.loads(body)
    except strictjson.NotStrictError:
        return one_line(body.decode("utf-8", "replace").strip(), _LONGEST)
    error = found.get("error", found) if isinstance(found, dict) else found
    said = error.get("message", error) if isinstance(error, dict) else error
    return one_line(said if isinstance(said, str) else str(said), _LONGEST)
