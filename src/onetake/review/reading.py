"""One change as it is judged: what the entry holds, what it is compared with, and what is against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from onetake.cassette_files import read_entry
from onetake.compare import distance
from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.format.entryjson import LARGEST
from onetake.key import Keyer
from onetake.key.url import OriginRule, url_text
from onetake.model import Entry
from onetake.printable import one_line
from onetake.review.change import Change, Changes, Kind
from onetake.review.cleaning import cleaned, unseen_headers
from onetake.stores import Store, files, open_store
from onetake.stores.naming import parse_name
from onetake.upkeep.examining import Examination
from onetake.upkeep.findings import Finding, Severity
from onetake.upkeep.holding import Held, Holding
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most
from onetake.upkeep.projects import Project, Projects

_CANDIDATES = 50
"""Earlier entries of a cassette, gone and present each, of which the one most like a new one is looked for."""
_COMPARED = 20
"""Of these, those of the same test first, so many are compared with it: each takes up to a millisecond."""
_LIKE = 0.5
"""What part of a request may differ, in letters of its body, in one that is like it."""
_STANDS_FOR_MANY = 400
"""Characters of a finding that are told."""


@dataclass(frozen=True, slots=True)
class Read:
    """A change, read.

    Args:
        change: It, its digest of the bytes that were read now.
        project: The settings that count for it.
        data: The bytes; empty where there are none.
        stored: What is in them, as it is; None where that cannot be read.
        entry: The same as it may be shown; of an entry that is gone what it was.
        old: What it is compared with, as it may be shown; None where there is nothing.
        against: What that is, in a few words.
        why: Why it cannot be read, or not be shown; else empty.
        findings: What `onetake check` says of it, errors and warnings, without secrets.
        unseen: Headers that differ from those of what it is compared with, and whose values are not shown, as the scrub
            rules of today keep none of that name: `request.headers.x-team`.
    """

    change: Change
    project: Project
    data: bytes = b""
    stored: Entry | None = None
    entry: Entry | None = None
    old: Entry | None = None
    against: str = ""
    why: str = ""
    findings: tuple[Finding, ...] = ()
    unseen: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What would keep a replay from serving it."""
        return tuple(one for one in self.findings if one.severity is Severity.ERROR)


