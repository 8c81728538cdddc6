"""Cassettes as work to be shared: a large one is examined in parts, by whoever is free, and joined again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from onetake.cassette_files import Listed
from onetake.upkeep.contract_checks import StoredSchema
from onetake.upkeep.holding import own_files
from onetake.upkeep.orphans import SeenUse
from onetake.upkeep.probe_checks import Served
from onetake.upkeep.seen import Seen
from onetake.upkeep.spoken import Kept
from onetake.upkeep.together import Together

FILES = 500
"""Files of one cassette that a process examines at a time, where several share the work."""


@dataclass(frozen=True, slots=True)
class Part:
    """A folder to be examined, or some files of one that is large.

    Args:
        listed: The folder.
        own: The paths of all files of a large one; None where it is to be examined as a whole.
        start: The number of the first file of the part.
    """

    listed: Listed
    own: tuple[Path, ...] | None = None
    start: int = 0

    @property
    def files(self) -> slice:
        """Which of the cassette's own files it is, by number."""
        return slice(None) if self.own is None else slice(self.start, self.start + FILES)

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the folder."""
        return self.own is None

    @property
    def is_last(self) -> bool:
        """Whether no other part of the folder comes behind it."""
        return self.own is None or self.start + FILES >= len(self.own)

    @property
    def weight(self) -> int:
        """How many files it is, about."""
        if self.own is None:
            return sum(name.endswith(".json") for name in self.listed.names)
        return len(self.own[self.files])


def parts_of(folders: Iterable[Listed]) -> Iterator[Part]:
    """Yield the work on folders, in their order; a large cassette comes in parts."""
    for listed in folders:
        whole = Part(listed)
        own = own_files(listed) if whole.weight >= 2 * FILES else ()
        if len(own) < 2 * FILES:
            yield whole
        else:
            yield from (Part(listed, own, start) for start in range(0, len(own), FILES))


@dataclass(slots=True)
class Gathered:
    """What is found of a part of a cassette, and all that bears on the rest; a process can tell it to another.

    Args:
        folder: The cassette's.
        files: Those of the part, in the order of their names.
        together: What of them bears on each other.
        use: What is known of their use.
        kept: Their conversations.
        served: Which models their entries were served by.
        schemas: Those beside the entries that judged any of them, by digest; without what was told of before.
    """

    folder: Path
    together: Together
    use: SeenUse
    kept: list[Kept]
    files: list[Seen] = field(default_factory=list)
    served: Served = field(default_factory=Served)
    schemas: dict[str, StoredSchema] = field(default_factory=dict)
