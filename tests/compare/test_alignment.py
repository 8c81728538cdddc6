from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.compare.alignment import common_places


@pytest.mark.parametrize(
    ("a", "b", "places"),
    [
        ("", "", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("aXbc", "abc", [(0, 0), (2, 1), (3, 2)]),
        ("abc", "xyz", []),
        ("xAxB", "AxB", [(1, 0), (2, 1), (3, 2)]),
        ("ba", "ab", [(1, 0)]),
    ],
)
def test_shared_tokens_are_found_in_order(a, b, places):
    assert common_places(a, b) == places


@given(st.text("abc", max_size=8), st.text("abc", max_size=8))
def test_the_result_is_a_longest_common_subsequence(a, b):
    @cache
    def longest(i, j):
        if i == len(a) or j == len(b):
            return 0
        return longest(i + 1, j + 1) + 1 if a[i] == b[j] else max(longest(i + 1, j), longest(i, j + 1))

    found = common_places(a, b)
    assert len(found) == longest(0, 0)
    assert all(a[i] == b[j] for i, j in found)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in pairwise(found))


def test_ten_thousand_equal_items_are_only_matched_near_their_place():
    zeros = ["0"] * 10_000
    assert common_places(["1", *zeros], [*zeros, "2"])[:2] == [(1, 0), (2, 1)]
