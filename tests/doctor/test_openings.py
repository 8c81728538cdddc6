"""Openings by the names of their cassettes."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetake.doctor.openings import Index, Opening, name_of
from onetake.doctor.values import GAP


def opening(*claims):
    return Opening("test_a", None, 1, None, None, None, (), claims, True)


@pytest.mark.parametrize(
    ("claim", "cassette", "is_one"),
    [
        ("/p/a", "/p/a.yaml", True),
        ("/p/a", "/p/a.yaml.gz", True),
        ("/p/a", "/p/a.JSON", True),
        ("/p/a", "/p/a[x.y].yaml", True),
        ("/p/a", "/p/ab.yaml", False),
        ("/p/a", "/q/a.yaml", False),
        (f"/p/a-{GAP}-c", "/p/a-b-c.yaml", True),
        (f"/p/{GAP}/a", "/p/q/r/a.yaml", True),
        (f"/p/{GAP}/a", "/p/q/b.yaml", False),
    ],
)
def test_a_claim_is_the_path_of_a_cassette_without_its_ending(claim, cassette, is_one):
    one = opening(claim)
    assert one.opens(name_of(Path(cassette))) is is_one
    assert Index([one]).opening(Path(cassette)) == ([one] if is_one else [])


def test_one_whose_name_has_nothing_that_is_known_is_vague_and_counts_where_no_other_does():
    vague, known = opening(f"/p/{GAP}"), opening("/p/a")
    assert (vague.is_vague, known.is_vague) == (True, False)
    index = Index([vague, known])
    assert index.opening(Path("/p/a.yaml")) == [known]
    assert index.opening(Path("/p/b.yaml")) == [vague]
