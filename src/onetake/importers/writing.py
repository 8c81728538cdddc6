"""Write what was judged into a cassette: in recorded order, never over an entry, and a second time nothing at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from onetake.cassette import Cassette, Damaged
from onetake.contract import Contract
from onetake.errors import FormatError
from onetake.imported import ImportedFrom, imported_from
from onetake.importers.judging import Judged, Outcome
from onetake.interactions import schema_of
from onetake.model import Entry
from onetake.scrub.scanning import Finding, scan
from onetake.stores import open_store
from onetake.stores.naming import Slot, entry_name
from onetake.writing import SecretLeftError, decoration, looked_over


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of a judged interaction."""

    judged: Judged
    """With its ordinal, or refused after all."""
    entry: str = ""
    """The path of its entry; empty where it has none."""
    was_there: bool = False
    """Whether it had been imported before."""


class _Held:
    """What a cassette holds under one key."""

    def __init__(self, stored: dict[int, Entry | Damaged | None]) -> None:
        self.stored = stored
        entries = ((ordinal, entry) for ordinal, entry in stored.items() if isinstance(entry, Entry))
        self.places = {imported_from(entry): ordinal for ordinal, entry in reversed([*entries])}
        self.places.pop(None, None)


class Target:
    """One cassette that is imported into.

    Args:
        folder: Where it lies; it need not exist.
        place: What messages call it.
        contracts: Those that judged, for the schemas beside the entries.
        writes: False only says what would be done.
    """

    def __init__(self, folder: Path, place: str, contracts: tuple[Contract, ...], *, writes: bool) -> None:
        self._store = open_store(folder, place)
        self._place = place
        self._contracts = contracts
        self._writes = writes
        self._next: Counter[str] = Counter()
        self._held: dict[str, _Held] = {}

    @cached_property
    def _cassette(self) -> Cassette:
        return Cassette(self._store)

    @cached_property
    def _imported(self) -> dict[ImportedFrom | None, Slot]:
        """What was imported before this import, under whatever key, by where it comes from."""
        stored = () if self.was_empty else self._cassette.all()
        entries = ((key, ordinal, one) for key, ordinal, one in stored if isinstance(one, Entry))
        return {came: (key, ordinal) for key, ordinal, one in entries if (came := imported_from(one))}

    @property
    def was_empty(self) -> bool:
        """Tell whether it held nothing before this import; raises as `place` does."""
        return self._cassette.was_empty

    def place(self, judged: Judged) -> Placed:
        """Give an interaction its place among its equals: the next ordinal, in the order in which they are placed.

        Raises:
            StoreError: The cassette cannot be listed or written.
        """
        entry = judged.entry
        if entry is None:
            return Placed(judged)
        if (found := self._met(judged, entry)) is not None:
            return found
        ordinal = self._next[entry.key]
        if ordinal in self._of(entry.key).stored:
            return self._beside(judged, entry, ordinal)
        return self._added(judged, replace(entry, ordinal=ordinal))

    def find(self, judged: Judged) -> Placed | None:
        """Return an interaction as it was imported before; None where it was not, or with other content.

        Raises as `place` does.
        """
        found = self._met(judged, judged.entry) if judged.entry else None
        return found if found and found.was_there else None

    def _met(self, judged: Judged, entry: Entry) -> Placed | None:
        held = self._of(entry.key)
        ordinal = held.places.get(imported_from(entry))
        if ordinal is None:
            return self._elsewhere(entry)
        self._next[entry.key] = max(self._next[entry.key], ordinal + 1)
        other = held.stored[ordinal]
        if isinstance(other, Entry) and _is_same(other, entry):
            return self._there(judged, other)
        name = self._cassette.store.locate(entry.key, ordinal)
        why = "it, or another project's file of this name, was imported before with other content"
        return Placed(_refused(f"{why}: remove {name} to import it anew, or import it under another folder"))

    def _elsewhere(self, entry: Entry) -> Placed | None:
        """Refuse what was imported before under another key; where only the rules of keys moved, it may come again."""
        before = self._imported.get(imported_from(entry))
        if before is None or _differs_by_rules(self._cassette.load(*before), entry):
            return None
        why = f"it was imported before as another request, in {self._store.locate(*before)}"
        return Placed(_refused(f"{why}: remove that to import it anew, or import it under another folder"))

    def _beside(self, judged: Judged, entry: Entry, ordinal: int) -> Placed:
        """Say what becomes of an interaction in whose place there is an entry of somebody else's."""
        other = self._of(entry.key).stored[ordinal]
        if isinstance(other, Entry) and _is_same(other, entry):
            self._next[entry.key] = ordinal + 1
            return self._there(judged, other)
        return Placed(_refused(f"{_taken(other, imported_from(entry))}: {self._name(entry, ordinal)}"))

    def _there(self, judged: Judged, stored: Entry) -> Placed:
        name = self._cassette.store.locate(stored.key, stored.ordinal)
        return Placed(replace(judged, reason=stored.verdict, entry=stored), name, was_there=True)

    def _added(self, judged: Judged, entry: Entry) -> Placed:
        try:
            if not self._writes:
                looked_over(entry)
            elif not self._cassette.add(entry, schema_of(entry, self._contracts)):
                return self._overtaken(judged, entry)
        except SecretLeftError as error:
            return Placed(_refused(f"it keeps a secret that cannot be scrubbed: {_kinds(error.args[0])}"))
        except FormatError as error:
            return Placed(_refused(str(error)))
        self._next[entry.key] += 1
        before = self._imported.pop(imported_from(entry), None)
        if before and self._writes:  # now it has the key of today's rules
            self._store.delete(*before)
            self._held = {key: held for key, held in self._held.items() if not key.startswith(before[0][:16])}
        return Placed(replace(judged, entry=entry), self._name(entry, entry.ordinal))

    def _overtaken(self, judged: Judged, entry: Entry) -> Placed:
        """Say what becomes of an interaction in whose place another process wrote meanwhile, maybe the same one."""
        del self._held[entry.key]
        if entry.ordinal not in self._of(entry.key).stored:
            return Placed(_refused("another process wrote an entry in its place: import again"))
        return self._met(judged, entry) or self._beside(judged, entry, entry.ordinal)

    def _of(self, key: str) -> _Held:
        """Return what the cassette held under a key when it was first asked for in this import."""
        if key not in self._held:
            ordinals = sorted(self._cassette.ordinals(key))
            self._held[key] = _Held({ordinal: self._cassette.load(key, ordinal) for ordinal in ordinals})
        return self._held[key]

    def _name(self, entry: Entry, ordinal: int) -> str:
        return f"{self._place}/{entry_name(entry.key, ordinal, decoration(entry))}"


