"""What is wrong with the files of one cassette together; it may be gathered in parts, by several processes."""

from __future__ import annotations

from collections.abc import Iterator

from onetake.stores.naming import Slot
from onetake.upkeep.cassette_checks import Ordinals, Repeated, check_sides
from onetake.upkeep.findings import Finding
from onetake.upkeep.holding import Held, Holding, digests_in
from onetake.upkeep.imported_checks import Imported
from onetake.upkeep.projects import Project, Schemas


class Together:
    """What of the files of one cassette bears on others of it; not what is in them, so that a process can tell it."""

    def __init__(self) -> None:
        self._slots: set[Slot] = set()
        self._repeated, self._ordinals, self._imported = Repeated(), Ordinals(), Imported()
        self._from_tests: set[str] = set()
        self._named: set[str] | None = set()

    def add(self, held: Held, *, is_known: bool, is_of_today: bool, has_sides: bool) -> None:
        """Take a file in; of several whose names say the same only the first is ever read under it.

        Args:
            held: The next file, in the order of their names.
            is_known: Whether its entry is what it says it is, or was, under an older recipe.
            is_of_today: Whether that was keyed by the very rules that the settings hold.
            has_sides: Whether sidecars lie in the cassette.
        """
        entry, is_first = held.entry, held.slot is None or held.slot not in self._slots
        if held.slot:
            self._slots.add(held.slot)
        self._ordinals.add(held)
        if entry is None:
            self._named = None
            return
        if self._named is not None and has_sides:
            self._named |= digests_in(held.data)
        if entry.provenance.get("test"):
            self._from_tests.add(entry.key)
        if is_first:
            self._repeated.add(held, entry)
        if is_known:
            self._imported.add(held, entry, is_of_today=is_of_today)

    def join(self, later: Together) -> None:
        """Take in what another process says of files of the same cassette, whose names come behind these."""
        self._ordinals.join(later._ordinals)
        self._repeated.join(later._repeated, self._slots)
        self._imported.join(later._imported)
        self._slots |= later._slots
        self._from_tests |= later._from_tests
        self._named = None if self._named is None or later._named is None else self._named | later._named

    def check(self, holding: Holding, project: Project, schemas: Schemas) -> Iterator[Finding]:
        """Say what is wrong, once all files were taken in.

        Args:
            holding: The cassette.
            project: Its own.
            schemas: Those read so far.
        """
        yield from self._repeated.check(holding.folder, project, self._from_tests)
        yield from self._ordinals.check(holding.folder)
        yield from self._imported.check()
        yield from check_sides(holding, self._named, schemas)
