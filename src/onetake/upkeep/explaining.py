"""Find the stored requests that a run's misses are now, and by which difference."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from onetake.key import RECIPE, Keyer
from onetake.missed import Missed
from onetake.model import KeySpec, Mode, Request
from onetake.scrub import SCRUB
from onetake.upkeep import cautions, mends
from onetake.upkeep.adoptions import Adoption, Group, Plan, Unexplained
from onetake.upkeep.altering import altered
from onetake.upkeep.operations import Operations, applied, operations, signature, tree_of, widened
from onetake.upkeep.regating import Regate
from onetake.upkeep.rewording import NoFitError
from onetake.upkeep.stored import Stored, StoredRequests

_TRIED = 20
"""Differences that explained others already and are tried on a miss before the nearest request is looked for."""


class Explained:
    """What was found so far, over all cassettes."""

    def __init__(self) -> None:
        self._groups: dict[tuple[Operations, str], Group] = {}
        self._known: dict[Operations, int] = {}
        self._unexplained: list[Unexplained] = []

    @property
    def plan(self) -> Plan:
        """All of it, in order."""
        found = sorted(self._groups.values(), key=lambda group: (bool(group.refused), -len(group.misses)))
        return Plan(tuple(found), tuple(self._unexplained))

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


class CassetteMisses:
    """The misses of one cassette that were keyed by the same rules."""

    def __init__(
        self, found: Explained, folder: Path, stored: StoredRequests, regate: Regate, misses: list[Missed]
    ) -> None:
        self._found = found
        self._folder = folder
        self._stored = stored
        self._regate = regate
        self._misses = misses
        self._spec = misses[0].key_spec
        self._keyer, self._days = Keyer.from_spec(self._spec.rules)
        self._trees: dict[str, Any] = {}
        self._after: dict[Operations, dict[str, list[Stored]]] = {}
        self._done: dict[str, Group] = {}
        self._taken: set[str] = set()
        """Keys of new entries, and of the stored requests that give their answers to them."""
        self._claimed: set[str] = set()
        """Keys of the stored requests that misses come from, those that are refused too."""

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
            self._found.leave(missed, "what was noted of it is of another onetake", "run the tests again")
            return ()
        if missed.key in self._done:  # another test of this cassette asked the same
            self._done[missed.key].misses.append(missed)
            return ()
        tree = self._tree(missed.request, missed.key)
        old, found = self._by_known(tree) or self._by_likeness(missed, tree)
        if old is None:
            why = "nothing that is stored here, and that the run did not use, is like it"
            self._found.leave(missed, why, mends.record_by(missed.test, Mode.NEW_EPISODES))
            return ()
        if not found:
            why = f"{old.path.name} holds the same request, under a key by other rules"
            self._found.leave(missed, why, mends.rekey(self._folder))
            return ()
        self._found.know(found)
        refused = cautions.refusal(found, old.entry.request, missed.request) or self._regate.refusal(
            old.entries, missed.request, missed.contracts
        )
        group = self._found.group(found, refused, missed.test)
        group.misses.append(missed)
        self._done[missed.key] = group
        self._claimed.add(old.key)
        if refused:
            return ()
        self._taken |= {missed.key, old.key}
        self._add(group, old, missed.request, missed.key, missed)
        return found

    def _by_known(self, tree: Any) -> tuple[Stored, Operations] | None:
        wanted = signature(tree)
        for found in self._found.likely():
            for old in self._results(found).get(wanted, ()):
                if old.key not in self._taken:
                    return old, found
        return None

    def _by_likeness(self, missed: Missed, tree: Any) -> tuple[Stored | None, Operations]:
        """Find the request with the same prompt, however much else there is; where there is none, the nearest."""
        same = [old for old in self._by_prompt.get(cautions.prompt(tree), ()) if old.key not in self._taken]
        old = min(same, key=lambda old: len(str(self._steps(old, tree))), default=None)
        old = old or self._stored.nearest(missed, self._taken)
        if old is None:
            return None, ()
        before = self._tree(old.entry.request, old.key)
        found = self._steps(old, tree)
        wide = widened(found)
        try:
            return old, wide if signature(applied(wide, before)) == signature(tree) else found
        except NoFitError:
            return old, found

    def _steps(self, old: Stored, tree: Any) -> Operations:
        return operations(self._tree(old.entry.request, old.key), tree)

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
        group = self._found.group(found, "", "")
        for old in self._stored.free:
            if old.key in self._claimed or str(old.entry.provenance.get("test", "")) not in tests:
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
                self._taken.add(key)
                self._claimed.add(old.key)
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
