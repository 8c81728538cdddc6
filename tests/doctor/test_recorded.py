"""The hazards of one cassette, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetake.doctor.cassettes import Recorded
from onetake.doctor.concurrency import Site
from onetake.doctor.recorded import hazards
from onetake.importers.reading import read
from onetake.vcrwords.matching import DEFAULT


@pytest.fixture
def kinds(tmp_path, cassette):
    """Return a function that writes a cassette and returns its hazards: {kind: message}."""

    def run(*interactions, **how):
        path = tmp_path / "a.yaml"
        path.write_text(cassette(*interactions), encoding="utf-8")
        found = hazards(Recorded(read(path), DEFAULT), **{"may_mix": True, "sites": [], **how})
        return {one.kind.value: one.message for one in found}

    return run


def test_where_bodies_are_compared_only_identical_requests_are_a_hazard(kinds, interaction):
    calls = interaction("a", "x"), interaction("b", "{}"), interaction("a", "y", status=201)
    url = "POST https://api.openai.com/v1/chat/completions"
    repeated = f"{url}: the same request 2 times, 2 different answers, status 200, then 201"
    assert kinds(*calls) == {
        "different-shapes": f"{url}: 2 different bodies, answers of 2 shapes: text | JSON",
        "repeated": repeated,
    }
    assert kinds(*calls, may_mix=False) == {"repeated": repeated}


def test_the_tests_that_run_calls_at_the_same_time_are_named(kinds, interaction):
    sites = [("test_m.py::test_a", Site(Path("app.py"), 3, "asyncio.gather"))]
    found = kinds(interaction("a"), interaction("b"), sites=sites)
    assert found["equal-shapes"].split("\n")[1:] == [
        "opened by test_m.py::test_a, which can run calls at the same time (asyncio.gather)"
    ]


def test_secrets_are_told_by_kind_alone(kinds, interaction):
    found = kinds(interaction(headers={"authorization": ["Bearer a8f3k29dk20dk39dk2"]}))
    assert found == {"secret": "1 × credential"}


def test_a_request_without_a_body(kinds, interaction):
    one = interaction()
    one["request"]["body"] = None
    assert kinds(one, interaction()) == {"no-body": "1 of 2 requests recorded without a body"}
