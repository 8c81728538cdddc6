"""`onetake batch drift`."""

from __future__ import annotations

import json

import pytest

from onetake.testing.provider import openai_chat, openai_error


@pytest.fixture
def answers(run, batch, provider):
    """A function that says what the provider answers from now on; two replies are stored: `old`."""
    provider.script(lambda request: openai_chat("old"))
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    return lambda reply: provider.script(lambda request: reply)


@pytest.mark.parametrize(
    ("reply", "code", "counts"),
    [(openai_chat("old"), 0, (2, 0, 0)), (openai_chat("new"), 3, (2, 2, 0)), (openai_error(503), 4, (0, 0, 2))],
    ids=["same", "other", "down"],
)
def test_the_exit_code_says_the_same_another_or_nobody_knows(run, answers, provider, reply, code, counts):
    answers(reply)
    found, out, _ = run("batch", "drift", "-c", "job.toml", "--json")
    said = json.loads(out)
    assert (found, (said["compared"], said["changed"], said["inconclusive"])) == (code, counts)
    assert run("batch", "drift", "-c", "job.toml")[0] == code
    assert provider.count == 6
    assert run("batch", "verify", "rows.jsonl")[0] == 0, "nothing was stored"


def test_a_sample_is_as_large_as_it_is_said(run, answers, provider):
    run("batch", "drift", "-c", "job.toml", "--sample", "1")
    assert provider.count == 3


def test_nothing_to_ask_and_a_seal_are_said(run, answers, monkeypatch):
    code, _, err = run("batch", "drift", "-c", "job.toml", "--store", "empty.db")
    assert (code, "holds no good reply of m" in err) == (2, True)
    monkeypatch.setenv("ONETAKE_MODE", "none")
    assert run("batch", "drift", "-c", "job.toml")[0] == 2
