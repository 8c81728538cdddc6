"""`--json`: a number that no float holds is a text, whichever command shows it, for no reader can hold it either."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from onetake import strictjson
from onetake.cli import output
from onetake.errors import InteractionNotFound
from onetake.key import Keyer
from onetake.model import Answer, Choice, Mode, ToolCall
from onetake.options import Options
from onetake.session_run import SessionRun
from onetake.settings import load_settings
from onetake.steps import Flow
from onetake.testing.provider import openai_chat

SAID = '{"n": 1e999, "some": [-1e400, 1.50]}'
SCHEMA = {"properties": {"n": {"type": "number"}, "some": {"type": "array"}}, "type": "object"}
JOB = """
[ask]
base_url = "{url}/v1"
model = "m"
prompt = "Label {{message}} {{size}}"
schema = "any.json"
"""


def read(text):
    """Read JSON as a strict reader does, which takes no number that it cannot hold."""

    def finite(number):
        assert math.isfinite(float(number)), f"{number} is held by no float"
        return float(number)

    return json.loads(text, parse_float=finite, parse_constant=pytest.fail)


@pytest.fixture
def entries(store, make_entry):
    """Two entries whose requests, answers and tool calls hold such numbers, and differ by one of them."""

    def make(asked, size):
        entry = make_entry(asked, SAID, contract=None)
        request = replace(entry.request, body=entry.request.body[:-1] + b', "seed": %s}' % size)
        answer = Answer((Choice(SAID, finish="stop", tool_calls=(ToolCall("add", strictjson.loads(SAID)),)),))
        return replace(entry, request=request, answer=answer, key=Keyer().key(request))

    return store(make("one", b"1e999"), make("two", b"-1e400"))


@pytest.fixture
def ran(project, provider, run, monkeypatch):
    """A batch that ran, whose records, answers and request hold such numbers; its last record was not asked yet."""
    (project / "job.toml").write_text(JOB.format(url=provider.url), encoding="utf-8")
    (project / "any.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    records = b'{"message": "one", "size": 1e999}\n{"message": "two", "size": [-1e400]}\n'
    (project / "in.jsonl").write_bytes(records)
    provider.script(lambda request: openai_chat(SAID))
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none", "--max-failures", "2")
    (project / "in.jsonl").write_bytes(records + b'{"message": "three", "size": 1e999}\n')
    return project


def test_those_that_show_entries(run, entries):
    first, second = entries
    shown = read(run("show", first, second, "--json")[1])["entries"]
    arguments = {"n": "1e999", "some": ["-1e999", 1.5]}
    assert [one["answer"]["choices"][0]["tool_calls"][0]["arguments"] for one in shown] == [arguments] * 2
    (change,) = (one for one in read(run("diff", first, second, "--json")[1])["request"] if "seed" in one["path"])
    assert (change["a"], change["b"]) == ("1e999", "-1e400")
    for command in (["list"], ["check"], ["status"], ["review"], ["doctor"], ["pin", first], ["rekey"], ["prune"]):
        read(run(*command, "--json")[1])
    read(run("vouch", first, "--reason", "read", "--json")[1])


def test_as_text_such_a_number_is_no_damage(run, entries):
    code, out, err = run("show", entries[0])
    assert (code, err) == (0, "")
    assert 'calls add with {"n": "1e999", "some": ["-1e999", 1.5]}' in " ".join(out.split())


def test_those_of_batches(run, ran):
    found = read(run("batch", "explain", "1", "--json")[1])
    assert (found["record"]["size"], found["replies"][0]["said"]) == ("1e999", SAID)
    assert read(run("batch", "explain", "2", "--json")[1])["record"]["size"] == ["-1e400"]
    missing = read(run("batch", "explain", "3", "rows.jsonl", "--json")[1])
    assert missing["missing"] == "not asked before" and missing["record"]["size"] == "1e999"
    ready = ["in.jsonl", "-c", "job.toml"]
    read(run("batch", "plan", *ready, "--explain", "--json")[1])
    for command in (["status"], ["report"], ["failures"], ["verify", "rows.jsonl"]):
        read(run("batch", *command, "--json")[1])
    read(run("batch", "run", *ready, "-o", "more.jsonl", "--max-failures", "3", "--json")[1])


def test_a_text_for_a_reader_is_no_damage(run, ran):
    code, out, err = run("batch", "explain", "1")
    assert (code, err) == (0, "")
    assert '"size": "1e999"' in out


@pytest.mark.parametrize(("labels", "now"), [("", {"n": "1e999", "some": ["-1e999", 1.5]}), ('["$.n"]', [["1e999"]])])
def test_an_answer_that_drifts(run, ran, provider, labels, now):
    if labels:
        with (ran / "job.toml").open("a") as job:
            job.write(f"[run]\nlabel_paths = {labels}\n")
    provider.script(lambda request: openai_chat('{"n": 1, "some": []}'))
    run("batch", "retry", "rows.jsonl", "--class", "invalid", "--progress", "none", "--max-failures", "3")
    provider.script(lambda request: openai_chat(SAID))
    (case,) = read(run("batch", "drift", "-c", "job.toml", "--sample", "1", "--json")[1])["cases"]
    assert (case["changed"], case["now"]) == (True, now)


def test_those_that_compare_with_what_comes_today(run, chats, provider, project):
    provider.script(lambda request: openai_chat('{"n": 1}', model="m-1"))
    chats("one", "two")
    provider.script(lambda request: openai_chat(SAID, model="m-1"))
    printed = read(run("probe", "--json", "--report", "probe.json")[1])
    assert printed == read((project / "probe.json").read_text("utf-8"))
    assert printed["sampled"] == 2


def test_those_that_take_requests_over(run, store, make_entry, direct, project):
    store(make_entry("one", contract=None))
    asked = direct.chat("one")
    session = SessionRun(Options("cassettes/a", "none"), load_settings(project), Mode.NONE, "tests/test_a.py::test_b")
    with pytest.raises(InteractionNotFound):
        session.session._engine.begin(replace(asked, body=asked.body[:-1] + b', "seed": 1e999}'), Flow("one"))
    (group,) = read(run("adopt", "--json")[1])["groups"]
    assert [read(one["new"]) for one in group["difference"]] == ["1e999"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": (1e999, -1e999)}, '{"a": ["1e999", "-1e999"]}'),
        ([strictjson.loads_exact("1e400"), strictjson.loads_exact("1.50"), 10**400], f'["1e400", 1.5, 1{"0" * 400}]'),
        (1e999, '"1e999"'),
    ],
)
def test_each_number_alone(capsys, value, text):
    output.print_json(value)
    assert json.loads(capsys.readouterr().out) == json.loads(text)
