"""Import files of vcrpy, one by one or on several processors, and tell of every interaction what became of it."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from onetake import git
from onetake.errors import StoreError, UsageError
from onetake.gate import Kind, keeps
from onetake.importers.counting import Groups, by_request, groups_of, notes_of
from onetake.importers.judging import Judged, Outcome, Rules, judge
from onetake.importers.placing import Choices, File, named_in, rules_of, target_of
from onetake.importers.reading import UNREADABLE, VCRPY, Interaction, Source, files_under, read
from onetake.importers.writing import Placed, Target
from onetake.printable import spelled
from onetake.scrub import shown

_FEW = 60
"""Files that one process imports sooner than others could be started."""
_AT_ONCE = 8
"""Processes at most."""
_AT_A_TIME = 4
"""Files that a process is given together."""
_AHEAD = 4
"""As often as there are processes, that many files may be done or under way before they are taken."""


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one interaction, or of a file that holds none of vcrpy's."""

    source: Path
    position: int | None
    """None for a file as a whole."""
    outcome: Outcome
    reason: str
    key: str = ""
    entry: str = ""
    """The entry's path; empty where there is none."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one file."""

    path: Path
    kind: str
    interactions: int = 0
    rows: tuple[Row, ...] = ()
    groups: Groups = field(default_factory=Groups)
    secrets: dict[str, int] = field(default_factory=dict)
    """How many were scrubbed, by kind."""
    written: int = 0
    """Entries that were not there before, or would be written."""
    bytes_in: int = 0
    """Bytes of the answers that were imported, as they were read; and as the entries hold them."""
    bytes_out: int = 0
    hosts: tuple[str, ...] = ()
    """Servers of the program's own that are played only where `hosts` names them."""
    keep: tuple[str, ...] = ()
    """Kinds of bad answers among the entries, which are replayed only where `keep` names them."""
    never_played: int = 0
    root: Path | None = None
    """The folder of the settings that counted; None for what is none of vcrpy's."""


def files_of(paths: Sequence[Path], to: Path | None) -> list[File]:
    """List the files to import, and where each goes.

    Args:
        paths: Files and folders.
        to: As in `Choices`.

    Raises:
        UsageError: One is not there, two files would go into one cassette,
            `to` is no folder, or settings are wrong.
    """
    if to is not None and not next((each for each in (to, *to.parents) if each.exists()), Path()).is_dir():
        raise UsageError(f"--to {_told(to)}: is no folder, and cannot be one")
    found: list[File] = []
    taken: dict[Path, Path] = {}
    seen: set[Path] = set()
    for base in paths:
        if not base.exists():
            raise UsageError(f"{_told(base)}: there is no such file or folder")
        for path in files_under([base]):
            if path.absolute() in seen:
                continue
            seen.add(path.absolute())
            target = target_of(path, base, to)
            if (other := taken.setdefault(target.absolute(), path)) is not path:
                raise UsageError(
                    f"{_told(path)} and {_told(other)} would have one cassette: give each a --to of its own"
                )
            found.append(File(path, target, base))
    return found


def import_all(files: Sequence[File], choices: Choices) -> Iterator[Imported]:
    """Import files, in their order.

    Raises:
        StoreError: A process that imported ended before its time; what was written stays, and a second run goes on.
        UsageError: Settings are wrong, or PyYAML is not installed.
    """
    one = partial(import_file, choices=choices)
    workers = min(_AT_ONCE, (os.cpu_count() or 1) + 1)  # one waits for its disk while the others work
    if len(files) <= _FEW:
        yield from map(one, files)
        return
    for file in files[:1]:  # what is wrong with settings or surroundings is wrong here already
        yield one(file)
    yield from _together(one, files[1:], workers)


def _together(one: Callable[[File], Imported], files: Sequence[File], workers: int) -> Iterator[Imported]:
    import signal
    from concurrent.futures import ProcessPoolExecutor  # dear to load, and most imports are small
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    quiet = (signal.SIGINT, signal.SIG_IGN)  # this process is interrupted too, and stops them
    pool = ProcessPoolExecutor(workers, get_context("spawn"), signal.signal, quiet)
    todo = (files[at : at + _AT_A_TIME] for at in range(0, len(files), _AT_A_TIME))
    some = partial(_several, one)
    try:  # no more are under way than are soon taken: what is done would pile up behind a large file
        begun = deque(pool.submit(some, each) for each in islice(todo, _AHEAD * workers))
        while begun:
            yield from begun.popleft().result()
            begun.extend(pool.submit(some, each) for each in islice(todo, 1))
    except BrokenProcessPool as error:
        raise StoreError(f"a process that imported ended before its time: {error}") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _several(one: Callable[[File], Imported], files: Sequence[File]) -> list[Imported]:
    return [one(file) for file in files]


