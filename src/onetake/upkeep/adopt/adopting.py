"""What there is to adopt, as plain data, and the writing of it: new entries beside the old, never over another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from onetake import git
from onetake.errors import StoreError
from onetake.missed import Missed
from onetake.model import Entry, Mode
from onetake.printable import one_line
from onetake.provenance import now
from onetake.stores import Store, open_store
from onetake.upkeep import mends
from onetake.upkeep.adopt.operations import Operations
from onetake.upkeep.noted import reason_of
from onetake.upkeep.projects import Projects
from onetake.writing import SecretLeftError, write


@dataclass(frozen=True, slots=True)
class Adoption:
    """One entry that may be adopted.

    Args:
        folder: The cassette's.
        old: The file of the entry that has the answer.
        entry: The new one.
        missed: True where a run asked for it; False where none came so far, and the same difference applies.
    """

    folder: Path
    old: Path
    entry: Entry
    missed: bool


@dataclass(slots=True)
class Group:
    """Misses that one difference explains.

    Args:
        operations: The difference: what to do to the old requests.
        refused: Why none of it may be adopted; empty where it may.
        cautions: What to know before it is.
        instead: What may help, where it is refused, but to record what was missed.
        misses: What was missed.
        adoptions: What would be written.
    """

    operations: Operations
    refused: str
    cautions: tuple[str, ...]
    instead: str
    misses: list[Missed] = field(default_factory=list)
    adoptions: list[Adoption] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What it is called in every run: 8 hex digits of what it is."""
        return sha256(f"{self.operations!r}\0{self.refused}".encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that missed, each once."""
        return tuple(dict.fromkeys(one.test for one in self.misses if one.test))

    @property
    def requests(self) -> int:
        """How many requests were missed, those that several tests missed once each."""
        return len({(one.folder, one.key) for one in self.misses})

    @property
    def needs_naming(self) -> bool:
        """Whether it is adopted only where a person names it: there is something to know before."""
        return bool(self.cautions) and not self.refused

    @property
    def mend(self) -> str:
        """What to do where it is refused; else empty."""
        tests = ((one.test, one.folder) for one in self.misses)
        record = mends.record_all(tests, Mode.NEW_EPISODES) if self.refused else ""
        return f"{self.instead}; else {record}" if self.instead else record

    @property
    def reason(self) -> str:
        """The difference in one line."""
        return one_line("; ".join(map(str, self.operations)), 300)


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A miss that no stored request explains.

    Args:
        missed: It.
        why: What is in the way.
        mend: What to do.
    """

    missed: Missed
    why: str
    mend: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to adopt.

    Args:
        groups: Those that explain the most first; refused ones last.
        unexplained: What is left.
        left: The files of entries that give their answer to nothing, and what is wrong with each.
    """

    groups: tuple[Group, ...]
    unexplained: tuple[Unexplained, ...]
    left: tuple[tuple[Path, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """What became of one adoption.

    Args:
        adoption: It.
        path: The new entry's file.
        why: What kept it from being written, else empty.
    """

    adoption: Adoption
    path: Path
    why: str = ""


def adopt(group: Group, reason: str, root: Path) -> Iterator[Written]:
    """Write the entries of a group, never over another one; what nobody asked for so far goes first.

    A run that is killed half-way leaves misses, by which the next one finds all that is left.

    Args:
        group: One that is not refused.
        reason: Why it may be adopted, for the provenance; scrubbed first. The difference itself where it is empty.
        root: A folder of the project, whose git commit is named.

    Returns:
        What became of each, as it is done: where nobody takes them, nothing is written.

    Raises:
        StoreError: A store cannot be opened; what cannot be written into it is told by its `Written`.
        UsageError: The settings of *root* are wrong.
    """
    scrubber = Projects(root, importing=False).of(root.absolute()).scrubber(())
    said = {"at": now(), "reason": reason_of(reason, scrubber) or group.reason}
    if commit := git.line(root, "rev-parse", "HEAD"):
        said["commit"] = commit
    with ExitStack() as stack:
        folders = dict.fromkeys(one.folder for one in group.adoptions)
        stores = {folder: stack.enter_context(closing(open_store(folder))) for folder in folders}
        for one in sorted(group.adoptions, key=lambda one: one.missed):
            yield _written(one, said, stores[one.folder])


def _written(one: Adoption, said: Mapping[str, str], store: Store) -> Written:
    origin = one.entry.provenance
    entry = replace(one.entry, provenance={**origin, "adopted": {**origin["adopted"], **said}})
    why = ""
    try:
        if not write(store, entry, {}, over=False):
            why = "one is there already"
    except SecretLeftError as error:
        why = f"a secret would be in it ({', '.join(sorted({finding.kind for finding in error.args[0]}))})"
    except StoreError as error:
        why = str(error)
    return Written(one, Path(store.locate(entry.key, entry.ordinal)), why)
