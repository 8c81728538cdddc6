"""The examination of a project that replays by vcrpy: its configuration, its tests and its cassettes, put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from onetake.doctor import configured, recorded
from onetake.doctor.cassettes import Recorded
from onetake.doctor.configurations import Configurations, words
from onetake.doctor.finding import find_openings
from onetake.doctor.hazards import Hazard, HazardKind
from onetake.doctor.matchers import Matchers
from onetake.doctor.openings import Opening
from onetake.doctor.options import find_options
from onetake.doctor.recorder import Environment
from onetake.doctor.sources import Sources, root_of
from onetake.doctor.unused import Unused
from onetake.importers.reading import UNKNOWN, UNREADABLE, VCRPY, files_under, read
from onetake.printable import counted
from onetake.vcrwords.matching import DEFAULT

_HINTS = (b"request", b"interactions")
_START = 1 << 16


@dataclass
class Report:
    """What an examination saw.

    Args:
        root: The project's folder.
        hazards: The worst kind first, of one kind in the order of their files.
        cassettes: How many there are.
        interactions: How many are in them.
        openings: How many tests and calls open cassettes.
        foreign: How many files other recorders wrote, by recorder.
        recorders: The versions of vcrpy and its plugins that are installed.
        unread: Files that could not be read, and why.
        unclear: Places whose configuration the text does not tell, each with what is not known.
    """

    root: Path
    hazards: list[Hazard] = field(default_factory=list)
    cassettes: int = 0
    interactions: int = 0
    openings: int = 0
    foreign: dict[str, int] = field(default_factory=dict)
    recorders: dict[str, str] = field(default_factory=dict)
    unread: list[tuple[Path, str]] = field(default_factory=list)
    unclear: list[tuple[Path, int, str]] = field(default_factory=list)


def examine(start: Path) -> Report:
    """Examine a project, or a part of it. Nothing of it is run.

    Args:
        start: A folder. Only cassettes in it and below it count; what configures them may lie above it.

    Raises:
        UsageError: A cassette is YAML, and PyYAML is not installed.
    """
    start = start.absolute()
    sources = Sources(root_of(start))
    configurations = Configurations(sources)
    matchers = Matchers(sources)
    openings = find_openings(sources, configurations)
    report = Report(sources.root, openings=len(openings))
    seen = configured.Seen(sources, configurations, matchers, openings)
    for path in files_under([start]):
        if not path.is_symlink() and _may_be_one(path):
            _take(report, seen, path)
    report.foreign = dict(sorted(report.foreign.items()))
    environment = Environment(sources.root)
    report.recorders = environment.recorders if openings or report.cassettes else {}
    report.hazards += configured.hazards(seen, start, find_options(sources.root), report.recorders)
    if report.recorders:
        report.hazards += configured.not_intercepted(seen, environment)
    report.hazards += Unused(sources, openings).find(seen.cassettes)
    report.hazards.sort(key=lambda one: (list(HazardKind).index(one.kind), one.path, one.line))
    report.unread += sorted(sources.unread.items())
    report.unclear = configured.unclear(seen)
    return report


def counts(hazards: Iterable[Hazard]) -> dict[str, int]:
    """Return how many hazards there are of each kind, the worst first."""
    found = Counter(one.kind for one in hazards)
    return {kind.value: found[kind] for kind in HazardKind if found[kind]}


def _take(report: Report, seen: configured.Seen, path: Path) -> None:
    """Read a file, and remember of it no more than its hazards."""
    source = read(path)
    openings = seen.opening(path)
    if source.kind == UNREADABLE and (openings or "cassette" in path.as_posix().lower()):
        report.unread.append((path, source.problem))
    if source.kind not in (VCRPY, UNKNOWN, UNREADABLE):
        report.foreign[source.kind] = report.foreign.get(source.kind, 0) + 1
    if source.kind != VCRPY:
        return
    others = [one.foreign for one in source.interactions if one.foreign]
    if others and len(others) == len(source.interactions):
        report.foreign[others[0]] = report.foreign.get(others[0], 0) + 1
        return
    cassette = Recorded(source, _compared(openings))
    if cassette.unread:
        position, why = cassette.unread[0]
        lost = f"{len(cassette.unread)} of {counted(cassette.interactions, 'interaction')}"
        report.unread.append((path, f"{lost} cannot be read; the first, {position}: {why}"))
        if len(cassette.unread) == cassette.interactions:
            return
    report.cassettes += 1
    report.interactions += len(source.interactions)
    report.hazards += recorded.hazards(cassette, may_mix=seen.may_mix(path, openings), sites=seen.sites(openings))
    seen.take(cassette, openings)


def _compared(openings: Iterable[Opening]) -> tuple[str, ...]:
    """Return the fewest words by which a cassette's requests are told apart."""
    found = [one for opening in openings for one in words(opening.layers) if one is not None]
    return min(found, key=len, default=DEFAULT)


def _may_be_one(path: Path) -> bool:
    """Tell from the start of a file whether it is worth being read: most YAML and JSON is something else."""
    try:
        with path.open("rb") as file:
            data = file.read(_START)
    except OSError:
        return True
    return data.startswith(b"\x1f\x8b") or any(hint in data for hint in _HINTS)
