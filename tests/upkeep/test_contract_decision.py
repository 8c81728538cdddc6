"""How an entry stands to today's contract: every combination has one answer, and the worst wins."""

from __future__ import annotations

from itertools import product

import pytest

from onetake.model import ContractRef
from onetake.upkeep.contract_decision import Standing, Today, standing, vouched_under

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
        (stored(OLD), Today(version=1, watch=""), Standing.PREDATES),
        (stored(), Today(version=1, watch=""), Standing.PREDATES),
        (stored(OLD), Today(), Standing.GOOD),
    ],
)
def test_the_worst_that_holds(ref, today, expected):
    assert standing(ref, today) is expected


@pytest.mark.parametrize(
    ("ref", "today", "vouched", "expected"),
    [
        (stored(OLD), Today(version=1, watch=NEW), NEW, Standing.GOOD),
        (stored(), Today(version=1, watch=NEW), NEW, Standing.GOOD),
        (stored(OLD), Today(version=1, watch=NEW), OLD, Standing.PREDATES),
        (stored(NEW), Today(version=1, watch=NEW), OLD, Standing.GOOD),
        (stored(OLD), Today(version=2, watch=NEW), NEW, Standing.BUMPED),
        (stored(OLD), Today(version=1, watch=NEW, refused="length"), NEW, Standing.BREAKS),
    ],
)
def test_a_vouch_counts_for_the_parser_alone(ref, today, vouched, expected):
    assert standing(ref, today, vouched) is expected


@pytest.mark.parametrize("vouched", [None, 7, "x", [], {}, {"watch": 7}, {"watch": None}, {"watch": ""}])
def test_a_note_that_is_none_vouches_for_nothing(vouched):
    assert vouched_under({"vouched": vouched}) is None
    assert vouched_under({}) is None


def test_every_combination_has_an_answer():
    refs = (None, stored(), stored(OLD))
    todays = [Today(*parts) for parts in product((None, 1, 2), (None, OLD, NEW), ("", "violation"))]
    assert {standing(ref, today) for ref in refs for today in todays} == set(Standing)
