"""Replies of an earlier job, taken over for one whose prompt a person says to ask the same: nobody is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from onetake import git, key_specs
from onetake.batch.asking import Asking, MissingFieldError
from onetake.batch.editing import edit_besides, edit_of_text
from onetake.batch.opening import Opened
from onetake.batch.remembering import Asked
from onetake.batch.replies import Reply
from onetake.batch.seen import Seen
from onetake.compare import differences
from onetake.decide import Found
from onetake.interactions import schema_of
from onetake.model import Entry, Request
from onetake.printable import one_line
from onetake.provenance import now
from onetake.writing import SecretLeftError, write

_AT_ONCE, _WRITERS = 512, 32
"""Entries in memory, and threads that write them: what waits together is committed together."""
_PLACES = 20


@dataclass(slots=True)
class Left:
    """Records for which nothing is taken over: how many, and the line of the first."""

    count: int
    example: int


@dataclass(slots=True)
class Adopted:
    """What is taken over, or would be.

    Args:
        difference: How the prompt was edited, in words.
        records: Lines of the input.
        entries: New entries, one a request.
        stored: Records whose request has a reply already.
        shared: Records that ask what one before them asks.
        left: The other records, by reason.
    """

    difference: str
    records: int = 0
    entries: int = 0
    stored: int = 0
    shared: int = 0
    left: dict[str, Left] = field(default_factory=dict)

    def leave(self, why: str, line: int) -> None:
        """Note that nothing is taken over for a record."""
        self.left.setdefault(why, Left(0, line)).count += 1


def refusal(batch: Opened, before: Asked) -> str:
    """Say why no reply of another job can be one to this; empty where only the words of the prompt differ.

    Args:
        batch: The job of today.
        before: What the other asked.
    """
    if other := edit_besides(before, batch.job.ask, batch.asking.schema):
        return f"more than the prompt differs: {other}"
    if not edit_of_text(before, batch.job.ask):
        return "the prompt does not differ"
    was, is_ = (made.fields for made in (Asking(before.ask, before.schema, before.name), batch.asking))
    if was != is_:
        names = ", ".join(sorted(was ^ is_))
        return f"more than words differ: the prompt names other fields of the record ({names})"
    return ""


def adopt(batch: Opened, before: Asked, reason: str, *, writes: bool) -> Adopted:
    """Take the good replies of an earlier job over, each under the key of today's request; never over another entry.

    A kill in between leaves whole entries alone, and the next call takes over what is left. Bad replies and chains of
    repairs are not taken over: to repair is to quote the prompt.

    Args:
        batch: The job of today, on its input.
        before: What the other asked; `refusal` says nothing of it.
        reason: Why, for the provenance, scrubbed; the difference itself where it is empty.
        writes: True does it; else nothing is changed.

    Raises:
        StoreError: The store cannot be read, or not be written.
        UsageError: The input cannot be read.
    """
    found = Adopted(edit_of_text(before, batch.job.ask))
    said = {"at": now(), "reason": reason or found.difference}
    if commit := git.line(batch.settings.root, "rev-parse", "HEAD"):
        said["commit"] = commit
    with closing(Seen("was", "several", "written")) as seen, ThreadPoolExecutor(_WRITERS) as pool:
        made = _Adopting(batch, before, said, found, seen).entries()
        while some := list(islice(made, _AT_ONCE)):
            done = pool.map(lambda one: _write(batch, *one), some) if writes else ("" for _ in some)
            for (line, _), why in zip(some, done, strict=True):
                if why:
                    found.leave(why, line)
                else:
                    found.entries += 1
    return found


class _Adopting:
    """One way through the input."""

    def __init__(self, batch: Opened, before: Asked, said: Mapping[str, str], found: Adopted, seen: Seen) -> None:
        self._batch = batch
        self._old = Asking(before.ask, before.schema, before.name)
        self._said = said
        self._found = found
        self._seen = seen
        self._root = batch.policy.root
        self._places: list[str] = []

    def entries(self) -> Iterator[tuple[int, Entry]]:
        """Yield what is to be written, with the line of the record; counts all else."""
        self._compare()
        for record in self._batch.records():
            self._found.records += 1
            if record.data is None:
                self._found.leave("a bad line", record.line)
                continue
            try:
                requests = self._requests(record.data)
            except MissingFieldError as error:
                self._found.leave(one_line(str(error), 200), record.line)
                continue
            new, old = (self._batch.replies.find(request) for request in requests)
            if why := self._why_not(new, old):
                self._found.leave(why, record.line)
            elif new.entry is None and isinstance(old.entry, Entry):
                entry = self._entry(new, old.entry)
                if self._seen.add("written", entry.key):
                    yield record.line, entry
                else:
                    self._found.shared += 1
            else:
                self._found.stored += 1

    def _requests(self, data: Mapping[str, Any]) -> tuple[Request, Request]:
        return self._batch.asking.request(data), self._old.request(data)

    def _compare(self) -> None:
        """Note, before anything is taken over, which of today's requests were several: whose answer is theirs?"""
        for record in self._batch.records():
            if record.data is None:
                continue
            with suppress(MissingFieldError):
                new, old = map(self._batch.replies.key, self._requests(record.data))
                number = int(old[:15], 16)
                if self._seen.number("was", new) not in (None, number):
                    self._seen.add("several", new)
                self._seen.note("was", new, number)

    def _why_not(self, new: Reply, old: Reply) -> str:
        if new.entry is not None:
            return ""
        if self._seen.has("several", self._batch.replies.key_of(new.asked)):
            return "records that were two requests are one now"
        if new.found is not Found.ABSENT:
            return f"there is one under its key already: {one_line(new.why.partition(chr(10))[0], 200)}"
        if old.entry is None:
            return one_line(old.why.partition("\n")[0], 200) or "the earlier job did not ask it"
        if old.entry.verdict != "good":
            return f"the earlier reply is {old.entry.verdict}: it is asked anew"
        ref = next((one.ref(self._root) for one in new.asked.contracts), None)
        judged = old.entry.contract
        if (judged and (judged.schema, judged.schema_version)) != (ref and (ref.schema, ref.schema_version)):
            return "another schema judged the earlier reply"
        return ""

    def _entry(self, new: Reply, old: Entry) -> Entry:
        asked, keyer = new.asked, self._batch.policy.keyer
        if not self._places:
            is_, was = (keyer.parts(request, asked.days) for request in (asked.scrubbed, old.request))
            self._places = [one.path for one in differences(is_, was, _PLACES)]
        earlier = old.provenance.get("adopted")
        changed = [*(earlier.get("changed", ()) if isinstance(earlier, dict) else ()), *self._places]
        origin = {"from": old.key, "changed": list(dict.fromkeys(changed)), **self._said}
        rest = (one for one in old.scrubbed if not one.startswith("request"))
        return replace(
            old,
            request=asked.scrubbed,
            key=self._batch.replies.key_of(asked),
            key_spec=key_specs.current(keyer.spec(asked.days)),
            provenance={**old.provenance, "adopted": origin},
            scrubbed=(*asked.scrubbing.spans, *rest),
        )


def _write(batch: Opened, line: int, entry: Entry) -> str:
    """Write one entry; returns why it was not, or nothing. *line* is whose it is."""
    try:
        sides = schema_of(entry, batch.policy.contracts)
        return "" if write(batch.store, entry, sides, over=False) else "another run was faster"
    except SecretLeftError:
        return f"a secret would be in it, first at line {line}"


def as_plain(found: Adopted) -> dict[str, Any]:
    """Return what was taken over as `adopt --json` has it."""
    left = [{"reason": why, "count": one.count, "example": one.example} for why, one in found.left.items()]
    numbers = {"records": found.records, "entries": found.entries, "stored": found.stored, "shared": found.shared}
    return {"difference": found.difference, **numbers, "left": left}
