"""The requests that a job makes."""

from __future__ import annotations

import json

import pytest

from onetake import strictjson
from onetake.batch.asking import Asking, MissingFieldError, Template
from onetake.batch.job import Ask
from onetake.errors import UsageError
from onetake.key_specs import current
from onetake.model import Answer, Choice, Entry, Response, Violation

ASK = Ask("http://h:1/v1", "m", "Label {message}")
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}}


def body(request):
    return json.loads(request.body)


def test_an_openai_request_holds_what_the_job_says_and_no_credential():
    ask = Ask("http://h:1/v1", "m", "Label {message}", system="As {role}.", params={"temperature": 0}, api_key_env="K")
    request = Asking(ask).request({"message": "hi", "role": "a clerk"})
    assert (request.method, request.url) == ("POST", "http://h:1/v1/chat/completions")
    assert request.headers == (("content-type", "application/json"),)
    assert body(request) == {
        "model": "m",
        "messages": [{"role": "system", "content": "As a clerk."}, {"role": "user", "content": "Label hi"}],
        "temperature": 0,
    }


def test_an_anthropic_request_has_its_own_shape():
    ask = Ask("https://h", "m", "{message}", api="anthropic", system="Brief.", params={"max_tokens": 9})
    request = Asking(ask).request({"message": "hi"})
    assert request.url == "https://h/v1/messages"
    assert dict(request.headers)["anthropic-version"] == "2023-06-01"
    assert body(request) == {
        "model": "m",
        "max_tokens": 9,
        "system": "Brief.",
        "messages": [{"role": "user", "content": "hi"}],
    }


@pytest.mark.parametrize(
    ("api", "name", "member"),
    [
        ("openai", "response_format", {"name": "labels", "schema": SCHEMA, "strict": True}),
        ("anthropic", "output_format", None),
    ],
)
def test_the_schema_is_sent_where_the_job_says_so(api, name, member):
    plain = Asking(Ask("https://h", "m", "x", api=api), SCHEMA, "labels").request({})
    sent = Asking(Ask("https://h", "m", "x", api=api, structured=True), SCHEMA, "labels").request({})
    assert name not in body(plain)
    found = body(sent)[name]
    assert found == (
        {"type": "json_schema", "json_schema": member} if member else {"type": "json_schema", "schema": SCHEMA}
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no place", "no place"),
        ("{a}{b}", "x1"),
        ("{{a}} {a}", "{a} x"),
        ("{ a }", "x"),
        ("{c.d}", "deep"),
        ("{e.f}", "dotted"),
        ("{l} {n} {t}", '[1,"ä"] null true'.replace(",", ", ")),
    ],
)
def test_fields_stand_in_their_places(text, said):
    record = {"a": "x", "b": 1, "c": {"d": "deep"}, "e.f": "dotted", "l": [1, "ä"], "n": None, "t": True}
    assert Template(text, "ask.prompt").fill(record) == said


@pytest.mark.parametrize("text", ["{", "}", "a {} b", "{ }", "{a"])
def test_braces_that_name_nothing_are_refused(text):
    with pytest.raises(UsageError, match=r"ask\.prompt"):
        Asking(Ask("http://h", "m", text))


@pytest.mark.parametrize("text", ["{x}", "{a.b}", "{a.__class__}", "{0}"])
def test_a_missing_field_is_the_records_own_error(text):
    with pytest.raises(MissingFieldError, match="no field"):
        Template(text, "ask.prompt").fill({"a": "x"})


def test_what_a_value_holds_is_no_template():
    assert Template("{a} {b}", "").fill({"a": "{b}", "b": "{{x}}"}) == "{b} {{x}}"


def test_a_lone_surrogate_is_sent_as_an_escape():
    request = Asking(Ask("http://h", "m", "{a}")).request({"a": "\ud800"})
    assert b"\\ud800" in request.body


def test_a_repair_holds_the_bad_reply_and_what_is_wrong_with_it():
    asking = Asking(ASK)
    first = asking.request({"message": "hi"})
    violations = tuple(Violation(f"$.{n}", "a string", "1") for n in range(12))
    answer = Answer((Choice('{"label": 1}', finish="stop"),))
    bad = Entry(
        "kept:violation",
        first,
        Response(200),
        "0" * 64,
        0,
        current({}),
        violations=violations,
        answer=answer,
    )
    again = asking.repair(first, bad)
    assert again.url == first.url
    assert body(again)["messages"][:2] == [
        {"role": "user", "content": "Label hi"},
        {"role": "assistant", "content": '{"label": 1}'},
    ]
    last = body(again)["messages"][2]["content"]
    assert "- $.0: expected a string, found 1" in last
    assert (last.count("\n- "), len(body(again)["messages"])) == (10, 3)
    assert asking.repair(again, bad).body != again.body


NUMBERS = '{"m": 1e999, "n": {"a": [0.1000000000000000055511151231257827, 1.50, -0, 1E5, 3, true], "\u00e9": "x"}}'


def test_numbers_of_a_record_are_asked_as_they_were_written():
    data = strictjson.loads_exact(NUMBERS)
    assert Template("{m} {n}", "here").fill(data) == (
        '1e999 {"a": [0.1000000000000000055511151231257827, 1.50, -0, 1E5, 3, true], "\u00e9": "x"}'
    )


def test_numbers_that_code_puts_into_a_body_are_sent_as_they_were_written():
    asking = Asking(Ask("http://a/v1", "", ""), build=lambda data: {"model": "m", "messages": [data]})
    body = asking.request(strictjson.loads_exact(NUMBERS)).body
    assert body.decode() == f'{{"model":"m","messages":[{NUMBERS}]}}'.replace(", ", ",").replace(": ", ":")


def test_a_record_that_is_nested_very_deep_is_asked():
    data = strictjson.loads_exact('{"m":' + "[" * 400 + "1.50" + "]" * 400 + "}")
    assert "1.5" in Template("{m}", "here").fill(data)
