"""Find the stored requests that a run's misses are now, and by which difference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from onetake import explain, key_specs
from onetake.aside import elsewhere, place_of
from onetake.key import Keyer
from onetake.missed import Missed
from onetake.model import Mode, Request
from onetake.printable import one_line
from onetake.upkeep import mends
from onetake.upkeep.adopt import allowing
from onetake.upkeep.adopt.adopting import Adoption, Group
from onetake.upkeep.adopt.allowing import Pair
from onetake.upkeep.adopt.altering import altered
from onetake.upkeep.adopt.donors import Donors
from onetake.upkeep.adopt.explained import Explained
from onetake.upkeep.adopt.operations import Kind, Operations, applied, signature, tree_of, value_at, whole
from onetake.upkeep.adopt.operations import Path as OperationPath
from onetake.upkeep.adopt.regating import Regate
from onetake.upkeep.adopt.rewording import NoFitError
from onetake.upkeep.adopt.stored import Stored, StoredRequests
from onetake.upkeep.projects import Project


class _Carried(NamedTuple):
    """What one miss shows to be done at one place, to do it where the same stands at the same place."""

    group: Group
    found: Operations
    """With texts as wholes: a part of a text is replaced where a miss asks for it, and nowhere else."""
    old: Stored
    missed: Missed


class CassetteMisses:
    """The misses of one cassette that were keyed by the same rules.

    Args:
        found: What was found so far.
        folder: The cassette's.
        project: The settings that count for it.
        stored: Its requests.
        regate: The judge of their answers.
        misses: One or more.
    """

    def __init__(
        self,
        found: Explained,
        folder: Path,
        project: Project,
        stored: StoredRequests,
        regate: Regate,
        misses: list[Missed],
    ) -> None:
        self._found = found
        self._folder = folder
        self._project = project
        self._stored = stored
        self._regate = regate
        self._misses = misses
        self._spec = misses[0].key_spec
        self._keyer, self._days = Keyer.from_spec(self._spec.rules)
        self._trees: dict[str, Any] = {}
        self._by_value: dict[OperationPath, dict[str, list[Stored]]] = {}
        self._done: dict[str, Group] = {}
        self._carried: list[_Carried] = []
        self._taken: set[str] = set()
        """Keys of new entries, and of the stored requests that give their answers to them."""
        self._claimed: set[str] = set()
        """Keys of the stored requests that misses come from, those that are refused too."""
        self._donors = Donors(stored, misses, lambda old: self._tree(old.entry.request, old.key), self._taken)

    def run(self) -> None:
        """Explain each miss, then do what was added or changed whole to what no run came to."""
        for missed in self._misses:
            self._explain(missed)
        done: set[tuple[Operations, str, str]] = set()
        for one in self._carried:
            mark = (
                one.found,
                one.missed.test,
                signature(_place(self._tree(one.old.entry.request, one.old.key), one.found)),
            )
            if mark not in done:
                done.add(mark)
                self._carry(one)

    def _explain(self, missed: Missed) -> None:
        is_current = key_specs.format_age(missed.key_spec) is key_specs.Age.CURRENT
        if not is_current or self._key(missed.request) != missed.key:
            self._found.leave(missed, "what was noted of it is of another onetake", "run the tests again")
            return
        if missed.key in self._done:  # another test of this cassette asked the same
            self._done[missed.key].misses.append(missed)
            return
        tree = self._tree(missed.request, missed.key)
        old, found = self._donors.find(missed, tree, self._found.likely())
        if old is None and (outdated := self._outdated(missed)):
            old, found = outdated, ()
        if old is None:
            self._found.leave(missed, *self._like_nothing(missed))
        elif not found:
            why = f"{old.path.name} holds the same request, under a key by other rules"
            self._found.leave(missed, why, mends.rekey(self._folder))
        else:
            self._take(missed, old, found)

    def _outdated(self, missed: Missed) -> Stored | None:
        """Return the request that `rekey` gives the key of a miss, whatever runs say of it; None where none is."""
        old = self._by_own_key.get(missed.key)
        if old is None:
            return None
        ruled = self._found.ruling(self._project).of(old.entry, self._folder.absolute())
        return old if ruled.keyer.key(old.entry.request, self._days) == missed.key else None

    @cached_property
    def _by_own_key(self) -> dict[str, Stored]:
        """The stored requests by the keys that the rules of these misses give them."""
        return {self._key(one.entry.request): one for one in self._stored.every}

    def _like_nothing(self, missed: Missed) -> tuple[str, str]:
        """Say why a miss is not explained, and what to do: a test that was renamed left its entries behind."""
        record = mends.record_by(missed.test, Mode.NEW_EPISODES, missed.folder)
        root = self._project.settings.root.absolute()
        others = elsewhere(self._folder, missed.key, root)
        if not others:
            return "nothing that is stored here, and that the run did not use, is like it", record
        if missed.test and self._stored.is_empty:
            return explain.stored_in(others), f"{explain.renamed(place_of(self._folder, root))}; else {record}"
        return explain.stored_in(others), record

    def _take(self, missed: Missed, old: Stored, found: Operations) -> None:
        """Adopt the answers of a stored request for a miss, or refuse to."""
        self._found.know(found)
        wholes = whole(found, self._tree(old.entry.request, old.key), self._tree(missed.request, missed.key))
        why, instead = self._refusal(missed, old, wholes)
        group = self._found.group(found, () if why else allowing.cautions(wholes), why, instead)
        group.misses.append(missed)
        self._done[missed.key] = group
        self._claimed.add(old.key)
        if not why:
            self._taken |= {missed.key, old.key}
            self._add(group, old, wholes, missed.request, missed.key, missed)
            self._carried.append(_Carried(group, wholes, old, missed))

    def _refusal(self, missed: Missed, old: Stored, wholes: Operations) -> tuple[str, str]:
        """Say why a miss is not answered by a stored request, and what else may help; empty where it is."""
        if not self._donors.is_own(old, missed.key):
            return _of_another(old), ""
        refused = allowing.refusal(wholes, self._pair(old, missed.request))
        if refused and refused.rules:
            table = f"[{self._project.settings.prefix}key]"
            return refused.why, f"if it is: {refused.rules} in {table}, then {mends.rekey(self._folder)}"
        return refused.why if refused else self._regate.refusal(old.files, missed.request, missed.contracts), ""

    def _pair(self, old: Stored, new: Request) -> Pair:
        body = self._tree(old.entry.request, old.key)["body"].get("json")
        recorded = old.entry.provenance.get("recorded_at")
        return Pair(old.entry.request, new, body, str(recorded or ""), _changed_before(old))

    def _carry(self, one: _Carried) -> None:
        """Do the same, at the same place, to what the same test recorded and the run did not come to."""
        place = _place(self._tree(one.old.entry.request, one.old.key), one.found)
        for old in self._like(one.found):
            is_free = old.key not in self._claimed and not self._stored.is_passed(old)
            if not is_free or str(old.entry.provenance.get("test", "")) != one.missed.test:
                continue
            if _place(self._tree(old.entry.request, old.key), one.found) != place:
                continue
            try:
                request, key = self._altered(old, one.found)
            except NoFitError:
                continue
            if key in self._taken or self._stored.has(key) or allowing.refusal(one.found, self._pair(old, request)):
                continue
            if not self._regate.refusal(old.files, request, one.missed.contracts):
                self._taken.add(key)
                self._claimed.add(old.key)
                self._add(one.group, old, one.found, request, key, None)

    def _like(self, found: Operations) -> Sequence[Stored]:
        """Return the requests that hold what a difference changes, where it changes it; all where it only adds."""
        changed = next((one for one in found if one.kind is not Kind.ADDED), None)
        if changed is None:
            return self._stored.free
        if changed.path not in self._by_value:
            values = self._by_value[changed.path] = {}
            for old in self._stored.free:
                if (value := value_at(self._tree(old.entry.request, old.key), changed.path)) is not None:
                    values.setdefault(signature(value), []).append(old)
        return self._by_value[changed.path].get(changed.old, ())

    def _altered(self, old: Stored, found: Operations) -> tuple[Request, str]:
        after = applied(found, self._tree(old.entry.request, old.key))
        request = altered(old.entry.request, found)
        if signature(tree_of(self._keyer.parts(request, self._days))) != signature(after):
            raise NoFitError
        return request, self._key(request)

    def _add(
        self, group: Group, old: Stored, found: Operations, request: Request, key: str, missed: Missed | None
    ) -> None:
        changed = [one.place for one in found if one.kind is not Kind.ADDED]
        for path, entry in old.files:
            scrubbed = missed.scrubbed if missed else tuple(one for one in entry.scrubbed if one.startswith("request"))
            places = list(dict.fromkeys([*_changed_before(old), *changed]))
            origin = {**entry.provenance, "adopted": {"from": entry.key, **({"changed": places} if places else {})}}
            if missed and missed.test:
                origin["test"] = missed.test
            new = replace(
                entry,
                request=request,
                key=key,
                key_spec=key_specs.current(self._spec.rules),
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


def explain_misses(
    found: Explained, folder: Path, project: Project, stored: StoredRequests, misses: list[Missed]
) -> None:
    """Explain the misses of one cassette, those together that were keyed by the same rules.

    Args:
        found: Where what is found goes.
        folder: The cassette's.
        project: The settings that count for it.
        stored: Its requests.
        misses: One or more.
    """
    for path, why in stored.left:
        found.leave_out(path, why)
    regate = Regate(project, folder)
    by_rules: dict[str, list[Missed]] = {}
    for one in misses:
        by_rules.setdefault(signature(dict(one.key_spec.rules)), []).append(one)
    for same_rules in by_rules.values():
        CassetteMisses(found, folder, project, stored, regate, same_rules).run()


def _changed_before(old: Stored) -> list[str]:
    """Return over which places a stored request's answer was adopted already; none where it was not."""
    said = old.entry.provenance.get("adopted")
    places = said.get("changed") if isinstance(said, dict) else None
    return [str(one) for one in places] if isinstance(places, list) else []


def _of_another(old: Stored) -> str:
    """Say that the answer is one of another test, which may ask for it yet: it did not run, or missed nothing."""
    test = one_line(str(old.entry.provenance.get("test") or ""), 200)
    whose = f"{test} recorded its answer" if test else "nobody knows which test recorded its answer"
    return f"{whose}, and did not miss this: another test is asking"


def _place(tree: Any, found: Operations) -> list[Any]:
    """Return what must be the same for a difference to be one at the same place: the call, and who speaks there."""
    return [tree["method"], tree["origin"], tree["path"], *(list(_roles(tree, one.path)) for one in found)]


def _roles(tree: Any, path: OperationPath) -> Iterator[tuple[str, str]]:
    for depth in range(len(path)):
        value = value_at(tree, path[:depth])
        if isinstance(value, dict):
            yield str(value.get("role", "")), str(value.get("type", ""))
