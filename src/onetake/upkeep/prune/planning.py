"""What may be pruned below a folder, by reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby
from pathlib import Path

from onetake.cassette_files import is_one_file
from onetake.key import Keyer
from onetake.making import is_being_made
from onetake.printable import one_line
from onetake.settings import Settings
from onetake.upkeep import mends
from onetake.upkeep.checking import examine
from onetake.upkeep.holding import Holding
from onetake.upkeep.orphans import Usage
from onetake.upkeep.projects import Projects
from onetake.upkeep.prune import trash
from onetake.upkeep.prune.pinned import PinsBelow
from onetake.upkeep.prune.places import Places
from onetake.upkeep.prune.prunable import CassetteReasons, Known, Left, Prunable, Reason
from onetake.upkeep.prune.sidecars import holding_at, holdings_in, names_of, read_names, sides_of, unnamed_by
from onetake.upkeep.prune.together import group_of, together
from onetake.upkeep.prune.trash import Trashed, mark_of
from onetake.upkeep.runs import Runs
from onetake.upkeep.sparing import Sparing
from onetake.validity import when

_OF_ENTRIES = frozenset({Reason.ORPHAN, Reason.SUPERSEDED, Reason.STALE, Reason.OLD})
OF_FILES = "onetake store prune"
"""What does the like for a store that is one file."""
_BOUNDED = (Reason.REJECT, Reason.ORPHAN, Reason.SUPERSEDED, Reason.STALE)
"""What a limit takes when the trash is empty, in this order."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be pruned.

    Args:
        reasons: An entry goes for any of them; `trash` empties it.
        older_than: For the reason `older-than`: how long ago an entry was recorded at least.
        most: Bytes that may be kept; None for no limit.
    """

    reasons: frozenset[Reason]
    older_than: timedelta | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Unnamed:
    """A sidecar that no entry names, or will name; in which folder, of which settings' folder.

    Or what a killed process left over there.
    """

    path: Path
    folder: Path
    root: Path
    size: int
    is_left_over: bool = False


@dataclass(slots=True)
class Plan:
    """What a prune would do.

    Args:
        around: Where the trash of all this is.
        entries: What goes to the trash.
        sidecars: What goes with it, as nothing names it then.
        emptied: What leaves the trash for good, each with its settings' folder.
        left: What stays although a reason holds.
        unproved: By settings folder: why its orphans cannot be told.
        pins: By settings folder: words of its setting `pinned` that name no entry and no reject, whatever is wanted. Of
            whole projects alone.
        in_trash: What lies in the trash, each with its settings' folder.
        kept: Bytes of cassettes, rejects and trash; counted only for a limit.
        over: Bytes beyond the limit that nothing may be taken from.
        runs: Those that orphans were told by, by settings folder.
    """

    around: Places
    entries: list[Prunable] = field(default_factory=list)
    sidecars: list[Unnamed] = field(default_factory=list)
    emptied: list[tuple[Path, Trashed]] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    unproved: dict[Path, str] = field(default_factory=dict)
    pins: dict[Path, list[str]] = field(default_factory=dict)
    in_trash: list[tuple[Path, Trashed]] = field(default_factory=list)
    kept: int = 0
    over: int = 0
    runs: dict[Path, Runs] = field(default_factory=dict)


def plan(start: Path, wanted: Wanted, *, importing: bool = False) -> Plan:
    """Say what a prune would do; nothing is changed.

    Args:
        start: A folder: the cassettes in it and below it count, with their rejects and what of them lies in the trash.
        wanted: What is to be pruned.
        importing: As for `check`.

    Returns:
        It. Where orphans or superseded entries are wanted, nothing may be pruned while `unproved` says a word.

    Raises:
        StoreError: The folder cannot be listed.
        UsageError: Settings that count for the folder or for an entry below it are wrong.
    """
    return _Planning(start, wanted, importing=importing).run()


class _Planning:
    """One look at everything below a folder that may be pruned."""

    def __init__(self, start: Path, wanted: Wanted, *, importing: bool) -> None:
        self._start = start
        self._wanted = wanted
        self._importing = importing
        self._reasons = wanted.reasons | (frozenset(_BOUNDED) if wanted.most is not None else frozenset())
        self._before = datetime.now(UTC) - wanted.older_than if wanted.older_than is not None else None
        self._around = Places(start)
        self._projects = Projects(start, importing=False)
        self._around.roots.add(self._root_of(start))
        self._known: dict[Path, Known] = {}
        self._present: dict[Path, dict[str, set[int]]] = {}
        self._named: dict[Path, dict[Path, frozenset[str] | None]] = {}
        self._in_files: dict[Path, int] = {}
        """Bytes of the entries in stores that are one file, of which nothing is moved to the trash."""
        self._pins = PinsBelow(self._around, self._projects)
        self._plan = Plan(self._around)

    def run(self) -> Plan:
        made, chosen = self._plan, self._wanted.reasons
        found = [*(self._entries() if self._reasons & _OF_ENTRIES else ()), *self._rejects()]
        candidates = [one for one in found if isinstance(one, Prunable)]
        made.entries, apart = together((one for one in candidates if one.why.keys() & chosen), self._present)
        made.left = [*(one for one in found if isinstance(one, Left)), *apart]
        made.pins = self._pins.unmatched(start=None if self._reasons & _OF_ENTRIES else self._start)
        made.in_trash = in_trash(self._around)
        made.emptied = made.in_trash if Reason.TRASH in chosen else []
        if self._reasons - {Reason.TRASH}:
            made.sidecars = [*self._unnamed()]
        if self._wanted.most is not None:
            chosen_paths = {one.path for one in made.entries}
            staying = {one.path for one in apart}
            more, _ = together([one for one in candidates if one.path not in staying], self._present)
            self._bound(self._wanted.most, [one for one in more if one.path not in chosen_paths])
        return made

    def _entries(self) -> Iterator[Prunable | Left]:
        """Yield what may go of the cassettes, one after the other."""
        seen = examine(self._start, importing=self._importing)
        for folder, files in groupby(seen, key=lambda one: one.folder):
            first = next(files)
            reasons = CassetteReasons(folder, self._known_of(first.project.settings), self._reasons)
            names = self._named.setdefault(folder, {}) if folder in self._around.sided else None
            in_one_file = is_one_file(folder)
            for one in chain([first], files):
                reasons.add(one)
                self._plan.kept += one.size
                if in_one_file:
                    self._in_files[folder] = self._in_files.get(folder, 0) + one.size
                if names is not None:
                    names[one.path] = names_of(one.entry, one.data)
            self._present[folder] = reasons.present
            yield from map(_left_in_file, reasons.result()) if in_one_file else reasons.result()

    def _known_of(self, settings: Settings) -> Known:
        root = settings.root
        if root not in self._known:
            self._around.roots.add(root)
            around = self._around.neighbours
            runs = around.runs(root)
            sparing = Sparing(root, self._pins.of(settings), lambda: around.others(root))
            usage = Usage(root, runs, Keyer(settings.key), sparing.why)
            self._known[root] = Known(root, usage, sparing, self._before)
            self._plan.runs[root] = runs
            if runs.why:
                self._plan.unproved[root] = runs.why
        return self._known[root]

    def _rejects(self) -> Iterator[Prunable | Left]:
        for root in sorted(self._around.roots) if Reason.REJECT in self._reasons else ():
            for place in self._around.places(root, "rejects"):
                for holding in holdings_in(place):
                    self._around.sided[holding.folder] = root
                    yield from self._rejects_in(holding, root)

    def _rejects_in(self, holding: Holding, root: Path) -> Iterator[Prunable | Left]:
        pins = self._pins.at(root)
        for held in holding.read():
            self._plan.kept += len(held.data)
            pinned = pins.why(held.path, held.entry)
            if (entry := held.entry) is None:
                yield Left(held.path, pinned or "it cannot be read")
                continue
            if pinned:
                yield Left(held.path, pinned)
                continue
            at = when(entry.provenance.get("recorded_at"))
            why = {Reason.REJECT: f"{one_line(entry.verdict, 80)}: it is never replayed"}
            yield Prunable(held.path, holding.folder, root, len(held.data), at, mark_of(entry), why)

    def _unnamed(self) -> Iterator[Unnamed]:
        """Yield what no entry names once those that are to go have gone."""
        going = frozenset(one.path for one in self._plan.entries)
        for folder, root in self._around.sided.items():
            holding = holding_at(folder)
            own = root or self._root_of(folder)
            if holding and not is_being_made(own, folder):
                named = self._named[folder] if folder in self._named else read_names(holding)
                for path in (folder / name for name in unnamed_by(holding.sides, named, going)):
                    yield Unnamed(path, folder, own, _size(path))
        for folder, found in self._around.left_over.items():
            for path in found:
                yield Unnamed(path, folder, self._root_of(folder), _size(path), is_left_over=True)

    def _bound(self, most: int, pool: list[Prunable]) -> None:
        """Take more until what is kept is no more than *most*, or nothing may be taken any more."""
        made = self._plan
        sides = sum(_size(path) for folder in self._around.sided for path in sides_of(folder))
        made.kept += sum(one.size for _, one in made.in_trash) + sides
        made.over = made.kept - most - sum(one.size for one in made.entries)
        made.over -= sum(one.size for one in made.sidecars) + sum(one.size for _, one in made.emptied)
        for root, old in sorted(made.in_trash, key=lambda pair: pair[1].at) if not made.emptied else ():
            if made.over > 0:
                made.emptied.append((root, old))
                made.over -= old.size
        groups: dict[tuple[Path, str], list[Prunable]] = {}
        for one in sorted(pool, key=lambda one: (_turn(one), one.at, one.path)):
            groups.setdefault(group_of(one), []).append(one)
        for group in groups.values():
            if made.over > 0:
                made.entries += group
                made.over -= sum(one.size for one in group)
        named = sum(one.size for one in made.sidecars)
        made.sidecars = [*self._unnamed()]
        made.over = max(0, made.over + named - sum(one.size for one in made.sidecars))
        if made.over:
            made.left += [Left(file, _stays_in_file(file, size)) for file, size in sorted(self._in_files.items())]

    def _root_of(self, folder: Path) -> Path:
        return self._projects.of(folder.absolute()).settings.root


def in_trash(around: Places) -> list[tuple[Path, Trashed]]:
    """Return what lies in the trash now, each with its settings' folder."""
    places = ((root, place) for root in sorted(around.roots) for place in around.places(root, "trash"))
    return [(root, one) for root, place in places for one in trash.contents(place)]


def _left_in_file(one: Prunable | Left) -> Left:
    if isinstance(one, Left):
        return one
    return Left(one.path, f"{'; '.join(one.why.values())}; but {mends.unpack(one.folder, OF_FILES)}")


def _stays_in_file(file: Path, size: int) -> str:
    return f"{size:,} bytes of entries are in this one file: {mends.unpack(file, OF_FILES)}"


def _size(path: Path) -> int:
    """Return the bytes of a file, 0 for one that another prune has just moved away."""
    try:
        return path.lstat().st_size
    except FileNotFoundError:
        return 0


def _turn(one: Prunable) -> int:
    """Return when a limit takes an entry: the lowest go first."""
    return min(_BOUNDED.index(reason) for reason in one.why)
