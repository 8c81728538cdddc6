"""Every kind of hazard says why it bites and what mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetake.doctor.hazards import MENDS, WHY, Hazard, HazardKind


@pytest.mark.parametrize("kind", HazardKind)
def test_each_says_why_and_how(kind):
    one = Hazard(kind, Path("a.yaml"), 1, "x")
    assert one.why == WHY[kind]
    assert not one.why.endswith(".")
    mends = one.mends("tests/a.yaml")
    assert len(mends) == len(MENDS[kind]) > 0
    assert "{path}" not in " ".join(mends)


def test_the_three_mends_of_calls_that_cannot_be_told_apart():
    first, second, third = Hazard(HazardKind.DIFFERENT_SHAPES, Path("a.yaml"), 1, "x").mends("'a b.yaml'")
    assert first.startswith("onetake import vcr 'a b.yaml'")
    assert "record the cassettes again" in second
    assert "when all of the first have ended" in third
