from __future__ import annotations

import pytest

from onetake.compare.likeness import apart, same


def nested(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        (None, False, False),
        ("1", 1, False),
        (2**70, float(2**70), True),
        (2**70 + 1, float(2**70), False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ([1, [2, {"x": True}]], [1, [2, {"x": True}]], True),
        ([1, [2, {"x": True}]], [1, [2, {"x": 1}]], False),
        ([1, 2], [2, 1], False),
        ([], {}, False),
    ],
)
def test_same_is_equality_by_value_that_tells_true_from_one(a, b, equal):
    assert same(a, b) is equal
    assert same(b, a) is equal


def test_same_compares_any_depth():
    assert same(nested(50_000, 1), nested(50_000, 1.0))
    assert not same(nested(50_000, 1), nested(50_000, True))


@pytest.mark.parametrize(
    ("a", "b", "far"),
    [
        ("equal", "equal", 0),
        ("x" * 500 + "A" + "y" * 500, "x" * 500 + "B" + "y" * 500, 8),
        ("x" * 100, "y" * 30, 100),
        (0.1, 0.2, 8),
        (1, "1", 8),
        ({"a": 1}, {"a": 1, "b": "w" * 20}, 20),
        ({"a": 1}, {"a": 2}, 8),
        (["a", "b", "c"], ["a", "new", "b", "c"], 8),
        (["a", "b", "c"], ["c", "b", "a"], 3),
        ([{"t": "x" * 40}, "end"], [{"t": "x" * 10 + "y" * 30}, "end"], 30),
    ],
)
def test_apart_counts_the_characters_that_differ(a, b, far):
    assert apart(a, b) == far
    assert apart(b, a) == far


def test_apart_estimates_what_is_beyond_its_visits():
    a, b = ([f"{i:020}{side}" for i in range(100_000)] for side in "ab")
    looked_into, beyond = 199 * 8, 2 * (99 * 21 + (100_000 - 199 - 99) * 8)
    assert apart(a, b) == looked_into + beyond
    assert apart(a, list(a)) == 0
