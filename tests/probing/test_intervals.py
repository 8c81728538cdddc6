"""What a sample says of the whole."""

import math

import pytest

from onetake.probing.intervals import wilson


@pytest.mark.parametrize(("hits", "of"), [(3, 20), (1, 10), (5, 10), (19, 20), (1, 1000)])
def test_at_its_ends_the_sample_is_just_as_far_as_95_in_100_are(hits, of):
    low, high = wilson(hits, of)
    assert low < hits / of < high
    for share in (low, high):
        assert abs(hits / of - share) == pytest.approx(1.959964 * math.sqrt(share * (1 - share) / of))


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    # Source: the Wilson intervals of these counts, as statistics packages give them.
    [(0, 0, 0.0, 1.0), (0, 20, 0.0, 0.1611), (1, 20, 0.0089, 0.2361), (10, 20, 0.2993, 0.7007), (20, 20, 0.8389, 1.0)],
)
def test_the_interval(hits, of, low, high):
    assert wilson(hits, of) == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_its_outer_ends_are_exact():
    assert all(wilson(0, of)[0] == 0.0 and wilson(of, of)[1] == 1.0 for of in range(1, 100))
