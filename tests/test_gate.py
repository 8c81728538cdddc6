import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from onetake import gate
from onetake.contract import Contract
from onetake.model import Cut, Request, Response

OPENAI = "https://api.openai.com/v1/chat/completions"
ANTHROPIC = "https://api.anthropic.com/v1/messages"
JSON = ("content-type", "application/json")
SSE = ("content-type", "text/event-stream")
LABEL = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
LABELS = Contract(LABEL, name="labels")
RIGHT, WRONG = '{"label": "bug"}', '{"label": 7}'


def judge(asked, response, *contracts, keep=()):
    found = gate.judge(asked, response, contracts, keep=keep, root=Path())
    return found.verdict, found


def verdict(asked, response, *contracts, keep=()):
    return judge(asked, response, *contracts, keep=keep)[0]


class OpenAI:
    """Requests and responses of chat completions."""

    length = "length"

    @staticmethod
    def request(**fields):
        return Request("POST", OPENAI, (JSON,), json.dumps({"model": "m", "messages": [], **fields}).encode())

    @staticmethod
    def schema(schema=LABEL, strict=True, name="reply"):
        return {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": name, "strict": strict, "schema": schema},
            }
        }

    @staticmethod
    def tool(schema=LABEL, strict=True):
        return {"tools": [{"type": "function", "function": {"name": "tag", "parameters": schema, "strict": strict}}]}

    @staticmethod
    def said(*texts, finish="stop", refusal=None, calls=()):
        calls = [{"id": "c", "type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
        choices = [
            {
                "index": i,
                "message": {"role": "assistant", "content": text, "refusal": refusal, "tool_calls": calls},
                "finish_reason": finish,
            }
            for i, text in enumerate(texts)
        ]
        return Response(200, (JSON,), json.dumps({"model": "m", "choices": choices}).encode())

    error = b'{"error": {"message": "overloaded", "type": "server_error"}}'
    stream = (
        b'data: {"choices": [{"index": 0, "delta": {"content": "hello"}}]}\n\n',
        b"data: [DONE]\n\n",
    )
    error_event = b'data: {"error": {"message": "overloaded", "type": "server_error"}}\n\n'


class Anthropic:
    """Requests and responses of messages."""

    length = "max_tokens"

    @staticmethod
    def request(**fields):
        return Request("POST", ANTHROPIC, (JSON,), json.dumps({"model": "m", "messages": [], **fields}).encode())

    @staticmethod
    def tool(schema=LABEL, strict=True):
        return {"tools": [{"name": "tag", "input_schema": schema, "strict": strict}]}

    @staticmethod
    def said(text, finish="end_turn", refusal=None, calls=()):
        content = [{"type": "text", "text": text}] if text is not None else []
        content += [{"type": "tool_use", "id": "t", "name": n, "input": json.loads(a)} for n, a in calls]
        body = {"type": "message", "role": "assistant", "content": content, "stop_reason": finish, "usage": {}}
        return Response(200, (JSON,), json.dumps(body).encode())

    error = b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}'
    stream = (
        b'event: content_block_start\ndata: {"type": "content_block_start", "index": 0, "content_block":'
        b' {"type": "text", "text": "hello"}}\n\n',
        b'event: message_stop\ndata: {"type": "message_stop"}\n\n',
    )
    error_event = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Over"}}\n\n'


@pytest.fixture(params=[OpenAI, Anthropic], ids=["openai", "anthropic"])
def api(request):
    return request.param


def stream(*events, cut=Cut.NO):
    return Response(200, (SSE,), b"".join(events), cut=cut)


def test_a_whole_answer_is_good(api):
    assert verdict(api.request(), api.said("hello")) == "good"
    assert verdict(api.request(), stream(*api.stream)) == "good"


@pytest.mark.parametrize("status", [400, 401, 404, 408, 429, 500, 503, 529])
def test_br_117_an_error_status_passes_unless_it_is_wanted(api, status):
    response = Response(status, (JSON,), api.error)
    assert judge(api.request(), response)[1].kind is gate.Kind.PASS
    assert verdict(api.request(), response, LABELS, keep=(f"status:{status}",)) == f"kept:status:{status}"
    assert verdict(api.request(), response, keep=(f"status:{status // 100}xx",)) == f"kept:status:{status}"
    assert judge(api.request(), response, keep=("status:418", "violation"))[1].kind is gate.Kind.PASS


def test_an_error_object_under_200_passes(api):
    response = Response(200, (JSON,), api.error)
    assert judge(api.request(), response, keep=("violation", "cut"))[1].kind is gate.Kind.PASS


@pytest.mark.parametrize("cut", list(Cut))
def test_an_error_event_passes_however_the_stream_ended(api, cut):
    found = judge(api.request(), stream(api.stream[0], api.error_event, cut=cut), keep=("cut",))[1]
    assert found.kind is gate.Kind.PASS


def test_a_stream_without_its_terminal_event_is_cut(api):
    assert verdict(api.request(), stream(api.stream[0])) == "reject:cut"
    assert verdict(api.request(), stream(api.stream[0], cut=Cut.PROVIDER)) == "reject:cut"
    assert verdict(api.request(), stream(api.stream[0], cut=Cut.PROVIDER), keep=("cut",)) == "kept:cut"


def test_a_body_that_the_provider_cut_is_no_answer_even_of_an_unknown_api(api):
    half = replace(api.said("hello"), cut=Cut.PROVIDER)
    assert verdict(api.request(), half) == "reject:cut"
    assert verdict(Request("GET", "https://api.example/list"), half) == "reject:cut"


def test_a_stream_that_its_caller_left_says_where(api):
    left = stream(api.stream[0], cut=Cut.LEFT)
    assert verdict(api.request(), left, LABELS) == f"left:{len(api.stream[0])}"


@pytest.mark.parametrize(
    "body",
    [b'{"a": NaN}', b'{"a": 1, "a": 2}', b'{"a": ', b"<html>", b'{"a": Infinity}', b"\xff{}", b""],
    ids=["nan", "duplicate", "half", "html", "infinity", "not utf-8", "empty"],
)
def test_what_is_declared_as_json_must_be_json(api, body):
    name, found = judge(api.request(), Response(200, (JSON,), body))
    assert name == "reject:json"
    assert [violation.path for violation in found.violations] == ["$"]


def test_a_body_of_another_type_is_not_read_as_json():
    assert verdict(Request("GET", "https://api.example/page"), Response(200, (("content-type", "text/html"),), b"<p>"))
    assert verdict(Request("DELETE", "https://api.example/x"), Response(200, (JSON,), b"")) == "good"


def test_a_redirect_is_kept_whether_its_body_was_read_or_not():
    asked = OpenAI.request()
    to = (("location", "https://eu.example/v1"),)
    assert verdict(asked, Response(307, to), LABELS) == "good"
    assert verdict(asked, Response(302, to, b"see", cut=Cut.LEFT)) == "left:3"
    assert verdict(asked, Response(304)) == "pass:status:304"
    assert verdict(asked, Response(307, to, b"se", cut=Cut.PROVIDER)) == "pass:status:307"


def test_br_113_the_contract_judges_the_text(api):
    assert verdict(api.request(), api.said(RIGHT), LABELS) == "good"
    name, found = judge(api.request(), api.said(WRONG), LABELS)
    assert name == "reject:violation"
    assert [(v.path, v.found) for v in found.violations] == [("$.label", "7")]
    assert found.contract.name == "labels"
    assert verdict(api.request(), api.said("bug"), LABELS) == "reject:violation"
    assert verdict(api.request(), api.said(WRONG), LABELS, keep=("violation",)) == "kept:violation"


def test_br_114_an_answer_cut_by_length_is_a_reject_under_a_contract_and_said_without_one(api):
    half = api.said('{"label": "bu', finish=api.length)
    assert verdict(api.request(), half, LABELS) == "reject:length"
    assert verdict(api.request(), half, LABELS, keep=("length",)) == "kept:length"
    name, found = judge(api.request(), half)
    assert (name, found.note) == ("good", "the stored answer was cut by the token limit")
    assert verdict(api.request(), half, keep=("length",)) == "kept:length"


def test_a_refusal_is_a_reject_under_a_contract_and_said_without_one():
    no = OpenAI.said(None, refusal="I cannot help with that")
    filtered = OpenAI.said("", finish="content_filter")
    stopped = Anthropic.said("", finish="refusal")
    for asked, response in ((OpenAI.request(), no), (OpenAI.request(), filtered), (Anthropic.request(), stopped)):
        assert verdict(asked, response, LABELS) == "reject:refusal"
        assert verdict(asked, response, LABELS, keep=("refusal",)) == "kept:refusal"
        assert judge(asked, response)[1].note == "the stored answer is a refusal"


def test_the_requests_strict_schema_is_enforced_as_written():
    asked = OpenAI.request(**OpenAI.schema())
    assert verdict(asked, OpenAI.said(RIGHT)) == "good"
    assert verdict(asked, OpenAI.said(WRONG)) == "reject:violation"
    assert verdict(asked, OpenAI.said('{"label": "bug", "more": 1}')) == "good", "nothing is closed"
    assert verdict(asked, OpenAI.said('{"label": "bu', finish="length")) == "reject:length"
    name, found = judge(asked, OpenAI.said(None, refusal="no"))
    assert (name, found.note) == ("good", "the stored answer is a refusal")


def test_anthropics_output_format_is_enforced():
    asked = Anthropic.request(output_config={"format": {"type": "json_schema", "schema": LABEL}})
    assert verdict(asked, Anthropic.said(RIGHT)) == "good"
    assert verdict(asked, Anthropic.said(WRONG)) == "reject:violation"


def test_a_schema_that_is_not_strict_is_only_noted():
    asked = OpenAI.request(**OpenAI.schema(strict=False))
    name, found = judge(asked, OpenAI.said(WRONG))
    assert (name, found.violations) == ("good", ())
    assert found.note.startswith("the stored answer breaks the request's own schema, which is not strict ($.label: ")
    assert judge(asked, OpenAI.said(RIGHT))[1].note == ""


def test_strict_tools_are_enforced_where_they_are_called(api):
    asked = api.request(**api.tool())
    assert verdict(asked, api.said(None, calls=[("tag", RIGHT)])) == "good"
    assert verdict(asked, api.said(None, calls=[("tag", WRONG)])) == "reject:violation"
    assert verdict(asked, api.said(None, calls=[("other", WRONG)])) == "good"
    assert verdict(asked, api.said("half a text", finish=api.length)) == "good", "the tool promises nothing of a text"
    loose = api.request(**api.tool(strict=False))
    assert verdict(loose, api.said(None, calls=[("tag", WRONG)])) == "good"


def test_a_contract_on_a_tool_judges_its_arguments_and_nothing_else(api):
    tags = Contract(LABEL, name="tags", on="tool:tag")
    assert verdict(api.request(), api.said("some words", calls=[("tag", RIGHT)]), tags) == "good"
    assert verdict(api.request(), api.said(None, calls=[("tag", RIGHT), ("tag", WRONG)]), tags) == "reject:violation"
    found = judge(api.request(), api.said("only words"), tags)[1]
    assert (found.verdict, found.unjudged, found.contract) == ("good", True, None)
    assert verdict(api.request(), api.said("words", calls=[("other", "{}")]), LABELS) == "good", "no text to judge"


def test_of_several_contracts_the_first_that_selects_judges(api):
    tags = Contract({"type": "object"}, name="tags", on="tool:tag")
    any_text = Contract({"type": "string"}, name="any")
    assert judge(api.request(), api.said(RIGHT), tags, LABELS, any_text)[1].contract.name == "labels"
    assert judge(api.request(), api.said(None, calls=[("tag", "{}")]), tags, LABELS)[1].contract.name == "tags"
    assert judge(api.request(), api.said("half", finish=api.length), tags, LABELS)[1].contract.name == "labels"


def test_a_contract_on_the_requests_own_schema_name():
    critic = Contract({"const": 1}, name="critic", on="schema:critic")
    asked = OpenAI.request(**OpenAI.schema({"type": "number"}, name="critic"))
    assert verdict(asked, OpenAI.said("1"), critic) == "good"
    assert verdict(asked, OpenAI.said("2"), critic) == "reject:violation"
    assert judge(OpenAI.request(**OpenAI.schema({}, name="writer")), OpenAI.said("2"), critic)[1].unjudged


def test_a_callable_selects_by_the_request(api):
    mine = Contract(LABEL, name="mine", on=lambda request: b'"hot"' in request.body)
    assert verdict(api.request(tag="hot"), api.said(WRONG), mine) == "reject:violation"
    assert judge(api.request(tag="cold"), api.said(WRONG), mine)[1].unjudged


def test_every_choice_is_judged_and_named():
    name, found = judge(OpenAI.request(n=2), OpenAI.said(RIGHT, WRONG), LABELS)
    assert name == "reject:violation"
    assert [violation.path for violation in found.violations] == ["choices[1]$.label"]


def test_a_violation_names_its_call_where_there_are_several(api):
    asked = api.request(**api.tool())
    found = judge(asked, api.said(None, calls=[("tag", RIGHT), ("tag", WRONG), ("tag", WRONG)]))[1]
    assert [violation.path for violation in found.violations] == ["tool_calls[1]$.label", "tool_calls[2]$.label"]
    found = judge(OpenAI.request(**OpenAI.tool()), OpenAI.said("", "", calls=[("tag", RIGHT), ("tag", WRONG)]))[1]
    paths = ["choices[0].tool_calls[1]$.label", "choices[1].tool_calls[1]$.label"]
    assert [violation.path for violation in found.violations] == paths
    (alone,) = judge(asked, api.said(None, calls=[("tag", WRONG)]))[1].violations
    assert alone.path == "$.label"


def test_one_refused_choice_does_not_hide_what_another_one_breaks():
    body = json.loads(OpenAI.said(WRONG, None).body)
    body["choices"][1]["message"]["refusal"] = "no"
    response = Response(200, (JSON,), json.dumps(body).encode())
    name, found = judge(OpenAI.request(**OpenAI.schema()), response)
    assert name == "reject:violation"
    assert [violation.path for violation in found.violations] == ["choices[0]$.label"]


def test_a_response_without_any_answer_satisfies_no_contract():
    empty = Response(200, (JSON,), b'{"choices": []}')
    page = Response(200, (("content-type", "text/html"),), b"<p>please log in</p>")
    for response in (empty, page):
        assert verdict(OpenAI.request(), response, LABELS) == "reject:violation"


def _packed(response, encoding="gzip", pack=gzip.compress):
    return replace(response, headers=(*response.headers, ("content-encoding", encoding)), body=pack(response.body))


def test_an_answer_that_is_still_encoded_is_judged_by_its_content():
    assert verdict(OpenAI.request(), _packed(OpenAI.said(RIGHT)), LABELS) == "good"
    assert verdict(OpenAI.request(), _packed(OpenAI.said(WRONG)), LABELS) == "reject:violation"
    assert verdict(OpenAI.request(), _packed(Response(200, (JSON,), b"{NaN}"))) == "reject:json"
    assert verdict(OpenAI.request(), _packed(Response(200, (JSON,), b'{"error": {"message": "busy"}}'))) == "pass:error"
    assert verdict(OpenAI.request(), _packed(Response(200, (SSE,), b'data: {"choices": [{"index": 0}]}\n\n'))) == (
        "reject:cut"
    )


@pytest.mark.parametrize("pack", [bytes, lambda body: gzip.compress(body)[:-9]], ids=["plain", "broken"])
def test_an_answer_that_is_not_encoded_as_it_says_is_none_that_clients_can_read(pack):
    name, found = judge(OpenAI.request(), _packed(OpenAI.said(RIGHT), pack=pack))
    assert (name, [one.found for one in found.violations]) == ("reject:json", ["bytes that are not so encoded"])
    assert verdict(OpenAI.request(), _packed(OpenAI.said(RIGHT), "identity", bytes)) == "good"


def test_of_a_coding_that_cannot_be_undone_nothing_is_judged_and_no_contract_is_satisfied():
    secret = _packed(OpenAI.said(RIGHT), "x-own", lambda body: body[::-1])
    assert verdict(OpenAI.request(), secret) == "good"
    assert verdict(OpenAI.request(), replace(secret, cut=Cut.PROVIDER)) == "reject:cut"
    name, found = judge(OpenAI.request(), secret, LABELS)
    assert (name, found.violations[0].found) == ("reject:violation", "a content-encoding that cannot be undone here")


def test_calls_of_no_known_api_are_counted_as_unjudged_under_a_contract():
    found = judge(Request("POST", "https://api.example/rank", (JSON,), b"{}"), Response(200, (JSON,), b"[]"), LABELS)[1]
    assert (found.verdict, found.unjudged) == ("good", True)


@pytest.mark.parametrize(
    ("keep", "reason", "wanted"),
    [
        (("length",), "length", True),
        (("length",), "cut", False),
        (("status:429",), "status:429", True),
        (("status:4xx",), "status:429", True),
        (("status:4xx",), "status:500", False),
        (("status:4xx",), "length", False),
        (("length",), "", False),
        ((), "status:429", False),
    ],
)
def test_which_kinds_are_kept(keep, reason, wanted):
    assert gate.keeps(keep, reason) is wanted
