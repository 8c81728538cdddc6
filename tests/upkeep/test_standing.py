"""How an entry stands to today's contract: every combination has one answer, and the worst wins."""

from __future__ import annotations

from itertools import product

import pytest

from onetake.model import ContractRef
from onetake.upkeep.standing import Standing, Today, standing

OLD, NEW = "a" * 64, "b" * 64


def stored(watch=None):
    return ContractRef("items", 1, "c" * 64, watch)


@pytest.mark.parametrize(
    ("ref", "today", "expected"),
    [
        (None, Today(), Standing.GOOD),
        (None, Today(refused="violation"), Standing.BREAKS),
        (None, Today(version=2, watch=NEW), Standing.GOOD),
        (stored(), Today(version=1), Standing.GOOD),
        (stored(), Today(version=2), Standing.BUMPED),
        (stored(), Today(version=2, refused="violation"), Standing.BUMPED),
        (stored(), Today(version=1, watch=NEW), Standing.PREDATES),
        (stored(OLD), Today(version=1, watch=NEW), Standing.PREDATES),
        (stored(OLD), Today(version=1, watch=NEW, refused="length"), Standing.BREAKS),
        (stored(OLD), Today(version=1, watch=OLD), Standing.GOOD),
        (stored(OLD), Today(version=1), Standing.GOOD),
        (stored(OLD), Today(), Standing.GOOD),
    ],
)
def test_the_worst_that_holds(ref, today, expected):
    assert standing(ref, today) is expected


def test_every_combination_has_an_answer():
    refs = (None, stored(), stored(OLD))
    todays = [Today(*parts) for parts in product((None, 1, 2), (None, OLD, NEW), ("", "violation"))]
    assert {standing(ref, today) for ref in refs for today in todays} == set(Standing)
