"""The check of all entries below a folder: offline, without any SDK, and without the project's own code."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from onetake.upkeep import secrets
from onetake.upkeep.examining import MANY, Examination, Examined
from onetake.upkeep.findings import Finding
from onetake.upkeep.leftover_checks import check_left_over


@dataclass(frozen=True, slots=True)
class Report:
    """What a check saw.

    Args:
        findings: All of them: those of one file together, files in the order of their paths, contracts last.
        cassettes: How many folders with entries or sidecars were looked into.
        entries: How many files there were that are named as entries, or hold one.
    """

    findings: tuple[Finding, ...]
    cassettes: int
    entries: int


def check(start: Path, *, importing: bool = False, shared_from: int = MANY) -> Report:
    """Check every entry in a folder and below it.

    Args:
        start: A folder.
        importing: True imports the types that the settings declare contracts by: the project's own code runs.
        shared_from: Of so many files on, the work is shared among processes, where that can be.

    Returns:
        What was found. An entry that is damaged, or made to do harm, is a finding, never an error.

    Raises:
        StoreError: The folder cannot be listed.
        UsageError: Settings that count for the folder or for an entry below it are wrong.
    """
    examination = Examination(start, importing=importing, shared_from=shared_from)
    found: list[Finding] = []
    folders: set[Path] = set()
    for seen in examination.run():
        found += (*(each for one in seen.files for each in one.findings), *seen.findings)
        found += secrets.in_side_names(seen.folder) if seen.is_cassette else ()
        if seen.folder not in folders:
            folders.add(seen.folder)
            found += check_left_over(seen.folder)
    return Report(tuple(_together(found)), examination.cassettes, examination.entries)


def examine(start: Path, *, importing: bool = False) -> Iterator[Examined]:
    """Examine every entry in a folder and below it, one after the other, and remember none.

    Args:
        start: A folder.
        importing: As for `check`.

    Returns:
        Each file with what is found of it alone, folder by folder; what several are wrong with together is not told.

    Raises:
        StoreError: The folder cannot be listed.
        UsageError: Settings that count for the folder or for an entry below it are wrong.
    """
    return Examination(start, importing=importing).each()


def _together(found: list[Finding]) -> list[Finding]:
    """Return findings with those of one file together, files in the order in which they came first."""
    place: dict[Path, int] = {}
    for one in found:
        place.setdefault(one.path, len(place))
    return sorted(found, key=lambda one: place[one.path])
