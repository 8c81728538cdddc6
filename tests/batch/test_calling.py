"""Records that a function asks about, through an SDK or a bare client."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

import onetake
from onetake.testing.provider import openai_chat, openai_error


@pytest.fixture
def batch(tmp_path, provider, monkeypatch):
    """Return a function that makes a batch of a call, of three records of which two are the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_bytes(b'{"m": "a"}\n\n{"m": "b"}\n{"m": "a"}\n')
    return lambda call, **said: onetake.Batch("in.jsonl", call=call, **{"concurrency": 2, **said})


@pytest.fixture
def ask(provider):
    """Return a function that asks with `urllib.request`, with a credential of its own."""

    def send(text):
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
        headers = {"content-type": "application/json", "authorization": "Bearer sk-" + "a1B2" * 8}
        with urllib.request.urlopen(
            urllib.request.Request(f"{provider.url}/v1/chat/completions", body, headers)
        ) as reply:
            return json.load(reply)["choices"][0]["message"]["content"]

    return send


def test_what_it_returns_is_the_row_and_each_request_is_sent_once(batch, ask, provider, tmp_path):
    provider.script(lambda request: openai_chat(f"<{request.json()['messages'][0]['content']}>"))

    def twice(record):
        first = ask(record["m"])
        return {"first": first, "second": ask(f"again {first}")}

    made = batch(twice)
    ended = made.run("rows.jsonl", progress="none")
    assert ended.published.failures == {"bad-line": 1}
    assert [row.get("answer") for row in made.rows()] == [
        {"first": "<a>", "second": "<again <a>>"},
        None,
        {"first": "<b>", "second": "<again <b>>"},
        {"first": "<a>", "second": "<again <a>>"},
    ]
    assert provider.count == 4
    assert {request.header("authorization") for request in provider.requests} == {"Bearer sk-" + "a1B2" * 8}
    assert b"a1B2a1B2" not in (tmp_path / "calls.db").read_bytes()
    assert made.verify("rows.jsonl") == []
    assert made.run("again.jsonl", offline=True).published.manifest.output == ended.published.manifest.output
    assert provider.count == 4


def test_retries_are_the_batchs(batch, ask, provider):
    provider.script([openai_error(503), openai_chat("fine"), openai_chat("fine")])
    made = batch(lambda record: ask(record["m"]), concurrency=1)
    ended = made.run("rows.jsonl", progress="none")
    assert ended.outcome.tally.again == 1
    assert [row.get("answer") for row in made.rows()] == ["fine", None, "fine", "fine"]


def test_a_request_that_is_refused_is_a_row_and_not_asked_again(batch, ask, provider):
    provider.script(lambda request: openai_error(400, message="too odd"))
    made = batch(lambda record: ask(record["m"]))
    made.run("rows.jsonl", progress="none")
    made.run("rows.jsonl", progress="none")
    assert [row["error"]["class"] for row in made.rows()] == ["refused", "bad-line", "refused", "refused"]
    assert provider.count == 2


def test_what_it_cannot_read_is_an_invalid_row(batch, ask, provider):
    provider.script(lambda request: openai_chat("no JSON"))
    made = batch(lambda record: json.loads(ask(record["m"])))
    made.run("rows.jsonl", progress="none")
    first = next(made.rows())
    assert first["error"]["class"] == "invalid"
    assert first["error"]["message"].startswith("JSONDecodeError: ")


def test_a_function_that_asks_nothing_is_wrong(batch):
    with pytest.raises(onetake.UsageError, match=r"line 1: the function raised KeyError: 'none' before it asked"):
        batch(lambda record: record["none"]).run("rows.jsonl", progress="none")
    with pytest.raises(onetake.UsageError, match="returned before it asked"):
        batch(lambda record: 5).run("rows.jsonl", progress="none")


def test_an_async_function_is_refused(batch):
    async def ask(record):
        return None

    with pytest.raises(onetake.UsageError, match="async"):
        batch(ask).run("rows.jsonl")


@pytest.mark.parametrize(("steady", "calls"), [(0, 0), (1, 2)])
def test_a_function_that_asks_another_thing_each_time_stops_the_run(batch, ask, provider, steady, calls):
    def call(record):
        said = [ask(record["m"]) for _ in range(steady)]
        return [*said, ask(f"{uuid4()}")]

    Path("in.jsonl").write_bytes(b'{"m": "a"}\n')
    with pytest.raises(onetake.UsageError, match="line 1: the function makes another request each time"):
        batch(call).run("rows.jsonl", progress="none")
    assert provider.count == calls


def test_a_header_that_cannot_be_sent_is_its_rows_failure_alone(batch, provider):
    url, secret = f"{provider.url}/v1/chat/completions", "sk-" + "a1B2" * 8

    def call(record):
        body = {"model": "m", "messages": [{"role": "user", "content": record["m"]}]}
        last = {"a": "\n", "b": "\u00e9"}[record["m"]]  # the client's own check is behind what sees the request
        headers = {"authorization": f"Bearer {secret}", "x-who": f"who{last}".encode("latin-1")}
        return httpx.post(url, json=body, headers=headers).json()["choices"][0]["message"]["content"]

    provider.script(lambda request: openai_chat("fine"))
    ended = batch(call).run("rows.jsonl", progress="none")
    assert (ended.published.failures, ended.outcome.why) == ({"gave-up": 2, "bad-line": 1}, "")
    assert [request.header("x-who") for request in provider.requests] == ["who\u00e9"]


def test_a_key_that_cannot_be_sent_stops_nothing_by_an_error_and_is_not_quoted(batch, provider, capfd):
    secret = "sk-" + "a1B2" * 8 + "\n"

    def call(record):
        body = {"model": "m", "messages": [{"role": "user", "content": record["m"]}]}
        return httpx.post(f"{provider.url}/v1/chat/completions", json=body, headers={"authorization": secret}).text

    ended = batch(call).run("rows.jsonl", progress="json")
    assert (ended.published.failures, provider.count) == ({"gave-up": 3, "bad-line": 1}, 0)
    assert "a1B2" not in "".join(capfd.readouterr())
    assert batch(call).run("rows.jsonl", progress="none").settled.lost == 0