def import_file(file: File, choices: Choices) -> Imported:
    """Import one file; the file itself is only read. Raises as `import_all` does."""
    if file.path != file.base and file.path.is_symlink():
        why = "is a link, and none is followed below a folder: name it by itself to import it"
        return Imported(file.path, UNREADABLE, rows=(Row(file.path, None, Outcome.REFUSED, why),))
    source = read(file.path)
    if source.kind == UNREADABLE:
        row = Row(file.path, None, Outcome.REFUSED, f"cannot be read: {shown(source.problem)}")
        return Imported(file.path, source.kind, rows=(row,))
    if source.kind != VCRPY:
        return Imported(file.path, source.kind, rows=(Row(file.path, None, Outcome.FOREIGN, source.kind),))
    return _import_source(source, file, choices)


def _import_source(source: Source, file: File, choices: Choices) -> Imported:
    rules = rules_of(file.start or file.target, choices)
    said = rules.scrubber.begin().text  # names of files may hold secrets, too
    path = said(named_in(file, rules.root))
    commit = git.line(source.path.parent, "log", "-1", "--format=%H", "--", source.path.name) if choices.blame else ""
    target = Target(file.target, said(_shown(file.target)), rules.contracts, writes=choices.writes)
    rows: list[Row] = []
    secrets: Counter[str] = Counter()
    hosts: dict[str, None] = {}
    keep: set[str] = set()
    groups = by_request(source.interactions)
    others = notes_of(groups)
    sizes = Counter(written=0, bytes_in=0, bytes_out=0, never=0)
    for one in source.interactions:
        judged, placed = _placed(one, path, rules, commit, target)
        notes = map(said, (*one.notes, *others.get(one.position, ())))
        rows.append(_row(source.path, one.position, placed, said(placed.judged.reason), notes))
        sizes["never"] += judged.is_never_played
        entry = placed.judged.entry
        if entry is None or one.response is None or one.request is None:
            continue
        secrets.update(judged.secrets)
        sizes.update(written=not placed.was_there, bytes_in=len(one.response.body), bytes_out=len(entry.response.body))
        word, _, kind = entry.verdict.partition(":")
        if word == Kind.KEPT and not keeps(rules.replayed, kind):
            keep.add(kind)
        if judged.is_local:
            hosts[urlsplit(one.request.url).netloc.rpartition("@")[2]] = None
    return Imported(
        source.path,
        source.kind,
        len(source.interactions),
        tuple(rows),
        groups_of(groups),
        dict(secrets),
        sizes["written"],
        sizes["bytes_in"],
        sizes["bytes_out"],
        tuple(hosts),
        tuple(keep),
        sizes["never"],
        rules.root,
    )


def _placed(one: Interaction, path: str, rules: Rules, commit: str, target: Target) -> tuple[Judged, Placed]:
    """Judge an interaction and place it; one that only a flag of the user's lets in may be there by an earlier one."""
    judged = judge(one, path, rules, commit=commit)
    try:
        if judged.needs_flag and not target.was_empty:
            wanted = judge(one, path, rules.widest(), commit=commit)
            if (found := target.find(wanted)) is not None:
                return wanted, found
        return judged, target.place(judged)
    except StoreError as error:  # the others may have a folder that can be written
        return judged, Placed(Judged(Outcome.REFUSED, str(error)))


def _row(path: Path, position: int, placed: Placed, reason: str, notes: Iterable[str]) -> Row:
    entry = placed.judged.entry
    return Row(path, position, placed.judged.outcome, reason, entry.key if entry else "", placed.entry, tuple(notes))


def _told(path: Path) -> str:
    """Return a path as the user wrote it, for a message."""
    return shown(spelled(path.as_posix()))


def _shown(folder: Path) -> str:
    """Return a folder as it is told: from the current one where it lies below."""
    full, here = folder.absolute(), Path.cwd()
    return spelled((full.relative_to(here) if full.is_relative_to(here) else full).as_posix())