def _refused(why: str) -> Judged:
    return Judged(Outcome.REFUSED, why)


def _is_same(stored: Entry, new: Entry) -> bool:
    """Tell whether two entries give the same answer to the same request, whatever was thought of it."""
    return (stored.request, stored.response) == (new.request, new.response)


def _differs_by_rules(stored: Entry | Damaged | None, new: Entry) -> bool:
    """Tell whether two entries of one interaction differ at most in the headers that count in the key."""
    if not isinstance(stored, Entry):
        return False
    asked = [(one.method, one.url, one.body) for one in (stored.request, new.request)]
    return asked[0] == asked[1] and stored.response == new.response


def _taken(other: Entry | Damaged | None, came: ImportedFrom | None) -> str:
    """Say what lies where an entry belongs."""
    if not isinstance(other, Entry):
        return "an entry that cannot be read lies in its place"
    before = imported_from(other)
    if before and came and before.file == came.file:
        later = "what was recorded after it was imported without it"
        return f"{later}: remove the cassette's entries, and import all of them again, to have them in recorded order"
    return "another answer to the same request lies in its place"


def _kinds(findings: list[Finding]) -> str:
    """Say what was found and where, without a place that is itself the secret."""
    found = {
        one.kind if scan(one.where.encode("utf-8", "replace")) else f"{one.kind} at {one.where}" for one in findings[:8]
    }
    return ", ".join(sorted(found))
