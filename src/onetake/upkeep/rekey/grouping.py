"""Entries that come to one key together, and where each of them goes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from onetake.stores.naming import entry_name
from onetake.upkeep.rekey.colliding import Meeting, Mover, Resident, meeting
from onetake.upkeep.rekey.found import Move, Rekeying


@dataclass(frozen=True, slots=True)
class Group:
    """Entries that come to one key; or one that keeps its key, scrubbed anew.

    Args:
        key: The key of today.
        members: Each entry with the ordinal that it gets, 0 or more.
        met: What is told of them, where they were of several keys, or others have the key already; else None.
    """

    key: str
    members: tuple[tuple[Mover, int], ...]
    met: Meeting | None = None

    def told(self) -> list[Move]:
        """Return what becomes of them."""
        return [
            Move(
                path=one.path,
                new_path=self._place(one, ordinal),
                key=one.key,
                ordinal=one.ordinal,
                new_key=self.key,
                new_ordinal=ordinal,
                spans=one.spans,
            )
            for one, ordinal in self.members
        ]

    def _place(self, one: Mover, ordinal: int) -> Path:
        """Return the file that an entry gets; one that keeps its key is written over, whatever it is called."""
        return one.path if one.key == self.key else one.path.with_name(entry_name(self.key, ordinal, one.label))


def group_of(key: str, members: Sequence[tuple[Mover, int]], residents: Iterable[Resident]) -> Group:
    """Return the group of entries that come to a key.

    Args:
        key: It.
        members: Each with the ordinal that it gets; one or more.
        residents: Those that have the key.
    """
    foreign = [one for one in residents if one.mover is None]
    coming = [one for one, _ in sorted(members, key=lambda pair: pair[1])]
    several = bool(foreign) or len({one.key for one in coming}) > 1
    return Group(key, tuple(members), meeting(coming, foreign) if several else None)


def note(group: Group, found: Rekeying) -> None:
    """Take down what becomes of a group."""
    found.moves += group.told()
    found.repeats += [group.met] if group.met else []
