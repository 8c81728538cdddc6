"""The tests and calls that open cassettes of vcrpy, and which ones these are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath

from onetake.doctor.configurations import Said
from onetake.doctor.modules import Function, Module
from onetake.doctor.values import GAP
from onetake.importers.reading import stem_of

_MOST_GAPS = 4
"""Parts of a name between what cannot be told: of more, only the ends count."""


@dataclass(frozen=True, eq=False)
class Opening:
    """One test, or one call, that opens cassettes.

    Args:
        test: `tests/test_a.py::TestB::test_c`, from the project's folder.
        module: The file.
        line: Of the test, or of the call; for a test that a class has from another one, of the class.
        home: The file that the function stands in.
        function: The function it stands in, None for a call outside of any.
        owner: Its class.
        layers: What is said to vcrpy for it, the weakest first.
        claims: The paths its cassettes may have, without a suffix; `GAP` for what cannot be told.
        marked: True for a marked test, whose plugin says how it records where nothing else does.
    """

    test: str
    module: Module = field(repr=False)
    line: int
    home: Module = field(repr=False)
    function: Function | None = field(repr=False)
    owner: ast.ClassDef | None = field(repr=False)
    layers: tuple[Said, ...] = field(repr=False)
    claims: tuple[str, ...]
    marked: bool

    @property
    def is_vague(self) -> bool:
        """Tell whether nothing is known of the names of its cassettes."""
        return any(not PurePath(claim).name.strip(GAP) for claim in self.claims)

    def opens(self, name: str) -> bool:
        """Tell whether a cassette is one of its own, by what `name_of` gives for it."""
        return any(pattern.fullmatch(name) for pattern in self._patterns)

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(_pattern, self.claims))


class Index:
    """Openings by the names of their cassettes.

    Args:
        openings: All of a project.
    """

    def __init__(self, openings: Iterable[Opening]) -> None:
        self._by_name: dict[str, dict[Opening, None]] = {}
        for one in openings:
            for claim in one.claims:
                name = claim.rpartition("/")[2]
                self._by_name.setdefault("" if GAP in name else name, {})[one] = None

    def opening(self, cassette: Path) -> list[Opening]:
        """Return the openings that a cassette is one of; those that may open any only where no other does."""
        stem = stem_of(cassette)
        names = (stem, stem.partition("[")[0], "")
        found = dict.fromkeys(one for name in names for one in self._by_name.get(name, ()))
        full = name_of(cassette)
        opening = [one for one in found if one.opens(full)]
        return [one for one in opening if not one.is_vague] or opening


def name_of(cassette: Path) -> str:
    """Return the path of a cassette without what tells its format, as claims have it."""
    return (cassette.parent / stem_of(cassette)).as_posix()


def _pattern(claim: str) -> re.Pattern[str]:
    """Return what a cassette's path without its suffix must be: a parametrized test's has its parameters behind it."""
    parts = re.split(f"{GAP}+", claim)
    if len(parts) > _MOST_GAPS:
        parts = [parts[0], parts[-1]]
    spelled = ".*".join(map(re.escape, parts))
    return re.compile(rf"{spelled}(\[.*\])?", re.DOTALL)
