"""Answer what a run missed from what is stored, where a small difference explains it: nothing is asked anew.

The difference is the smallest that explains a miss, and of all that are so explained one group. What is written is a
new entry: the request that was missed, the answer of the old, and where it comes from. The old one stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetake import git
from onetake.cassette_files import list_folders
from onetake.errors import StoreError
from onetake.key import RECIPE, Keyer
from onetake.missed import Missed, missed_in
from onetake.model import Entry, KeySpec, Mode, Request
from onetake.printable import one_line
from onetake.scrub import SCRUB
from onetake.stores.directory import DirectoryStore
from onetake.upkeep import cautions, mends
from onetake.upkeep.altering import altered
from onetake.upkeep.operations import NoFitError, Operations, applied, operations, signature, tree_of, widened
from onetake.upkeep.projects import Projects
from onetake.upkeep.regating import Regate
from onetake.upkeep.stored import Stored, StoredRequests
from onetake.writing import SecretLeftError, write

_TRIED = 20
"""Differences that explained others already and are tried on a miss before the nearest request is looked for."""


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
        mend: What to do instead, where it is refused.
        misses: What was missed.
        adoptions: What would be written.
    """

    operations: Operations
    refused: str
    cautions: tuple[str, ...]
    mend: str
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
    """

    groups: tuple[Group, ...]
    unexplained: tuple[Unexplained, ...]


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


def plan(start: Path) -> Plan:
    """Explain what the last runs missed in the cassettes below a folder, as far as it is still missing.

    Args:
        start: A folder.

    Raises:
        StoreError: A cassette cannot be listed.
        UsageError: Settings that count for one of them are wrong.
    """
    return _Planning(start).run()


def adopt(group: Group, reason: str, root: Path) -> Iterator[Written]:
    """Write the entries of a group, never over another one; what nobody asked for so far goes first.

    A run that is killed half-way leaves misses, by which the next one finds all that is left.

    Args:
        group: One that is not refused.
        reason: Why it may be adopted, for the provenance; the difference itself where empty.
        root: A folder of the project, whose git commit is named.
    """
    said = {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "reason": reason or group.reason}
    if commit := git.line(root, "rev-parse", "HEAD"):
        said["commit"] = commit
    for one in sorted(group.adoptions, key=lambda one: one.missed):
        yield _written(one, said)


def _written(one: Adoption, said: Mapping[str, str]) -> Written:
    store = DirectoryStore(one.folder)
    origin = one.entry.provenance
    entry = replace(one.entry, provenance={**origin, "adopted": {**origin["adopted"], **said}})
    path = Path(store.locate(entry.key, entry.ordinal))
    try:
        is_new = write(store, entry, {}, over=False)
    except SecretLeftError as error:
        kinds = ", ".join(sorted({finding.kind for finding in error.args[0]}))
        return Written(one, path, f"a secret would be in it ({kinds})")
    except StoreError as error:
        return Written(one, path, str(error))
    return Written(one, Path(store.locate(entry.key, entry.ordinal)), "" if is_new else "one is there already")


class _Planning:
    """One run over the misses of all settings folders below a start."""

    def __init__(self, start: Path) -> None:
        self._start = start.absolute()
        self._projects = Projects(self._start, importing=False)
        self._groups: dict[tuple[Operations, str], Group] = {}
        self._known: dict[Operations, int] = {}
        self._unexplained: list[Unexplained] = []

    def run(self) -> Plan:
        by_folder: dict[Path, list[Missed]] = {}
        for root in self._roots():
            for one in missed_in(root):
                if one.folder.is_relative_to(self._start) or self._start == root:
                    by_folder.setdefault(one.folder, []).append(one)
        for folder, misses in by_folder.items():
            self._cassette(folder, misses)
        found = sorted(self._groups.values(), key=lambda group: (bool(group.refused), -len(group.misses)))
        return Plan(tuple(found), tuple(self._unexplained))

    def _roots(self) -> Iterator[Path]:
        """Yield the settings' folders that count for the start, and those below it in which anything was missed."""
        own = self._projects.of(self._start).settings.root.absolute()
        yield own
        for listed in list_folders(self._start):
            if ".onetake" in listed.folders and listed.folder.absolute() != own:
                yield listed.folder.absolute()

    def _cassette(self, folder: Path, misses: list[Missed]) -> None:
        project = self._projects.of(folder if folder.is_dir() else self._start)
        stored = StoredRequests(folder, misses, project.settings.root)
        regate = Regate(project, folder)
        by_rules: dict[str, list[Missed]] = {}
        for one in misses:
            by_rules.setdefault(signature(dict(one.key_spec.rules)), []).append(one)
        for same_rules in by_rules.values():
            _Cassette(self, folder, stored, regate, same_rules).run()

    def leave(self, missed: Missed, why: str, mend: str) -> None:
        """Note that a miss is not explained."""
        self._unexplained.append(Unexplained(missed, why, mend))

    def likely(self) -> list[Operations]:
        """Return the differences that explained the most so far."""
        return sorted(self._known, key=lambda one: -self._known[one])[:_TRIED]

    def group(self, found: Operations, refused: str, test: str) -> Group:
        """Return the group of a difference."""
        if (found, refused) not in self._groups:
            mend = mends.record_by(test, Mode.NEW_EPISODES) if refused else ""
            self._groups[found, refused] = Group(found, refused, cautions.cautions(found), mend)
        return self._groups[found, refused]

    def know(self, found: Operations) -> None:
        """Note that a difference explains one more miss."""
        self._known[found] = self._known.get(found, 0) + 1


