"""A verdict counts only where the gate gives it to such a response."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake import verdicts
from onetake.model import Cut, Response
from onetake.settings_values import BAD


@pytest.fixture
def entry(direct):
    talk = direct()
    talk.call("q", "an answer")
    return talk.entries()[0]


@pytest.mark.parametrize(
    "verdict",
    [
        *("", "good:", "good:x", "Good", "splendid", "kept", "kept:", "kept:nonsense", "kept:violation:x", "kept:json"),
        *("kept:status", "kept:status:", "kept:status:abc", "kept:status:200", "kept:status:4xx"),
        *("left", "left:", "left:abc", "left:-5", "left:99999", "left: 5", "reject", "reject:"),
    ],
)
def test_what_the_gate_never_says_of_a_whole_answer_is_no_verdict(entry, verdict):
    assert verdicts.is_given(entry)
    assert not verdicts.is_given(replace(entry, verdict=verdict))


@pytest.mark.parametrize("reason", [*BAD, "secret"])
def test_what_is_kept_on_purpose(entry, reason):
    assert verdicts.is_given(replace(entry, verdict=f"kept:{reason}"))


@pytest.mark.parametrize("status", [101, 304, 429, 599])
def test_a_kept_status_is_that_of_the_response(entry, status):
    response = replace(entry.response, status=status)
    assert verdicts.is_given(replace(entry, verdict=f"kept:status:{status}", response=response))
    assert not verdicts.is_given(replace(entry, verdict="kept:status:418", response=response))


@pytest.mark.parametrize("status", [0, 99, 200, 299, 600, 99999])
def test_no_answer_of_such_a_status_is_kept_for_it(entry, status):
    response = replace(entry.response, status=status)
    assert not verdicts.is_given(replace(entry, verdict=f"kept:status:{status}", response=response))


def test_what_was_left_has_as_many_bytes_as_are_stored(entry):
    left = replace(entry, verdict="left:7", response=Response(200, (), b"data: 1", cut=Cut.LEFT))
    assert verdicts.is_given(left)
    for number in ("6", "8", "07", "-7", "７"):
        assert not verdicts.is_given(replace(left, verdict=f"left:{number}"))
    for changed in ({"cut": Cut.NO}, {"cut": Cut.PROVIDER}, {"status": 500}, {"status": 99}):
        assert not verdicts.is_given(replace(left, response=replace(left.response, **changed)))


def test_what_was_scrubbed_may_say_how_many_bytes_came(entry):
    response = Response(200, (), b"data: [openai key 1]", cut=Cut.LEFT)
    left = replace(entry, verdict="left:61", response=response)
    assert not verdicts.is_given(left)
    scrubbed = replace(left, scrubbed=("response.body$.a",))
    assert verdicts.is_given(scrubbed)
    assert not verdicts.is_given(replace(scrubbed, verdict="left:061"))
    assert not verdicts.is_given(replace(scrubbed, verdict="left:many"))
    assert verdicts.is_given(replace(left, verdict=verdicts.restated(left.verdict, response)))


def test_only_what_was_left_is_restated():
    response = Response(200, (), b"data")
    assert [verdicts.restated(one, response) for one in ("good", "kept:cut", "left:9")] == [
        "good",
        "kept:cut",
        "left:4",
    ]
