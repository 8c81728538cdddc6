"""What is kept in mind of files that were examined: not what is in them, so that a process can tell it to another."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetake.upkeep.chains import Chained
from onetake.upkeep.contract_checks import StoredSchema
from onetake.upkeep.findings import Finding
from onetake.upkeep.probe_checks import Served
from onetake.upkeep.successors import Orphan


@dataclass(frozen=True, slots=True)
class Seen:
    """One file of a cassette.

    Args:
        path: The file, as it is reached from where the search started.
        key: Its entry's; of one that cannot be read the 16 hex digits of its name, empty where there are none.
        ordinal: 0 or more.
        size: Bytes of the file.
        findings: What is found of it alone.
    """

    path: Path
    key: str
    ordinal: int
    size: int
    findings: tuple[Finding, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Be pickled with a text for the path: taken apart, as it is else, it takes longer than all the rest."""
        return _seen, (str(self.path), self.key, self.ordinal, self.size, self.findings)


@dataclass(slots=True)
class SeenFolder:
    """One folder, and what of it bears on other folders.

    Args:
        folder: As it is reached from where the search started.
        is_cassette: Whether it holds entries, or sidecars.
        files: Its entries, in the order of their names.
        findings: Of the folder itself, and of several of its files together.
        orphans: Those among its entries.
        chained: Those that hold an old answer of another one.
        served: Which models its entries were served by.
        schemas: Those beside its entries that judged any of them, by digest; without what was told of before.
        is_untold: Whether no run on record tells what was used of it.
    """

    folder: Path
    is_cassette: bool = False
    files: list[Seen] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    orphans: list[Orphan] = field(default_factory=list)
    chained: list[Chained] = field(default_factory=list)
    served: Served = field(default_factory=Served)
    schemas: dict[str, StoredSchema] = field(default_factory=dict)
    is_untold: bool = False


def _seen(path: str, *rest: Any) -> Seen:
    return Seen(Path(path), *rest)
