"""The layouts of vcrpy's files."""

from __future__ import annotations

import pytest

from onetake.importers.layouts import pairs_of

ONE, TWO = {"request": "q1", "response": "a1"}, {"request": "q2", "response": "a2"}


@pytest.mark.parametrize(
    "document",
    [
        {"interactions": [ONE, TWO], "version": 1},
        {"interactions": {"0": ONE, "1": TWO}},
        [ONE, TWO],
    ],
)
def test_interactions_come_in_recorded_order(document):
    assert pairs_of(document) == [("q1", "a1", ONE), ("q2", "a2", TWO)]


def test_requests_beside_responses_go_by_their_places_and_none_is_lost():
    assert pairs_of({"requests": ["q1", "q2"], "responses": ["a1"]}) == [("q1", "a1", {}), ("q2", None, {})]
    assert pairs_of({"requests": [], "responses": ["a1"]}) == [(None, "a1", {})]


@pytest.mark.parametrize("document", [{"interactions": []}, {"interactions": None}, {"interactions": {}}])
def test_a_cassette_may_be_empty(document):
    assert pairs_of(document) == []


def test_an_item_that_is_none_is_an_interaction_without_anything():
    assert pairs_of({"interactions": [7, ONE]}) == [(None, None, {}), ("q1", "a1", ONE)]


@pytest.mark.parametrize("document", [None, 7, "x", [], [1], [ONE, 2], {}, {"interactions": 7}, {"requests": []}])
def test_anything_else_is_no_cassette(document):
    assert pairs_of(document) is None
