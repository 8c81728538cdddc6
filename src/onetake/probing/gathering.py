"""The stored entries that a probe may choose from, and those that nobody can ask again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from onetake import dialects
from onetake.cassette_files import is_one_file, list_folders
from onetake.errors import StoreError, UsageError
from onetake.model import Entry
from onetake.pins import Pins
from onetake.printable import one_line
from onetake.probing.askable import why_not
from onetake.probing.report import baseline_of
from onetake.probing.sampling import Candidate
from onetake.probing.sending import HEADER_NAME
from onetake.settings_values import nearest
from onetake.upkeep.entry_checks import Keyers, key_fault
from onetake.upkeep.holding import Held, Holding, holding_of
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most
from onetake.upkeep.projects import Project, Projects
from onetake.validity import moment

_FIELDS = ("operation", "model", "contract")
_NAME = re.compile(r"\w{2,}")
"""Of what a word selects by, and no letter of a drive."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Found:
    """One stored entry.

    Args:
        held: Its file, read.
        entry: What is in it.
        folder: The cassette's.
        project: The settings that count for it.
        why_not: Why it cannot be asked again; empty where it can.
    """

    held: Held
    entry: Entry
    folder: Path
    project: Project
    why_not: str

    @property
    def operation(self) -> str:
        """That of its dialect; empty where no dialect knows it."""
        dialect = dialects.find(self.entry.request.method, self.entry.request.url)
        return dialect.operation if dialect else ""

    @property
    def model(self) -> str:
        """The model that its request names; empty where it names none."""
        request = self.entry.request
        dialect = dialects.find(request.method, request.url)
        return (dialect.model_asked(request) or "") if dialect else ""

    @property
    def contract(self) -> str:
        """The name of the contract that judged it; empty where none did."""
        return self.entry.contract.name if self.entry.contract else ""

    @property
    def baseline(self) -> str:
        """The digest of its file as it is now."""
        return baseline_of(self.held.data)

    @property
    def candidate(self) -> Candidate:
        """What a sample is chosen by."""
        at = moment(self.entry.provenance.get("recorded_at"))
        return Candidate(self.held.path, self.entry.key, self.operation, self.model, self.contract, at)


class Selecting:
    """Which entries count: `--select`.

    Args:
        root: Where paths count from.
        words: `operation:…`, `model:…`, `contract:…`, in which `*` and `?` stand for what they do in a path; or what
            names entries, as in the setting `pinned`. Words of one kind are alternatives, and each kind must agree.
    """

    def __init__(self, root: Path, words: Sequence[str]) -> None:
        self._fields: dict[str, list[re.Pattern[str]]] = {}
        plain: list[str] = []
        for word in words:
            name, mark, said = word.partition(":")
            if mark and name in _FIELDS:
                wild = re.escape(said).replace(r"\*", ".*").replace(r"\?", ".")
                self._fields.setdefault(name, []).append(re.compile(wild, re.DOTALL))
            elif mark and _NAME.fullmatch(name) and not (root / word).exists():
                raise UsageError(f"--select {word}: nothing is selected by {name!r}{nearest(name, _FIELDS)}")
            elif word:
                plain.append(word)
            else:
                raise UsageError("--select is empty: name a path, the first digits of a key, or model:NAME")
        self._named = Pins(root, plain) if plain else None

    def takes(self, found: Found) -> bool:
        """Tell whether an entry counts."""
        if self._named and not self._named.word(found.held.path, found.entry):
            return False
        said = {"operation": found.operation, "model": found.model, "contract": found.contract}
        return all(any(one.fullmatch(said[name]) for one in wanted) for name, wanted in self._fields.items())


def gather(start: Path, projects: Projects, words: Sequence[str] = ()) -> Iterator[Found]:
    """Find the entries below a folder; what cannot be read is left to `onetake check`.

    Args:
        start: A folder, or a store that is one file.
        projects: The settings.
        words: As for `Selecting`.

    Raises:
        StoreError: The folder cannot be listed.
        UsageError: A word is empty, or selects by what there is not; or the settings are wrong.
    """
    selecting, keyers = Selecting(projects.of(start.absolute()).settings.root, words), Keyers()
    for listed in list_folders(start):
        if listed.why and listed.folder == start:
            raise StoreError(f"{listed.folder.as_posix()}: {listed.why}")
        holding = holding_of(listed)
        for held in holding.read() if holding else ():
            if held.entry is not None:
                project = projects.of(listed.folder.absolute())
                found = Found(held, held.entry, listed.folder, project, _why_not(held, held.entry, project, keyers))
                if selecting.takes(found):
                    yield found


def find(path: Path, projects: Projects) -> Found:
    """Return the entry in a file.

    Raises:
        UsageError: The file holds no entry that can be read.
    """
    holding = Holding(path.parent, (path,), is_one_file=is_one_file(path.parent))
    with closing(holding.store):
        held = holding.held(path)
    if held.entry is None:
        why = held.why if held.data or path.exists() else "it is gone"
        raise UsageError(f"{path.as_posix()}: {why or 'holds no entry'}")
    project = projects.of(path.parent.absolute())
    return Found(held, held.entry, path.parent, project, _why_not(held, held.entry, project, Keyers()))


def _why_not(held: Held, entry: Entry, project: Project, keyers: Keyers) -> str:
    """Say why an entry cannot be asked again: a file that says other than it was recorded as is not trusted."""
    try:
        with at_most(SECONDS):
            if held.slot != (entry.key[:16], entry.ordinal):
                return "its name is not that of the entry in it: `onetake check` says more"
            if fault := key_fault(entry, keyers):
                return f"{fault[0].partition(';')[0]}: `onetake check` says more"
            return why_not(entry) or _stray(entry, project)
    except TookTooLongError as error:
        return f"it cannot be looked through ({error})"


def _stray(entry: Entry, project: Project) -> str:
    """Say which header of a request the recorder lets into no entry, so that somebody else wrote it; empty for none."""
    kept = project.scrubber(tuple(entry.key_spec.rules.get("headers", ()))).request_headers
    for name, value in entry.request.headers:
        if not kept.keeps(name) or not HEADER_NAME.fullmatch(name) or _CONTROL.search(value):
            return f"its request has a header that no recorded one has: {one_line(name, 80)!r}"
    return ""
