"""What a person decides about a change, done: nothing is lost by it, and nothing is done to what has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path

from onetake import git
from onetake.aside import clear
from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.making import is_being_made
from onetake.model import Entry
from onetake.printable import one_line
from onetake.promoting import Step, promote
from onetake.provenance import now
from onetake.review import marks
from onetake.review.base import Base
from onetake.review.change import Kind, mark_at, mark_of
from onetake.review.decided import CHANGED, Decided, busy, in_trash, is_anyone_at_work, no, told, told_path
from onetake.review.judging import UNJUDGED, as_kept, judged
from onetake.review.reading import Read
from onetake.review.restoring import restore
from onetake.stores import DiskStore, open_store
from onetake.upkeep.projects import Project
from onetake.upkeep.prune.sidecars import sweep
from onetake.upkeep.prune.trash import keep_copy
from onetake.writing import schema_side, write

_ASIDE = (Kind.PENDING, Kind.REJECT)


@told
def accept(read: Read, base: Base) -> Decided:
    """Accept a change: a new state is right as it is, what waits goes into its cassette, a reject is kept."""
    kind = read.change.kind
    if read.entry is None:
        return no("what cannot be read cannot be accepted: no replay would serve it")
    if kind is Kind.PENDING:
        return busy(read) or _promote(read)
    if kind is Kind.REJECT:
        return busy(read) or _keep(read)
    marks.note(read.change.root, mark_of(read.change, base))
    return Decided(True, "accepted: it stays gone" if kind is Kind.GONE else "accepted as it is")


@told
def discard(read: Read, base: Base) -> Decided:
    """Discard a change: what is new goes to the trash, what the commit had comes back."""
    change = read.change
    if wait := busy(read):
        return wait
    if change.why:
        return no(f"it {change.why}: look at it yourself, and move it away")
    if change.before is not None:
        return restore(read, base)
    if not keep_copy(change.root, change.path, read.data, removing=True):
        return no(CHANGED)
    if change.kind is not Kind.NEW:
        _tidy(read)
    return Decided(True, f"moved to the trash: {in_trash(change.root, change.path.parent)}")


def noted(entry: Entry, name: str, project: Project) -> Entry:
    """Return an entry whose provenance says what a person did to it, when, at which commit, and who."""
    root = project.settings.root
    scrub = project.scrubber(()).begin().text
    said = {
        "at": now(),
        "commit": git.line(root, "rev-parse", "HEAD"),
        "by": scrub(one_line(git.line(root, "config", "user.name"))),
    }
    note = {key: value for key, value in said.items() if value}
    return replace(entry, provenance={**entry.provenance, name: note})


def add(store: DiskStore, entry: Entry, sides: Mapping[str, bytes]) -> Entry:
    """Write an entry beside what a cassette has, under the first ordinal that is free; returns it as it is there.

    One that is there already, but for when a person decided so, is not written again: who did was stopped before the
    reject was put away.
    """
    taken = store.ordinals(entry.key)
    for ordinal in sorted(taken):
        there = _entry_at(store, entry.key, ordinal)
        if there is not None and _undecided(there) == replace(_undecided(entry), ordinal=ordinal):
            return there
    for ordinal in count():
        placed = replace(entry, ordinal=ordinal)
        if ordinal not in taken and write(store, placed, sides, over=False):
            return placed
    raise AssertionError


def _entry_at(store: DiskStore, key: str, ordinal: int) -> Entry | None:
    try:
        data = store.get(key, ordinal)
        return None if data is None else load_entry(data, store.get_side)
    except (FormatError, StoreError):
        return None


def _undecided(entry: Entry) -> Entry:
    """Return an entry without what a decision notes in it."""
    noted = {name: value for name, value in entry.provenance.items() if name not in ("accepted", "edited")}
    return replace(entry, provenance=noted)


def accepted_at(store: DiskStore, entry: Entry, root: Path) -> str:
    """Note that an entry which a decision has put into its cassette is accepted; returns its place, to be told."""
    path = Path(store.locate(entry.key, entry.ordinal)).absolute()
    data = store.get(entry.key, entry.ordinal) or b""
    marks.note(root, mark_at(path, root, sha256(data).hexdigest()))
    return told_path(path, root)


def beside(entry: Entry) -> str:
    """Say of an entry that was added that there are answers to the same request before it."""
    return f", behind {entry.ordinal} to the same request" if entry.ordinal else ""


def put_reject_away(read: Read) -> None:
    """Move a reject to the trash, now that its answer is an entry."""
    keep_copy(read.change.root, read.change.path, read.data, removing=True)
    _tidy(read)


def sweep_up(reads: Iterable[Read]) -> None:
    """Move to the trash what no entry names any more in the cassettes of changes that were discarded or edited.

    Raises:
        OSError, StoreError: Something cannot be moved; it stays.
    """
    places = {(one.change.root, one.change.path.parent) for one in reads if one.change.kind not in _ASIDE}
    for root, folder in sorted(places):
        if folder.is_dir() and not is_anyone_at_work(root) and not is_being_made(root, folder):
            sweep(root, folder)


def _promote(read: Read) -> Decided:
    """Move an answer that waits for its test into the cassette, over the one in its place."""
    change, entry = read.change, read.stored
    if change.folder is None or entry is None:
        return no("its cassette lies outside of the settings' folder, which its place does not name")
    if read.errors:
        return no(f"the check finds an error in it: {read.errors[0].message}")
    if not judged(entry, change.path.parent, read.project).is_known:
        return no(UNJUDGED)
    with closing(open_store(change.folder)) as store, closing(open_store(change.path.parent)) as waiting:
        if waiting.get(entry.key, entry.ordinal) != read.data:
            return no(CHANGED)
        there = Path(store.locate(entry.key, entry.ordinal))
        was = store.get(entry.key, entry.ordinal)
        if was is not None and not _is_kept_elsewhere(read, there, was):
            return no(CHANGED)
        step = Step(entry, entry.ordinal, schema_side(waiting, entry), over=was is not None)
        (placed,) = promote([step], waiting, store, None)
        where = accepted_at(store, placed, change.root)
    _tidy(read)
    return Decided(True, f"accepted: it is in the cassette now{' instead of the one there' if was else ''}: {where}")


def _is_kept_elsewhere(read: Read, there: Path, was: bytes) -> bool:
    """See that the entry that is about to be replaced is in the trash; of a store in one file nothing goes there."""
    if not there.parent.is_dir():
        raise StoreError(f"{there}: lies in a store in one file, which has no trash: let the test record it itself")
    return keep_copy(read.change.root, there, was, removing=False)


def _keep(read: Read) -> Decided:
    """Make an entry of a reject that is kept on purpose."""
    change, entry = read.change, read.stored
    if change.folder is None or entry is None:
        return no("its cassette lies outside of the settings' folder, which its place does not name")
    kept, why, sides = as_kept(entry, change.path.parent, read.project)
    if kept is None:
        return no(why)
    with closing(open_store(change.folder)) as store:
        placed = add(store, noted(kept, "accepted", read.project), sides)
        where = accepted_at(store, placed, change.root)
    put_reject_away(read)
    word = placed.verdict.partition(":")[2]
    wanted = f'; it replays where the session has keep=["{word}"]' if word else "; it meets today's contract"
    return Decided(True, f"kept as {placed.verdict}{beside(placed)}: {where}{wanted}")


def _tidy(read: Read) -> None:
    """Remove the place under `.onetake/` that a decision has emptied."""
    root, folder = read.change.root, read.change.path.parent
    kind, *rest = folder.relative_to(root / ".onetake").parts
    clear(root, kind, root.joinpath(*rest), alone=False)
