"""Drift, watched as a user does: a real model that nobody scripted, and a provider that changes its answers."""

from __future__ import annotations

import json

import anthropic
import openai
import pytest

import onetake
from onetake.settings_start import set_start
from onetake.testing.provider import json_reply, openai_chat, openai_error, openai_stream

ASKED = [{"role": "user", "content": "What is the weather in Paris?"}]
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}},
    "required": ["city"],
    "additionalProperties": False,
}
FORMAT = {"type": "json_schema", "json_schema": {"name": "weather", "schema": CITY, "strict": True}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": CITY, "strict": True}}]
CLAUDE_TOOLS = [{"name": "get_weather", "description": "The weather of a city.", "input_schema": CITY}]


def chat(model, **more):
    client = openai.OpenAI(base_url=model.url + "/v1", api_key="none", max_retries=0)
    asked = {"model": model.name, "messages": ASKED, "temperature": 0, "max_tokens": 60, **more}
    return client.chat.completions.create(**asked)


def message(model, **more):
    client = anthropic.Anthropic(base_url=model.url, api_key="none", max_retries=0)
    asked = {"model": model.name, "messages": ASKED, "extra_body": {"temperature": 0}, "max_tokens": 60, **more}
    return client.messages.create(**asked)


def response(model):
    client = openai.OpenAI(base_url=model.url + "/v1", api_key="none", max_retries=0)
    return client.responses.create(model=model.name, input=ASKED, temperature=0, max_output_tokens=8, stream=True)


WAYS = [
    lambda model: chat(model, max_tokens=8),
    lambda model: chat(model, tools=TOOLS, tool_choice="required"),
    lambda model: list(chat(model, max_tokens=8, stream=True, stream_options={"include_usage": True})),
    lambda model: chat(model, response_format=FORMAT),
    lambda model: list(response(model)),
    lambda model: message(model, max_tokens=8),
    lambda model: message(model, tools=CLAUDE_TOOLS, tool_choice={"type": "any"}),
]
"""The ways in which programs ask a model."""


@pytest.mark.slow
@pytest.mark.timeout(900)  # 140 answers of a model, on a machine that may be busy
@pytest.mark.parametrize(("runs", "ways"), [(1, 2), pytest.param(20, 7, marks=pytest.mark.whole)])
def test_a_real_model_at_temperature_0_never_drifts(project, tool_model, runs, ways):
    before = set_start(project / "program.py")
    try:
        with onetake.use_cassette("cassettes/real", mode="once", keep=["length"]):
            for ask in WAYS[:ways]:
                ask(tool_model)
    finally:
        set_start(before)
    reports = [onetake.probe(sample=10, strict=True) for _ in range(runs)]
    assert [(report.sampled, report.count("agreed")) for report in reports] == [(ways, ways)] * runs
    assert {finding for report in reports for finding in report.findings} == set()
    assert {int(report.exit_code) for report in reports} == {0}


def tools(*calls):
    return openai_chat(None, tool_calls=list(calls))


def renamed(reply, name, to):
    """Return a reply with one member of its JSON called otherwise, wherever it is."""

    def walk(value):
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, dict):
            return {to if key == name else key: walk(item) for key, item in value.items()}
        return value

    return json_reply(walk(json.loads(reply.body)))


STORED = '{"items": [{"label": "bug", "n": 1}], "why": "it crashes"}'
BOTH = ("look_up", {"id": 1}), ("save", {"tags": ["a"]})

DRIFTS = {
    "the API renames a field": (
        openai_chat(STORED),
        renamed(openai_chat(STORED), "content", "contents"),
        "answer",
    ),
    "an array becomes a string": (
        openai_chat(STORED),
        openai_chat(STORED.replace('[{"label": "bug", "n": 1}]', '"bug"')),
        "answer$.items",
    ),
    "a number becomes a string": (
        openai_chat(STORED),
        openai_chat(STORED.replace("1", '"1"')),
        "answer$.items[*].n",
    ),
    "a tool is dropped": (tools(*BOTH), tools(BOTH[0]), "tools"),
    "an argument of a tool becomes a string": (
        tools(*BOTH),
        tools(BOTH[0], ("save", {"tags": "a"})),
        "tools.save$.tags",
    ),
    "the answer is truncated": (openai_chat(STORED), openai_chat(STORED[:20], finish="length"), "finish"),
    "the model refuses": (openai_chat(STORED), openai_chat(None, refusal="I cannot help with that."), "refusal"),
    "another model is served": (openai_chat(STORED), openai_chat(STORED, model="m-2"), "model"),
    "a stream loses its end": (openai_stream("a b"), openai_stream("a b", ending="cut"), "events"),
}


@pytest.mark.parametrize(("stored", "live", "path"), DRIFTS.values(), ids=DRIFTS)
def test_drift_of_the_shape_is_found(chats, provider, stored, live, path):
    provider.script(lambda request: stored)
    chats("Sort this", stream=b"data:" in stored.body)
    provider.script(lambda request: live)
    report = onetake.probe()
    assert (report.exit_code, report.count("drifted")) == (3, 1)
    assert path in {finding.path for finding in report.findings if finding.severity == "error"}


def test_a_field_that_the_model_renames_breaks_the_contract_and_without_one_it_is_a_warning(chats, provider):
    provider.script(lambda request: openai_chat(STORED))
    chats("Sort this")
    provider.script(lambda request: openai_chat(STORED.replace("label", "name")))
    found = {(finding.path, finding.kind, finding.severity) for finding in onetake.probe().findings}
    assert found == {
        ("answer$.items[*].label", "removed", "warning"),
        ("answer$.items[*].name", "added", "info"),
    }
    assert [int(onetake.probe(strict=strict).exit_code) for strict in (False, True)] == [0, 3]
    item = {"type": "object", "properties": {"label": {"type": "string"}, "n": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item}, "why": {"type": "string"}}}
    (chats.root / "items.json").write_text(json.dumps(schema), encoding="utf-8")
    chats.settings('[contracts.items]\nschema = "items.json"\n')
    provider.script(lambda request: openai_chat(STORED))
    chats("Sort that", folder="cassettes/b", contract="items")
    provider.script(lambda request: openai_chat(STORED.replace("label", "name")))
    report = onetake.probe("cassettes/b")
    assert (report.exit_code, "contract" in {finding.kind for finding in report.findings}) == (3, True)


@pytest.mark.parametrize(
    ("stored", "live"),
    [
        (openai_chat("Paris is sunny."), openai_chat("It will rain in Paris, all of next week.")),
        (openai_chat(STORED), openai_chat('{"items": [{"label": "idea", "n": 99}], "why": "somebody asks for it"}')),
        (tools(*BOTH), tools(("look_up", {"id": 7}), ("save", {"tags": ["b"]}))),
        (openai_stream("one two"), openai_stream("three four five six")),
    ],
    ids=["text", "json", "tools", "stream"],
)
def test_other_words_alone_are_no_finding(chats, provider, stored, live):
    provider.script(lambda request: stored)
    chats("Sort this", stream=b"data:" in stored.body)
    provider.script(lambda request: live)
    report = onetake.probe(strict=True)
    assert (report.exit_code, report.findings) == (0, ())


def test_a_dead_provider_is_no_drift_and_what_drifted_beside_it_is_told(chats, provider):
    provider.script(lambda request: openai_chat(STORED))
    chats("one", "two")
    provider.script(lambda request: openai_error(503) if b"one" in request.body else openai_chat(STORED, model="m-2"))
    report = onetake.probe()
    assert (report.count("failed"), report.count("drifted"), report.exit_code) == (1, 1, 3)
