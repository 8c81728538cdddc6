"""A real model, which nobody scripted, through the real SDKs: recorded once, replayed to the same words, sealed."""

from __future__ import annotations

import json

import anthropic
import openai
import pydantic
import pytest

import onetake
from onetake.settings_start import set_start

ASKED = [{"role": "user", "content": "What is the weather in Paris?"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 20}},
    "required": ["city"],
    "additionalProperties": False,
}
TOOL = {"name": "get_weather", "description": "The weather of a city.", "parameters": SCHEMA, "strict": True}
CLAUDE_TOOL = {"name": "get_weather", "description": "The weather of a city.", "input_schema": SCHEMA}


class Weather(pydantic.BaseModel):
    city: str = pydantic.Field(max_length=20)
    wet: bool


def _openai(model):
    return openai.OpenAI(base_url=model.url + "/v1", api_key="none", max_retries=0)


def _chat(model, **more):
    asked = {"model": model.name, "messages": ASKED, "temperature": 0, "max_tokens": 12, **more}
    return _openai(model).chat.completions.create(**asked)


def _claude(model, **more):
    client = anthropic.Anthropic(base_url=model.url, api_key="none", max_retries=0)
    asked = {"model": model.name, "messages": ASKED, "extra_body": {"temperature": 0}, "max_tokens": 12, **more}
    return client, asked


def openai_chat(model):
    return _chat(model).to_dict()


def openai_stream(model):
    return [chunk.to_dict() for chunk in _chat(model, stream=True, stream_options={"include_usage": True})]


def openai_tools(model):
    tools = [{"type": "function", "function": TOOL}]
    answer = _chat(model, tools=tools, tool_choice="required", max_tokens=60)
    return [json.loads(call.function.arguments) for call in answer.choices[0].message.tool_calls]


def openai_tools_stream(model):
    tools = [{"type": "function", "function": TOOL}]
    chunks = list(_chat(model, tools=tools, tool_choice="required", max_tokens=60, stream=True))
    deltas = [call for chunk in chunks if chunk.choices for call in chunk.choices[0].delta.tool_calls or ()]
    return [json.loads("".join(delta.function.arguments or "" for delta in deltas))]


def openai_parse(model):
    with _openai(model) as client:
        answer = client.chat.completions.parse(
            model=model.name, messages=ASKED, temperature=0, max_tokens=60, response_format=Weather
        )
    return answer.choices[0].message.parsed.model_dump()


def openai_responses_stream(model):
    with _openai(model) as client:
        events = client.responses.create(
            model=model.name, input=ASKED, temperature=0, max_output_tokens=12, stream=True
        )
        return [event.to_dict() for event in events]


def anthropic_messages(model):
    client, asked = _claude(model)
    return client.messages.create(**asked).to_dict()


def anthropic_stream(model):
    client, asked = _claude(model)
    with client.messages.stream(**asked) as stream:
        return list(stream.text_stream)


def anthropic_tools(model):
    client, asked = _claude(model, tools=[CLAUDE_TOOL], tool_choice={"type": "any"}, max_tokens=60)
    return [block.input for block in client.messages.create(**asked).content if block.type == "tool_use"]


def anthropic_tools_stream(model):
    client, asked = _claude(model, tools=[CLAUDE_TOOL], tool_choice={"type": "any"}, max_tokens=60)
    with client.messages.stream(**asked) as stream:
        return [block.input for block in stream.get_final_message().content if block.type == "tool_use"]


@pytest.fixture
def recorded(tool_model, tmp_path):
    """Record one call to the real model under strict options, and replay it sealed: (live, replayed, the entry)."""
    (tmp_path / "onetake.toml").touch()

    def both(ask, **options):
        before = set_start(tmp_path / "program.py")
        try:
            with onetake.use_cassette("real", mode="once", **options) as session:
                live = ask(tool_model)
            with onetake.use_cassette("real", mode="none", **options) as sealed:
                replayed = ask(tool_model)
        finally:
            set_start(before)
        (entry,) = session.recorded
        assert [(played.key, played.ordinal) for played in sealed.played] == [(entry.key, entry.ordinal)]
        return live, replayed, entry

    return both


# The server's own word for a response that a token limit cut is `completed`.
@pytest.mark.parametrize(
    ("ask", "verdict"),
    [
        (openai_chat, "kept:length"),
        (openai_stream, "kept:length"),
        (openai_responses_stream, "good"),
        (anthropic_messages, "kept:length"),
        (anthropic_stream, "kept:length"),
    ],
)
def test_words(recorded, ask, verdict):
    live, replayed, entry = recorded(ask, keep=["length"])
    assert replayed == live
    assert entry.verdict == verdict
    assert entry.answer.choices[0].text
    assert 0 < entry.metrics["output_tokens"] <= 12


@pytest.mark.parametrize("ask", [openai_tools, openai_tools_stream, anthropic_tools, anthropic_tools_stream])
def test_tools_under_a_contract(recorded, ask):
    contract = onetake.Contract(SCHEMA, name="weather", schema_version=1, on="tool:get_weather")
    live, replayed, entry = recorded(ask, contract=contract)
    assert replayed == live
    assert [list(arguments) for arguments in live] == [["city"]]
    assert entry.verdict == "good"
    assert [(call.name, call.arguments) for call in entry.answer.choices[0].tool_calls] == [("get_weather", live[0])]


def test_structured_output_under_a_type(recorded):
    contract = onetake.Contract(Weather, schema_version=1)
    live, replayed, entry = recorded(openai_parse, contract=contract)
    assert replayed == live
    assert (sorted(live), entry.verdict, entry.contract.name) == (["city", "wet"], "good", "Weather")