class _Cassette:
    """The misses of one cassette that were keyed by the same rules."""

    def __init__(
        self, planning: _Planning, folder: Path, stored: StoredRequests, regate: Regate, misses: list[Missed]
    ) -> None:
        self._planning = planning
        self._folder = folder
        self._stored = stored
        self._regate = regate
        self._misses = misses
        self._spec = misses[0].key_spec
        self._keyer, self._days = Keyer.from_spec(self._spec.rules)
        self._trees: dict[str, Any] = {}
        self._after: dict[Operations, dict[str, list[Stored]]] = {}
        self._taken: set[str] = set()

    def run(self) -> None:
        """Explain each miss, then apply the same differences to what no run came to."""
        explained: dict[Operations, list[Missed]] = {}
        for missed in self._misses:
            if found := self._explain(missed):
                explained.setdefault(found, []).append(missed)
        for found, misses in explained.items():
            self._extend(found, misses)

    def _explain(self, missed: Missed) -> Operations:
        """Find the stored request that a miss is now; returns the difference, none where nothing may be adopted."""
        if (missed.key_spec.recipe, missed.key_spec.scrub) != (RECIPE, SCRUB) or self._key(
            missed.request
        ) != missed.key:
            self._planning.leave(missed, "what was noted of it is of another onetake", "run the tests again")
            return ()
        tree = self._tree(missed.request, missed.key)
        old, found = self._by_known(tree) or self._by_likeness(missed, tree)
        if old is None:
            why = "nothing that is stored here, and that the run did not use, is like it"
            self._planning.leave(missed, why, mends.record_by(missed.test, Mode.NEW_EPISODES))
            return ()
        if not found:
            why = f"{old.path.name} holds the same request, under a key by other rules"
            self._planning.leave(missed, why, mends.rekey(self._folder))
            return ()
        self._planning.know(found)
        refused = cautions.refusal(found, old.entry.request, missed.request) or self._regate.refusal(
            old.entries, missed.request, missed.contracts
        )
        group = self._planning.group(found, refused, missed.test)
        group.misses.append(missed)
        if refused:
            return ()
        if missed.key not in self._taken:
            self._taken |= {missed.key, old.key}
            self._add(group, old, missed.request, missed.key, missed)
        return found

    def _by_known(self, tree: Any) -> tuple[Stored, Operations] | None:
        wanted = signature(tree)
        for found in self._planning.likely():
            for old in self._results(found).get(wanted, ()):
                if old.key not in self._taken:
                    return old, found
        return None

    def _by_likeness(self, missed: Missed, tree: Any) -> tuple[Stored | None, Operations]:
        """Find the request with the same prompt, however much else there is; where there is none, the nearest."""
        same = [old for old in self._by_prompt.get(cautions.prompt(tree), ()) if old.key not in self._taken]
        trees = {old.key: self._tree(old.entry.request, old.key) for old in same}
        steps = {old.key: operations(trees[old.key], tree) for old in same}
        old = min(same, key=lambda old: sum(map(len, map(str, steps[old.key]))), default=None)
        if old is None:
            old = self._stored.nearest(missed, self._taken)
        if old is None:
            return None, ()
        before = self._tree(old.entry.request, old.key)
        found = operations(before, tree)
        wide = widened(found)
        try:
            return old, wide if signature(applied(wide, before)) == signature(tree) else found
        except NoFitError:
            return old, found

    @cached_property
    def _by_prompt(self) -> dict[str, list[Stored]]:
        found: dict[str, list[Stored]] = {}
        for old in self._stored.free:
            if said := cautions.prompt(self._tree(old.entry.request, old.key)):
                found.setdefault(said, []).append(old)
        return found

    def _results(self, found: Operations) -> dict[str, list[Stored]]:
        """Return what a difference makes of each stored request, and of which."""
        if found not in self._after:
            made = self._after[found] = {}
            for old in self._stored.free:
                try:
                    after = signature(applied(found, self._tree(old.entry.request, old.key)))
                except NoFitError:
                    continue
                made.setdefault(after, []).append(old)
        return self._after[found]

    def _extend(self, found: Operations, misses: list[Missed]) -> None:
        """Apply a difference to what the same tests recorded and the run did not come to."""
        tests = {one.test for one in misses}
        group = self._planning.group(found, "", "")
        for old in self._stored.free:
            if old.key in self._taken or str(old.entry.provenance.get("test", "")) not in tests:
                continue
            try:
                request, key = self._altered(old, found)
            except NoFitError:
                continue
            if key in self._taken or self._stored.has(key):
                continue
            contracts = misses[0].contracts
            if not cautions.refusal(found, old.entry.request, request) and not self._regate.refusal(
                old.entries, request, contracts
            ):
                self._taken |= {key, old.key}
                self._add(group, old, request, key, None)

    def _altered(self, old: Stored, found: Operations) -> tuple[Request, str]:
        before = self._tree(old.entry.request, old.key)
        after = applied(found, before)
        if _fits(found, after):
            raise NoFitError  # it could be done for ever
        request = altered(old.entry.request, found, after)
        if signature(tree_of(self._keyer.parts(request, self._days))) != signature(after):
            raise NoFitError
        return request, self._key(request)

    def _add(self, group: Group, old: Stored, request: Request, key: str, missed: Missed | None) -> None:
        for path, entry in old.files:
            scrubbed = missed.scrubbed if missed else tuple(one for one in entry.scrubbed if one.startswith("request"))
            origin = {**entry.provenance, "adopted": {"from": entry.key}}
            if missed and missed.test:
                origin["test"] = missed.test
            new = replace(
                entry,
                request=request,
                key=key,
                key_spec=KeySpec(RECIPE, SCRUB, self._spec.rules),
                provenance=origin,
                scrubbed=(*scrubbed, *(one for one in entry.scrubbed if not one.startswith("request"))),
            )
            group.adoptions.append(Adoption(self._folder, path, new, missed is not None))

    def _tree(self, request: Request, key: str) -> Any:
        if key not in self._trees:
            self._trees[key] = tree_of(self._keyer.parts(request, self._days))
        return self._trees[key]

    def _key(self, request: Request) -> str:
        return self._keyer.key(request, self._days)


def _fits(found: Operations, tree: Any) -> bool:
    try:
        return signature(applied(found, tree)) != signature(tree)
    except NoFitError:
        return False
