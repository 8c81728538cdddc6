"""Cassettes as work to be shared: a large one is examined in parts, by whoever is free, and joined again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from onetake.cassette_files import Listed
from onetake.stores.naming import Slot, parse_name
from onetake.upkeep.chains import Chains
from onetake.upkeep.contract_checks import StoredSchema
from onetake.upkeep.holding import own_files
from onetake.upkeep.orphans import SeenUse
from onetake.upkeep.probe_checks import Served
from onetake.upkeep.seen import Seen
from onetake.upkeep.together import Together

FILES = 500
"""Files of one cassette that a process examines at a time, where several share the work."""


class Own(NamedTuple):
    """The files of a large cassette.

    Args:
        paths: All of them, in the order of their names.
        first: The first of them by what a name says.
    """

    paths: tuple[Path, ...]
    first: dict[Slot, Path]


@dataclass(frozen=True, slots=True)
class Part:
    """A folder to be examined, or some files of one that is large.

    Args:
        listed: The folder.
        own: All files of a large one; None where it is to be examined as a whole.
        start: The number of the first file of the part.
    """

    listed: Listed
    own: Own | None = None
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
        return self.own is None or self.start + FILES >= len(self.own.paths)

    @property
    def weight(self) -> int:
        """How many files it is, about."""
        if self.own is None:
            return sum(name.endswith(".json") for name in self.listed.names)
        return len(self.own.paths[self.files])


def parts_of(folders: Iterable[Listed]) -> Iterator[Part]:
    """Yield the work on folders, in their order; a large cassette comes in parts."""
    for listed in folders:
        whole = Part(listed)
        paths = own_files(listed) if whole.weight >= 2 * FILES else ()
        if len(paths) < 2 * FILES:
            yield whole
            continue
        slots = ((parse_name(path.name), path) for path in reversed(paths))
        own = Own(paths, {slot: path for slot, path in slots if slot})
        yield from (Part(listed, own, start) for start in range(0, len(paths), FILES))


@dataclass(slots=True)
class Gathered:
    """What is found of a part of a cassette, and all that bears on the rest; a process can tell it to another.

    Args:
        files: Those of the part, in the order of their names.
        together: What of them bears on each other.
        use: What is known of their use.
        chains: Their conversations.
        served: Which models their entries were served by.
        schemas: Those beside the entries that judged any of them, by digest; without what was told of before.
    """

    together: Together
    use: SeenUse
    chains: Chains
    files: list[Seen] = field(default_factory=list)
    served: Served = field(default_factory=Served)
    schemas: dict[str, StoredSchema] = field(default_factory=dict)
