"""Write what was judged into a cassette: in recorded order, never over an entry, and a second time nothing at all."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from onetake.cassette import Cassette, Damaged
from onetake.contract import Contract
from onetake.errors import FormatError
from onetake.imported import Origin, origin
from onetake.importers.judging import Judged, Outcome
from onetake.interactions import schema_of
from onetake.model import Entry
from onetake.scrub.scanning import Finding, scan
from onetake.stores import open_store
from onetake.stores.naming import entry_name
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


class Target:
    """One cassette that is imported into.

    Args:
        folder: Where it lies; it need not exist.
        place: What messages call it.
        contracts: Those that judged, for the schemas beside the entries.
        writes: False only says what would be done.
    """

    def __init__(self, folder: Path, place: str, contracts: tuple[Contract, ...], *, writes: bool) -> None:
        self._cassette = Cassette(open_store(folder, place))
        self._place = place
        self._contracts = contracts
        self._writes = writes
        self._next: Counter[str] = Counter()
        self._stored: dict[str, dict[int, Entry | Damaged | None]] = {}

    def place(self, judged: Judged) -> Placed:
        """Give an interaction its place among its equals: the next ordinal, in the order in which they are placed.

        Raises:
            StoreError: The cassette cannot be listed or written.
        """
        entry = judged.entry
        if entry is None:
            return Placed(judged)
        stored = self._held(entry.key)
        came = origin(entry)
        for ordinal, other in stored.items():
            if isinstance(other, Entry) and origin(other) == came:
                return self._met(judged, entry, other, ordinal)
        ordinal = self._next[entry.key]
        if ordinal not in stored:
            return self._added(judged, replace(entry, ordinal=ordinal))
        other = stored[ordinal]
        if isinstance(other, Entry) and _is_same(other, entry):
            return self._met(judged, entry, other, ordinal)
        why = _taken(other, came)
        return Placed(_refused(f"{why}: {self._name(entry, ordinal)}"))

    def _met(self, judged: Judged, entry: Entry, other: Entry, ordinal: int) -> Placed:
        self._next[entry.key] = max(self._next[entry.key], ordinal + 1)
        name = self._cassette.store.locate(entry.key, ordinal)
        if _is_same(other, entry):
            return Placed(judged, name, was_there=True)
        return Placed(_refused(f"it was imported before, with other content: remove {name} to import it anew"))

    def _added(self, judged: Judged, entry: Entry) -> Placed:
        try:
            if self._writes:
                if not self._cassette.add(entry, schema_of(entry, self._contracts)):
                    return Placed(_refused("another process wrote an entry in its place: import again"))
            else:
                looked_over(entry)
        except SecretLeftError as error:
            return Placed(_refused(f"it keeps a secret that cannot be scrubbed: {_kinds(error.args[0])}"))
        except FormatError as error:
            return Placed(_refused(str(error)))
        self._next[entry.key] += 1
        return Placed(replace(judged, entry=entry), self._name(entry, entry.ordinal))

    def _held(self, key: str) -> dict[int, Entry | Damaged | None]:
        """Return what the cassette held under a key before this import."""
        if key not in self._stored:
            ordinals = sorted(self._cassette.ordinals(key))
            self._stored[key] = {ordinal: self._cassette.load(key, ordinal) for ordinal in ordinals}
        return self._stored[key]

    def _name(self, entry: Entry, ordinal: int) -> str:
        return f"{self._place}/{entry_name(entry.key, ordinal, decoration(entry))}"


def _refused(why: str) -> Judged:
    return Judged(Outcome.REFUSED, why)


def _is_same(stored: Entry, new: Entry) -> bool:
    """Tell whether two entries give the same answer to the same request."""
    return (stored.request, stored.response, stored.verdict) == (new.request, new.response, new.verdict)


def _taken(other: Entry | Damaged | None, came: Origin | None) -> str:
    """Say what lies where an entry belongs."""
    if not isinstance(other, Entry):
        return "an entry that cannot be read lies in its place"
    before = origin(other)
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
