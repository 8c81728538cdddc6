"""The status of all entries below a folder: one advice each, drawn from what the check finds of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from onetake.printable import spelled
from onetake.upkeep.advising import Advice, Facts, advise
from onetake.upkeep.chains import Chained
from onetake.upkeep.examining import MANY, Examination
from onetake.upkeep.findings import Code, Finding, Severity
from onetake.upkeep.mends import Command
from onetake.upkeep.orphans import Usage
from onetake.upkeep.seen import Seen
from onetake.upkeep.successors import Orphan, Successor
from onetake.usage import has_batches

_OWN = frozenset(Code(advice.value) for advice in Advice if advice is not Advice.REPLAY)
"""The codes that have an advice of their own; any other error makes an entry `broken`."""


@dataclass(frozen=True, slots=True)
class Advised:
    """One entry, and what to do about it.

    Args:
        path: Its file, as it is reached from where the search started.
        key: Its key; of one that cannot be read the 16 hex digits of its name, empty where there are none.
        ordinal: 0 or more.
        advice: What to do.
        reason: Why, the first line saying it; empty where it replays, and no warning is out. Not yet safe to print.
        mend: What to run or to do, in words; empty where nothing is to be done.
        size: Bytes of the file.
        findings: All that the check says of it.
        successor: What took its place, of an orphan where that is known.
    """

    path: Path
    key: str
    ordinal: int
    advice: Advice
    reason: str
    mend: str
    size: int
    findings: tuple[Finding, ...]
    successor: Successor | None

    @property
    def command(self) -> str:
        """The one command to run; empty where it takes another thing, or several."""
        return self.mend if isinstance(self.mend, Command) else ""


@dataclass(frozen=True, slots=True)
class Status:
    """Every entry below a folder.

    Args:
        entries: In the order of their paths.
        counts: How many there are of each advice, none left out.
        knowledge: Why it cannot be told of all entries whether tests ask for them; empty where it can.
        replies: The stores that batches keep replies in: whether a batch needs one is not for tests to tell.
        probe: The last probe, as `ProbeBook.last` has it; empty where none is on record.
        chained: The entries that hold an old answer of one that was recorded again, conversation by conversation.
    """

    entries: tuple[Advised, ...]
    counts: dict[str, int]
    knowledge: str
    replies: tuple[Path, ...] = ()
    probe: Mapping[str, Any] = field(default_factory=dict)
    chained: tuple[Chained, ...] = ()


def status(start: Path, *, importing: bool = False, shared_from: int = MANY) -> Status:
    """Say what to do about every entry in a folder and below it.

    Args:
        start: A folder.
        importing: True imports the types that the settings declare contracts by: the project's own code runs.
        shared_from: As for `check`.

    Returns:
        One advice an entry, and what is known of all of them together.

    Raises:
        StoreError: The folder cannot be listed.
        UsageError: Settings that count for the folder or for an entry below it are wrong.
    """
    examination = Examination(start, importing=importing, shared_from=shared_from)
    seen: dict[Path, Seen] = {}
    orphans: dict[Path, Orphan] = {}
    replies: dict[Path, bool] = {}
    chained: list[Chained] = []
    for folder in examination.run():
        replies |= {folder.folder: has_batches(folder.folder)} if folder.is_cassette else {}
        seen |= {one.path: one for one in folder.files}
        orphans |= {one.path: one for one in folder.orphans}
        chained += folder.chained
        for one in folder.findings:  # what is found of several files together comes behind them
            if before := seen.get(one.path):
                seen[one.path] = replace(before, findings=(*before.findings, one))
            elif one.path == folder.folder and not folder.is_cassette and one.code is Code.BROKEN:
                seen[one.path] = Seen(one.path, "", 0, 0, (one,))  # what cannot be listed: nobody knows how many
    entries = tuple(_advised(one, orphans.get(path)) for path, one in seen.items())
    found = Counter(one.advice for one in entries)
    counts = {advice.value: found[advice] for advice in Advice}
    knowledge = "" if replies and all(replies.values()) else _knowledge(examination.usage)
    stores = tuple(folder for folder, is_batches in replies.items() if is_batches)
    return Status(entries, counts, knowledge, stores, examination.last_probe, tuple(chained))


def facts_of(findings: tuple[Finding, ...]) -> Facts:
    """Return what findings of one file mean for the advice."""
    codes = {one.code for one in findings}
    return Facts(
        secret=Code.SECRET in codes,
        broken=any(_breaks(one) for one in findings),
        orphan=Code.ORPHAN in codes,
        bumped=Code.SCHEMA_BUMPED in codes,
        breaks=Code.BREAKS_CONTRACT in codes,
        predates=Code.PREDATES_PARSER in codes,
        doubtful=Code.PROBE_FIRST in codes,
    )


def _breaks(one: Finding) -> bool:
    return one.code is Code.BROKEN or (one.severity is Severity.ERROR and one.code not in _OWN)


def _advised(seen: Seen, orphan: Orphan | None) -> Advised:
    if not seen.findings:  # most of ten thousand
        return Advised(seen.path, seen.key, seen.ordinal, _NOTHING_FOUND, "", "", seen.size, (), None)
    advice = advise(facts_of(seen.findings))
    why = next((one for one in seen.findings if _leads_to(one, advice)), None)
    reason, mend = (why.message, why.mend) if why else ("", "")
    successor = orphan.successor if orphan and advice is Advice.ORPHAN else None
    return Advised(seen.path, seen.key, seen.ordinal, advice, reason, mend, seen.size, seen.findings, successor)


_NOTHING_FOUND = advise(facts_of(()))


def _leads_to(one: Finding, advice: Advice) -> bool:
    """Tell whether a finding is what an advice comes from; one that replays says what its warning is."""
    if advice is Advice.REPLAY:
        return one.severity is Severity.WARNING
    return _breaks(one) if advice is Advice.BROKEN else one.code.value == advice.value


def _knowledge(usage: Mapping[Path, Usage]) -> str:
    """Say of which entries runs do not tell whether they are used, and why; empty where they tell it of all."""
    found = {root: why for root, one in usage.items() if (why := one.why)}
    damaged = (spelled(book) for one in usage.values() for book in one.damaged)
    books = [f"a line of {book} cannot be read, and is left out" for book in damaged]
    if len(set(found.values())) <= 1 and len(found) == len(usage):
        return "; ".join([*list(found.values())[:1], *books])
    return "; ".join([*(f"{root.as_posix()}: {why}" for root, why in found.items()), *books])
