"""Which stored request gives its answer to a miss: of the same test, in use when it was missed, and the nearest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import product
from typing import Any

from onetake.missed import Missed
from onetake.stores.naming import folder_name
from onetake.upkeep.adopt import allowing
from onetake.upkeep.adopt.operations import Operations, applied, operations, signature
from onetake.upkeep.adopt.rewording import NoFitError
from onetake.upkeep.adopt.stored import Stored, StoredRequests


class Donors:
    """The requests of one cassette that may give their answers to its misses.

    Args:
        stored: Its requests.
        misses: What was missed, all under the same key rules.
        tree: Makes the tree of a stored request under these.
        taken: Keys of those that answer a miss already; grows meanwhile.
    """

    def __init__(
        self, stored: StoredRequests, misses: Iterable[Missed], tree: Callable[[Stored], Any], taken: set[str]
    ) -> None:
        self._stored = stored
        self._tree = tree
        self._taken = taken
        self._tests: dict[str, set[str]] = defaultdict(set)
        self._owned: set[str] = set()
        for one in misses:
            self._tests[one.key].add(one.test)
            if _is_own_folder(one):
                self._owned.add(one.key)
        self._after: dict[Operations, dict[str, list[Stored]]] = {}

    def find(self, missed: Missed, tree: Any, likely: Iterable[Operations]) -> tuple[Stored | None, Operations]:
        """Find the request whose answer a miss may get, and by which difference; None where none is like it.

        What was in use goes before what another had taken the place of, what the same test recorded before what
        others did, the same prompt before the nearest one.

        Args:
            missed: The miss.
            tree: Its tree.
            likely: Differences that explained others.
        """
        if known := self._by_known(missed, tree, likely):
            return known
        same = [old for old in self._by_prompt.get(allowing.prompt(tree), ()) if old.key not in self._taken]
        for is_passed in (False, True):
            for old in self._choices(missed, tree, same, is_passed=is_passed):
                if old is not None:
                    return old, operations(self._tree(old), tree)
        return None, ()

    def is_own(self, old: Stored, key: str) -> bool:
        """Tell whether a request is one of those who missed another: recorded by the same test, or in its own folder.

        Args:
            old: The stored request.
            key: The key of the other.
        """
        tests = {str(entry.provenance.get("test") or "") for entry in old.entries}
        return key in self._owned or tests <= self._tests[key]

    def _choices(self, missed: Missed, tree: Any, same: list[Stored], *, is_passed: bool) -> Iterator[Stored | None]:
        """Yield the best request of each kind, the kinds in the order in which they go before each other."""

        def fits(old: Stored, is_own: bool) -> bool:
            is_free = old.key not in self._taken and self._stored.is_passed(old) is is_passed
            return is_free and self.is_own(old, missed.key) is is_own

        for has_prompt, is_own in product((True, False), (True, False)):
            if has_prompt:
                fit = [old for old in same if fits(old, is_own)]
                yield min(fit, key=lambda old: len(str(operations(self._tree(old), tree))), default=None)
            else:
                yield self._stored.nearest(missed, lambda old, is_own=is_own: fits(old, is_own))  # type: ignore[misc]

    def _by_known(self, missed: Missed, tree: Any, likely: Iterable[Operations]) -> tuple[Stored, Operations] | None:
        wanted = signature(tree)
        for found in likely:
            for old in self._results(found).get(wanted, ()):
                is_in_use = old.key not in self._taken and not self._stored.is_passed(old)
                if is_in_use and self.is_own(old, missed.key):
                    return old, found
        return None

    @cached_property
    def _by_prompt(self) -> dict[str, list[Stored]]:
        found: dict[str, list[Stored]] = {}
        for old in self._stored.free:
            if said := allowing.prompt(self._tree(old)):
                found.setdefault(said, []).append(old)
        return found

    def _results(self, found: Operations) -> dict[str, list[Stored]]:
        """Return what a difference makes of each stored request, and of which."""
        if found not in self._after:
            made = self._after[found] = {}
            for old in self._stored.free:
                try:
                    after = signature(applied(found, self._tree(old)))
                except NoFitError:
                    continue
                made.setdefault(after, []).append(old)
        return self._after[found]


def _is_own_folder(missed: Missed) -> bool:
    """Tell whether the cassette is the test's alone, by its name: one that was renamed is taken along by hand."""
    _, _, name = missed.test.partition("::")
    return bool(name) and missed.folder.name == folder_name(name.replace("::", "."))
