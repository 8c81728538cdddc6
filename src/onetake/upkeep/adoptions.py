"""What there is to adopt: plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from onetake.missed import Missed
from onetake.model import Entry
from onetake.printable import one_line
from onetake.upkeep.operations import Operations


@dataclass(frozen=True, slots=True)
class Adoption:
    """One entry that may be adopted.

    Args:
        folder: The cassette's.
        old: The file of the entry that has the answer.
        entry: The new one.
        missed: True where a run asked for it; False where none came so far, and the same difference applies.
    """

    folder: Path
    old: Path
    entry: Entry
    missed: bool


@dataclass(slots=True)
class Group:
    """Misses that one difference explains.

    Args:
        operations: The difference: what to do to the old requests.
        refused: Why none of it may be adopted; empty where it may.
        cautions: What to know before it is.
        mend: What to do instead, where it is refused.
        misses: What was missed.
        adoptions: What would be written.
    """

    operations: Operations
    refused: str
    cautions: tuple[str, ...]
    mend: str
    misses: list[Missed] = field(default_factory=list)
    adoptions: list[Adoption] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What it is called in every run: 8 hex digits of what it is."""
        return sha256(f"{self.operations!r}\0{self.refused}".encode("utf-8", "surrogatepass")).hexdigest()[:8]

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests that missed, each once."""
        return tuple(dict.fromkeys(one.test for one in self.misses if one.test))

    @property
    def reason(self) -> str:
        """The difference in one line."""
        return one_line("; ".join(map(str, self.operations)), 300)


@dataclass(frozen=True, slots=True)
class Unexplained:
    """A miss that no stored request explains.

    Args:
        missed: It.
        why: What is in the way.
        mend: What to do.
    """

    missed: Missed
    why: str
    mend: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to adopt.

    Args:
        groups: Those that explain the most first; refused ones last.
        unexplained: What is left.
    """

    groups: tuple[Group, ...]
    unexplained: tuple[Unexplained, ...]
