"""`onetake.Batch`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import onetake
from onetake.contract import Contract
from onetake.testing.provider import openai_chat

SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


@pytest.fixture
def batch(tmp_path, provider, monkeypatch):
    """Return a function that makes a batch of two records in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.jsonl").write_bytes(b'{"m": "a"}\n{"m": "b"}\n')

    def make(**said):
        at = {} if "call" in said else {"base_url": f"{provider.url}/v1"}
        return onetake.Batch("in.jsonl", **{**at, **said})

    return make


def test_a_prompt_that_is_a_text(batch, provider):
    made = batch(prompt="Say {m}", model="m", prices={"input": 1, "output": 1}, params={"max_tokens": 5})
    assert (made.plan().misses, made.plan().cost_high > 0) == (2, True)
    assert made.run("rows.jsonl", progress="none").exit_code == 0
    assert [request.json()["messages"][0]["content"] for request in provider.requests] in (
        ["Say a", "Say b"],
        ["Say b", "Say a"],
    )
    assert made.verify("rows.jsonl") == []
    assert [json.loads(line) for line in Path("rows.jsonl").read_bytes().splitlines()] == list(made.rows())
    assert made.run("again.jsonl", offline=True).exit_code == 0
    assert provider.count == 2


def test_a_prompt_that_makes_the_body(batch, provider):
    def build(record):
        return {"model": "n", "messages": [{"role": "user", "content": record["m"]}], "seed": 5}

    provider.script(lambda request: openai_chat(json={"x": request.json()["messages"][0]["content"]}))
    made = batch(prompt=build, contract=Contract(SCHEMA, name="x"))
    made.run("rows.jsonl", progress="none")
    assert list(made.rows()) == [{"line": 1, "answer": {"x": "a"}}, {"line": 2, "answer": {"x": "b"}}]
    assert provider.requests[0].json()["seed"] == 5


def test_the_output_is_verified_under_the_contract_and_function_it_was_made_by(batch, provider):
    provider.script(lambda request: openai_chat(json={"x": "1"}))
    made = batch(prompt="{m}", model="m", contract=Contract(SCHEMA, name="x"))
    made.run("rows.jsonl", progress="none")
    other = batch(prompt="{m}", model="m", contract=Contract(SCHEMA, name="x", schema_version=2))
    assert other.verify("rows.jsonl")[0].what == "job"


def test_an_output_is_verified_with_the_repairs_of_its_own_run(batch, provider):
    provider.script(lambda request: openai_chat(json={"x": "1" if len(request.json()["messages"]) > 1 else 1}))
    said = {"prompt": "{m}", "model": "m", "contract": Contract(SCHEMA, name="x")}
    assert batch(**said, repairs=1).run("rows.jsonl", progress="none").published.failures == {}
    assert batch(**said).verify("rows.jsonl") == []
    assert [row["error"]["class"] for row in batch(**said).rows()] == ["invalid", "invalid"]


def test_onetake_mode_none_seals_it(batch, provider, monkeypatch):
    monkeypatch.setenv("ONETAKE_MODE", "none")
    with pytest.raises(onetake.InteractionNotFound):
        batch(prompt="{m}", model="m").run("rows.jsonl")
    assert provider.count == 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "a prompt, or a call"),
        ({"prompt": "x", "call": print}, "a prompt, or a call"),
        ({"prompt": "x"}, "lacks 'model'"),
        ({"prompt": "x", "model": "m", "base_url": "h"}, "Batch.base_url"),
        ({"prompt": "x", "model": "m", "api": "soap"}, "Batch.api"),
        ({"prompt": "x", "model": "m", "form": "xml"}, "form: must be one of"),
        ({"prompt": "x", "model": "m", "concurency": 3}, "knows no 'concurency'; did you mean 'concurrency'"),
        (
            {"prompt": "x", "model": "m", "contract": [Contract(SCHEMA, name="a"), Contract(SCHEMA, name="b")]},
            "one contract",
        ),
    ],
)
def test_what_is_wrong_is_named(batch, said, why):
    with pytest.raises(onetake.UsageError, match=why):
        batch(**said)


def build(record):
    return {"model": "n", "messages": [{"role": "user", "content": record["m"]}]}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        *(({"prompt": build, name: value}, f"Batch.{name}: the prompt is a function") for name, value in (
            ("model", "m"), ("system", "s"), ("params", {"temperature": 0})
        )),
        *(({"call": print, name: value}, f"Batch.{name}: the call says that itself") for name, value in (
            ("base_url", "http://h"), ("model", "m"), ("api", "openai"), ("api_key_env", "KEY"), ("system", "s"),
            ("params", {"seed": 1}), ("structured", True)
        )),
        ({"prompt": "x", "model": "m", "structured": True}, "there is no contract"),
    ],
)  # fmt: skip
def test_what_nobody_would_read_is_no_argument(batch, said, why):
    with pytest.raises(onetake.UsageError, match=why):
        batch(**said)


def test_a_call_that_cannot_be_called_leaves_no_copy_of_standard_input(batch, monkeypatch, tmp_path):
    async def ask(record):
        return record

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"m": 1}\n')))
    with pytest.raises(onetake.UsageError, match="async"):
        onetake.Batch("-", call=ask).run("rows.jsonl")
    assert list(tmp_path.glob("*.input")) == []
