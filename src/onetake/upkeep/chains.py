"""Entries that hold an answer which no entry gives any more: its turn of the conversation was recorded again.

An entry holds the answer of another one where its request begins with all of the other's request, and has that answer
behind it; or where it names the id of the other's response. That such an answer is an old one is proven where git has
it. Where git knows no other answer of that entry, the moments tell: what was recorded after a request cannot stand in
it. Then what stands there is of another recording, unless the program may have made it of today's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from onetake.cassette_files import read_entry
from onetake.dialects.conversations import Words, has_conversations, length, repeats
from onetake.model import Entry, Mode
from onetake.printable import one_line, spelled
from onetake.stores import open_store
from onetake.upkeep import mends
from onetake.upkeep.earlier import earlier
from onetake.upkeep.findings import Code, Finding, Severity, finding
from onetake.upkeep.spoken import Kept, Repeated, Spoken, Told, kept, slot_of
from onetake.usage import has_batches

_MOST = 20_000
"""Requests of one cassette that are kept in mind."""


@dataclass(frozen=True, slots=True)
class Chained:
    """An entry that holds an old answer.

    Args:
        path: Its file.
        key: Its key.
        ordinal: 0 or more.
        origin: The file of the entry whose answer it was.
        length: How many answers its conversation has; a chain is told in that order.
        is_left: Whether what is asked after the new answer is recorded already, so that this one is left behind.
        finding: What the check says of it.
    """

    path: Path
    key: str
    ordinal: int
    origin: Path
    length: int
    is_left: bool
    finding: Finding


class Hint(NamedTuple):
    """What of an entry tells whether it, or another one, may hold an old answer at all.

    Args:
        path: Its file.
        at: When it was recorded, RFC 3339; empty where it does not say.
        is_marked: Whether it was marked to hold the old answer of another one.
        length: Of its request, as `conversations.length` has it.
        repeating: The same, of a request that may repeat an answer; else 0.
    """

    path: str
    at: str
    is_marked: bool
    length: float
    repeating: float


class Chains:
    """The conversations of one cassette, and what of them is of an earlier recording.

    Args:
        folder: Its folder.
        root: The settings' folder.
    """

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._has_batches = has_batches(folder)
        self._kept: list[Kept] = []
        self._elsewhere: list[Hint] = []
        self._versions: Mapping[Path, list[Kept]] = {}
        self._found: dict[Path, Chained] = {}

    def add(self, path: Path, entry: Entry) -> None:
        """Take an entry in."""
        if has_conversations(entry.dialect) and len(self._kept) < _MOST and not self._is_of_batch(entry):
            self._kept.append(kept(path, entry))

    def join(self, later: Chains) -> None:
        """Take in what others saw of the same cassette, whose paths come behind these."""
        self._kept += later._kept[: _MOST - len(self._kept)]
        self._elsewhere += later._elsewhere[: _MOST - len(self._elsewhere)]

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled without requests and answers: they are read again where they matter, which is nearly never."""
        return _of_hints, (str(self._folder), str(self._root), list(map(_hint, self._kept)))

    def _is_of_batch(self, entry: Entry) -> bool:
        """Tell whether a batch asked for it: that knows itself what it has to ask again."""
        return self._has_batches and not entry.provenance.get("test")

    def chained(self) -> list[Chained]:
        """Say which entries hold an old answer, once all were taken in; each once, conversation by conversation."""
        if self._may_be():
            asked, repeated = self._spoken.asked, list(self._spoken.repeated())
            given = {one.before for one in repeated if one.is_given_by(asked[one.before])}
            lost = [one for one in repeated if not one.is_given_by(asked[one.before])]
            gone = [reply for reply in self._spoken.following if reply not in self._spoken.replies]
            self._ask([*(giver for one in lost for giver in asked[one.before]), *(self._answering if gone else ())])
            for one in lost:
                self._look_at(one, is_left=one.before in given)
            self._look_at_ids(gone)
        return sorted(self._found.values(), key=lambda one: (one.origin, one.length, one.path))

    def read_again(self) -> None:
        """Take in what other processes left out, where it may matter. It takes as long as there are entries."""
        if not self._elsewhere or not self._may_be():
            return
        with closing(open_store(self._folder)) as store:
            found = [(path, read_entry(path, store)) for path in (Path(one.path) for one in self._elsewhere)]
        self._kept += [kept(path, entry) for path, entry in found if isinstance(entry, Entry)]
        self._kept.sort(key=lambda one: one.path.name)
        self._elsewhere = []

    def _may_be(self) -> bool:
        return _may_be([*self._elsewhere, *map(_hint, self._kept)])

    def _ask(self, givers: list[Kept]) -> None:
        """Ask git what some entries said earlier."""
        found = earlier(self._folder, sorted({giver.path for giver in givers}))
        self._versions = {path: [kept(path, entry) for entry in versions] for path, versions in found.items()}

    def _look_at(self, repeated: Repeated, *, is_left: bool) -> None:
        """Find the entries that repeat an answer which none gives, where it is known to be of an earlier recording."""
        givers = self._spoken.asked[repeated.before]
        proven = [giver for giver in givers if repeated.words in self._words_before(giver)]
        is_told = not any(map(self._words_before, givers))
        for holder, place in repeated.holders:
            marked = [giver for giver in givers if slot_of(giver.key, giver.ordinal) == holder.kept.mark]
            came = f"its request holds, as answer {place} of the conversation,"
            if of := [*proven, *marked]:
                why = f"{came} what {_name(of[0].path)} said before it was recorded again"
                self._add(holder, of[0].path, why, is_left=is_left)
            elif is_told and all(_is_later(giver, holder.kept, repeated.words) for giver in givers):
                why = f"{came} another one than {_name(givers[0].path)} gives, which was recorded after it"
                self._add(holder, givers[0].path, why, is_left=is_left)

    def _look_at_ids(self, gone: list[str]) -> None:
        """Find what goes on from a response that an entry held once, and what goes on from that in turn."""
        spoken = self._spoken
        givers = {was.reply: one for one in self._answering for was in self._before(one)} if gone else {}
        slots = {slot_of(one.key, one.ordinal): one for one in self._answering}
        for reply in gone:
            for holder in spoken.following[reply]:
                if giver := givers.get(reply) or slots.get(holder.kept.mark):
                    was = f"the response that {_name(giver.path)} held before it was recorded again"
                    why = f"its request goes on from {one_line(reply, 80)!r}, {was}"
                    self._add(holder, giver.path, why, is_left=giver.reply in spoken.following)
        self._look_behind([one for one in spoken.told if one.kept.path in self._found])

    def _look_behind(self, found: list[Told]) -> None:
        """Find what goes on, by their ids, from the responses of entries that were found."""
        for before in found:  # it grows while it is gone through
            came = self._found[before.kept.path]
            for holder in self._spoken.following.get(before.kept.reply, ()) if before.kept.reply else ():
                if holder.kept.path not in self._found:
                    why = f"its request goes on from {_name(came.path)}, which holds an old answer"
                    self._add(holder, came.origin, why, is_left=came.is_left, length=came.length + 1)
                    found.append(holder)

    def _add(self, holder: Told, origin: Path, why: str, *, is_left: bool, length: int = 0) -> None:
        """Note what holds an old answer; the first that is known of it counts."""
        one = holder.kept
        if one.path in self._found:
            return
        entry = read_entry(one.path)
        again = mends.record_again(entry, Mode.NEW_EPISODES, one.path) if isinstance(entry, Entry) else mends.RESTORE
        mend = mends.prune(self._root, "--orphans") if is_left else again
        told = f"{why}\nwhat goes on from the new answer is recorded: this one is left behind" if is_left else why
        said = finding(Code.OLD_ANSWER, one.path, told, mend)
        said = replace(said, severity=Severity.INFO) if is_left else said
        length = length or max(len(holder.said.turns), 1)
        self._found[one.path] = Chained(one.path, one.key, one.ordinal, origin, length, is_left, said)

    @cached_property
    def _spoken(self) -> Spoken:
        return Spoken(self._kept)

    @property
    def _answering(self) -> Iterator[Kept]:
        """The entries that others can go on from by their ids."""
        return (one for found in self._spoken.replies.values() for one in found)

    def _before(self, one: Kept) -> list[Kept]:
        """Return the versions that git has of the same interaction."""
        return [was for was in self._versions.get(one.path, ()) if was.key == one.key]

    def _words_before(self, one: Kept) -> set[Words]:
        return {words for was in self._before(one) for words in was.words} - one.words


def _hint(one: Kept) -> Hint:
    body = one.request.body
    own = length(body)
    return Hint(str(one.path), one.at, bool(one.mark), own, own if repeats(one.dialect, body) else 0.0)


def _of_hints(folder: str, root: str, hints: list[Hint]) -> Chains:
    made = Chains(Path(folder), Path(root))
    made._elsewhere = hints
    return made


def _may_be(entries: list[Hint]) -> bool:
    """Tell whether any entry was recorded after a longer one that may repeat its answer: nearly always none was."""
    if any(one.is_marked for one in entries):
        return True
    times = {one.at for one in entries}
    longest = before = 0.0
    for _, together in groupby(sorted(entries, key=_at), _at) if len(times) > 1 else ():
        for one in together:
            if one.length < before or before == inf:
                return True
            longest = max(longest, one.repeating)
        before = longest
    return False


def _at(one: Hint) -> str:
    return one.at


def _is_later(giver: Kept, holder: Kept, words: Words) -> bool:
    """Tell whether an entry was recorded after another one, and gives nothing that its words may be made of."""
    is_later = bool(holder.at) and giver.at > holder.at
    return is_later and not any(words.may_be(answer) for answer in giver.words)


def _name(path: Path) -> str:
    return spelled(path.name)