class Reader:
    """Reads the changes of one review, one after the other.

    Args:
        all_of_it: The review.
        projects: Of its start.
        importing: As for `check`.
    """

    def __init__(self, all_of_it: Changes, projects: Projects, *, importing: bool) -> None:
        self._all = all_of_it
        self._projects = projects
        self._examination = Examination(all_of_it.start, importing=importing)
        self._earlier: dict[Path, list[tuple[Entry, str]]] = {}

    def read(self, change: Change) -> Read:
        """Read a change; whatever an entry was made to do to what reads it, it is told, and stops nothing."""
        project = self._projects.of(change.root)
        try:
            with at_most(SECONDS):
                return self._read(change, project)
        except (OSError, FormatError, StoreError, TookTooLongError, RecursionError) as error:
            why = str(error) or type(error).__name__
        except Exception as error:  # noqa: BLE001 - a file that others wrote may break what reads it in any way
            why = f"{type(error).__name__}: {error}"
        return Read(change, project, self._bytes(change), why=self._told(why, project))

    def _read(self, change: Change, project: Project) -> Read:
        if change.kind is Kind.GONE:
            was = self._at_base(change.before or change.path)
            return Read(change, project, entry=cleaned(was, project))
        if change.why:
            return Read(change, project, why=change.why)
        data = self._bytes(change)
        change = replace(change, digest=sha256(data).hexdigest())
        holding = Holding(change.path.parent, ())
        held = holding.held(change.path)
        if held.entry is None:
            return Read(change, project, data, why=self._told(held.why, project))
        old, against = self._compared(change, held.entry)
        shown = cleaned(held.entry, project)
        unseen = unseen_headers(held.entry, shown, old) if old else ()
        return Read(
            change,
            project,
            data,
            held.entry,
            shown,
            old and cleaned(old, project),
            against,
            findings=self._findings(change, held, holding, project),
            unseen=tuple(self._told(name, project) for name in unseen),
        )

    @staticmethod
    def _bytes(change: Change) -> bytes:
        try:
            return files.read(change.path, LARGEST) or b""
        except OSError:
            return b""

    def _findings(self, change: Change, held: Held, holding: Holding, project: Project) -> tuple[Finding, ...]:
        """Return what the check says; of a reject the gate said it already."""
        if change.kind is Kind.REJECT:
            return ()
        found = self._examination.of_file(held, holding, project)
        told = (replace(one, message=self._told(one.message, project)) for one in found)
        return tuple(one for one in told if one.severity is not Severity.INFO)

    @staticmethod
    def _told(text: str, project: Project) -> str:
        scrub: Callable[[str], str] = project.scrubber(()).begin().text
        return "\n".join(one_line(line, _STANDS_FOR_MANY) for line in scrub(text).split("\n")[:10])

    def _at_base(self, path: Path) -> Entry:
        base = self._all.base
        data = base.read(path)
        if data is None:
            raise FormatError(f"git does not give what it was at {base.name}")
        return load_entry(data, lambda name: base.read(path.parent / name))

    def _compared(self, change: Change, entry: Entry) -> tuple[Entry | None, str]:
        """Return what an entry is compared with, and what that is called."""
        if change.before is not None:
            try:
                return self._at_base(change.before), self._all.base.name
            except FormatError as error:
                return None, f"{self._all.base.name} (unreadable there: {one_line(str(error), 200)})"
        if change.folder is None:
            return None, ""
        if change.kind is not Kind.NEW and (stored := self._in_its_place(change.folder, entry)):
            return stored, "the entry that the cassette has"
        return self._nearest(change.folder, entry)

    @staticmethod
    def _in_its_place(folder: Path, entry: Entry) -> Entry | None:
        with closing(open_store(folder)) as store:
            return _entry_in(store, entry.key, entry.ordinal)

    def _nearest(self, folder: Path, entry: Entry) -> tuple[Entry | None, str]:
        """Return the earlier entry of the same cassette whose request is most like that of a new one, if one is."""
        if folder not in self._earlier:
            self._earlier[folder] = [*self._gone_from(folder), *self._present_in(folder)]
        whole = Keyer()  # without rules: a pattern that an entry brings with it is never run
        asked, test = whole.parts(entry.request), entry.provenance.get("test")
        origins = OriginRule(self._projects.of(folder).settings.key.origins)
        place = _place(entry, origins)
        fits = [one for one in self._earlier[folder] if _place(one[0], origins) == place]
        fits.sort(key=lambda one: one[0].provenance.get("test") != test)
        far = [(distance(asked, whole.parts(old.request)), number) for number, (old, _) in enumerate(fits[:_COMPARED])]
        least, nearest = min(far, default=(0.0, -1))
        return fits[nearest] if far and least <= _LIKE * len(entry.request.body) else (None, "")

    def _gone_from(self, folder: Path) -> Iterator[tuple[Entry, str]]:
        gone = [one for one in self._all.found if one.kind is Kind.GONE and one.folder == folder]
        for one in gone[:_CANDIDATES]:
            with suppress(FormatError):
                yield self._at_base(one.path), f"{one.path.name}, which is gone"

    def _present_in(self, folder: Path) -> Iterator[tuple[Entry, str]]:
        new = {one.path for one in self._all.found if one.kind is Kind.NEW and one.folder == folder}
        paths = sorted(path for path in folder.glob("*.json") if parse_name(path.name) and path not in new)
        for path in paths[:_CANDIDATES]:
            if isinstance(found := read_entry(path), Entry):
                yield found, f"{path.name}, the entry most like it"


def _place(entry: Entry, origins: OriginRule) -> tuple[str, str]:
    """Return what was asked for, of which server, as the project's rules for origins have it."""
    return entry.request.method, url_text(entry.request.url, origins)


def _entry_in(store: Store, key: str, ordinal: int) -> Entry | None:
    """Return what a store has in a place; None where there is nothing, or nothing that can be read."""
    try:
        data = store.get(key, ordinal)
        return None if data is None else load_entry(data, store.get_side)
    except (FormatError, StoreError):
        return None
