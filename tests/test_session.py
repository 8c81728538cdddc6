"""What a program or a test sees of its session."""

from __future__ import annotations

import httpx
import pytest

import onetake
from onetake import settings_start
from onetake.errors import InteractionNotFound


def ask(provider, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(provider.url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]


@pytest.fixture(autouse=True)
def in_folder(tmp_path):
    before = settings_start.set_start(tmp_path)
    yield tmp_path
    settings_start.set_start(before)


def test_it_shows_what_the_reference_lists_and_nothing_of_the_machinery(in_folder):
    with onetake.use_cassette("c") as session:
        names = {name for name in dir(session) if not name.startswith("_")}
    assert type(session) is onetake.Session
    assert names == {
        *("entries", "requests", "played", "recorded", "rejects", "refusals", "unused", "expect_refusal", "mode")
    }


def test_it_tells_what_was_asked_played_recorded_and_left_unused(provider):
    with onetake.use_cassette("c", mode="once") as session:
        ask(provider, "a")
        ask(provider, "b")
    assert [len(x) for x in (session.requests, session.recorded, session.played, session.unused)] == [2, 2, 0, 0]
    with onetake.use_cassette("c", mode="none") as session:
        ask(provider, "b")
    assert session.mode == "none"
    assert [entry.request.body.count(b'"b"') for entry in session.played] == [1]
    assert [entry.request.body.count(b'"a"') for entry in session.unused] == [1]
    assert len(session.entries) == 2


def test_it_tells_its_refusals_the_expected_ones_too(provider):
    with onetake.use_cassette("c", mode="none") as session, session.expect_refusal() as expected:
        ask(provider, "x")
    assert [type(refusal) for refusal in session.refusals] == [InteractionNotFound]
    assert expected.refusals == session.refusals
    assert session.rejects == ()
