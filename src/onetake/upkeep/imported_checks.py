"""Interactions that one cassette holds twice: imported again, under other key rules, beside what was there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from onetake.imported import ImportedFrom, imported_from
from onetake.model import Entry
from onetake.printable import spelled
from onetake.upkeep import mends
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held


class Imported:
    """The imported entries of one cassette, by where they come from."""

    def __init__(self) -> None:
        self._found: dict[ImportedFrom, list[tuple[bool, int, str, Path, int]]] = defaultdict(list)

    def add(self, held: Held, entry: Entry, *, is_of_today: bool) -> None:
        """Take a sound entry in; what was adopted is there a second time on purpose.

        Args:
            held: Its file.
            entry: What is in it.
            is_of_today: Whether it was keyed by the very rules that the settings hold.
        """
        came = imported_from(entry)
        if came is not None and "adopted" not in entry.provenance:
            line = held.line_of("provenance")
            self._found[came].append((not is_of_today, entry.ordinal, held.path.name, held.path, line))

    def join(self, later: Imported) -> None:
        """Take in what others say of the same cassette."""
        for came, found in later._found.items():
            self._found[came] += found

    def check(self) -> Iterator[Finding]:
        """Name each entry that is one too many; the one that is left was keyed by today's rules, where any was."""
        for came, found in self._found.items():
            (kept_is_old, *_, kept, _), *more = sorted(found)
            for is_old, *_, path, line in more:
                why = f"position {came.position} of {came.file} is here twice: {spelled(kept.name)} has it too"
                is_known = is_old and not kept_is_old
                which = "delete this one" if is_known else "keep one of them, and delete the other"
                yield finding(Code.IMPORTED_TWICE, path, why, f"{which}: {mends.diff(kept, path)}", line)
