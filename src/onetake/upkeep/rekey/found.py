"""What re-keying finds, and what the user says to it: plain data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from onetake.settings import KeyRules
from onetake.upkeep.rekey.colliding import Collision, Meeting


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user says besides the settings.

    Args:
        added: Key rules of markers or calls, which no file says.
        dropped: Rules that entries hold and that are in force no more.
        first: Files of entries that come first where the order of several is not known, absolute.
    """

    added: KeyRules = field(default_factory=KeyRules)
    dropped: KeyRules = field(default_factory=KeyRules)
    first: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """What becomes of one entry.

    Args:
        path: Its file.
        new_path: Its file under today's rules; the same where it is only scrubbed anew.
        key: The key that is stored.
        ordinal: The ordinal that is stored.
        new_key: The key of today.
        new_ordinal: The ordinal that goes with it.
        spans: Where secrets were found that are scrubbed now.
    """

    path: Path
    new_path: Path
    key: str
    ordinal: int
    new_key: str
    new_ordinal: int
    spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """A file that stays as it is.

    Args:
        path: The file, or a folder that cannot be listed.
        why: What keeps it from being re-keyed.
        mend: What the user may do.
    """

    path: Path
    why: str
    mend: str


@dataclass(slots=True)
class Rekeying:
    """What was found, and done where that was asked for.

    Args:
        moves: The entries that have another key or another text today.
        repeats: Entries that come to one key, and become its ordinals.
        collisions: Entries that would come to one key, and are left.
        left: Files that cannot be re-keyed.
        kept: How many entries keep which rules that the settings do not hold.
        headers: How many entries were recorded before a header counted: whether it was sent is not known.
        entries: How many files there were that are named as entries, or hold one.
        ordered: Files of what the user says comes first that do come to one key with others, absolute.
    """

    moves: list[Move] = field(default_factory=list)
    repeats: list[Meeting] = field(default_factory=list)
    collisions: list[Collision] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)
    headers: Counter[str] = field(default_factory=Counter)
    entries: int = 0
    ordered: set[Path] = field(default_factory=set)
