"""The answers to one request go together."""

from __future__ import annotations

from datetime import timedelta

import pytest

from onetake.upkeep.prune.planning import Wanted, plan
from onetake.upkeep.prune.prunable import Reason
from onetake.upkeep.prune.together import together

FOLDER = "cassettes/test_a/test_b"
OLD = Wanted(frozenset({Reason.OLD}), older_than=timedelta(days=90))


@pytest.fixture
def three(folder, answer):
    """Three answers to one request."""
    folder.record(*[("one", answer)] * 3)
    paths = sorted((folder.root / FOLDER).glob("*.json"), key=lambda path: folder.load(path).ordinal)
    assert [folder.load(path).ordinal for path in paths] == [0, 1, 2]
    return paths


def age(folder, *paths):
    for path in paths:
        folder.rewrite(path, recorded_at="2020-01-01T00:00:00Z")


@pytest.mark.parametrize("old", [(0,), (1,), (2,), (0, 1), (1, 2)])
def test_by_age_all_go_or_none(folder, three, old):
    age(folder, *[three[number] for number in old])
    made = plan(folder.root, OLD)
    assert made.entries == []
    assert {one.path for one in made.left} == {three[number] for number in old}
    assert all(one.why.startswith("other answers to its request stay") for one in made.left)
    age(folder, *three)
    assert {one.path for one in plan(folder.root, OLD).entries} == set(three)


def test_one_that_is_pinned_keeps_the_others(folder, three):
    age(folder, *three)
    folder.rewrite(three[2], pinned={})
    made = plan(folder.root, OLD)
    assert (made.entries, {one.path for one in made.left}) == ([], set(three))


@pytest.mark.parametrize(("unused", "going"), [((2,), {2}), ((1, 2), {1, 2}), ((0,), set()), ((0, 2), {2})])
def test_what_a_run_left_goes_from_the_end(folder, three, unused, going):
    age(folder, *three)
    left = [three[number] for number in unused]
    folder.ran(left, [path for path in three if path not in left])
    made = plan(folder.root, Wanted(frozenset({Reason.ORPHAN})))
    assert {one.path for one in made.entries} == {three[number] for number in going}
    assert {one.path for one in made.left} == {*left} - {three[number] for number in going}


def test_a_limit_takes_them_together_or_not_at_all(folder, three):
    age(folder, *three)
    folder.ran(three)
    kept = plan(folder.root, Wanted(frozenset(), most=10**9)).kept
    assert len(plan(folder.root, Wanted(frozenset(), most=kept - 1)).entries) == 3


def test_rejects_are_never_replayed_and_go_alone(folder, three):
    age(folder, *three)
    (first, *_) = plan(folder.root, OLD).entries
    assert together([first], {}) == ([first], [])
