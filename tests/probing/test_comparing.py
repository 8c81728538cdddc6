"""A stored answer beside a fresh one, in every dialect, whole and streamed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from onetake.contract import Contract
from onetake.errors import UsageError
from onetake.model import Cut, Response
from onetake.probing.comparing import compare
from onetake.probing.findings import Compared, Kind, Outcome, Severity, Unknown
from onetake.testing import provider

HOST = "https://api.example"
APIS = {
    "openai-chat": ("/v1/chat/completions", provider.openai_chat, "length", "content_filter"),
    "openai-chat streamed": ("/v1/chat/completions", provider.openai_stream, "length", "content_filter"),
    "responses": ("/v1/responses", provider.openai_response, "max_output_tokens", "content_filter"),
    "responses streamed": ("/v1/responses", provider.openai_response_stream, "max_output_tokens", "content_filter"),
    "anthropic": ("/v1/messages", provider.anthropic_message, "max_tokens", "refusal"),
    "anthropic streamed": ("/v1/messages", provider.anthropic_stream, "max_tokens", "refusal"),
    "gemini": ("/v1beta/models/g:generateContent", provider.gemini_content, "MAX_TOKENS", "SAFETY"),
    "gemini streamed": ("/v1beta/models/g:streamGenerateContent", provider.gemini_stream, "MAX_TOKENS", "SAFETY"),
    "ollama": ("/api/chat", provider.ollama_message, "length", None),
    "ollama streamed": ("/api/chat", provider.ollama_stream, "length", None),
    "cohere": ("/v2/chat", provider.cohere_message, "MAX_TOKENS", None),
    "cohere streamed": ("/v2/chat", provider.cohere_stream, "MAX_TOKENS", None),
    "cohere 1": ("/v1/chat", provider.cohere_v1_message, "MAX_TOKENS", None),
    "cohere 1 streamed": ("/v1/chat", provider.cohere_v1_stream, "MAX_TOKENS", None),
    "converse": ("/model/m/converse", provider.bedrock_converse, "max_tokens", "guardrail_intervened"),
    "converse streamed": (
        "/model/m/converse-stream",
        provider.bedrock_converse_stream,
        "max_tokens",
        "content_filtered",
    ),
}
CALL = ("look_up", {"city": "Paris", "days": 3, "tags": ["a"]})


@pytest.fixture(params=APIS)
def api(request, beside):
    """One API: compares what its provider said with what it says, both given as arguments of its reply."""
    path, reply, length, refusal = APIS[request.param]

    def compared(old, new):
        return beside(reply(**old), reply(**new), url=HOST + path, asked={})

    return SimpleNamespace(compare=compared, length=length, refusal=refusal)


def has(compared, severity, kind, path, recorded, live):
    assert isinstance(compared, Compared), compared
    wanted = (severity, kind, path, recorded, live)
    listed = [(one.severity, one.kind, one.path, one.recorded, one.live) for one in compared.findings]
    assert wanted in listed, listed


def test_another_text_is_no_finding(api):
    said = {"text": "It rains in Paris, and will rain for three days."}
    compared = api.compare(said, {"text": "Sun."})
    assert compared.findings == () and compared.labels == ()


def test_other_values_of_the_same_arguments_are_no_finding(api):
    other = ("look_up", {"city": "Rome, by the sea", "days": 1.5, "tags": []})
    assert api.compare({"tool_calls": [CALL]}, {"tool_calls": [other, CALL]}).findings == ()


def test_words_before_a_tool_call_may_be_absent(api):
    compared = api.compare({"text": "Let me see.", "tool_calls": [CALL]}, {"tool_calls": [CALL]})
    assert compared.worst() in (None, Severity.INFO), compared.findings


def test_a_renamed_argument_and_a_stringified_array_are_found(api):
    other = ("look_up", {"town": "Rome", "days": 3, "tags": "a"})
    compared = api.compare({"tool_calls": [CALL]}, {"tool_calls": [other]})
    has(compared, "warning", "removed", "tools.look_up$.city", "string", None)
    has(compared, "info", "added", "tools.look_up$.town", None, "string")
    has(compared, "error", "type", "tools.look_up$.tags", "array", "string")
    assert len(compared.findings) == 3, "and nothing else, in the body neither"


def test_a_field_of_the_json_that_is_renamed_or_stringified_is_found(api):
    compared = api.compare({"json": {"tags": ["x"], "n": 1}}, {"json": {"tags": "x", "m": 1}})
    has(compared, "error", "type", "answer$.tags", "array", "string")
    has(compared, "warning", "removed", "answer$.n", "number", None)
    has(compared, "info", "added", "answer$.m", None, "number")
    assert len(compared.findings) == 3


def test_a_dropped_tool_is_found(api):
    compared = api.compare({"tool_calls": [CALL]}, {"text": "It rains."})
    has(compared, "error", "tool", "tools", "look_up", None)


def test_another_tool_is_found(api):
    compared = api.compare({"tool_calls": [CALL]}, {"tool_calls": [("look_down", CALL[1])]})
    has(compared, "error", "tool", "tools", "look_up", None)
    has(compared, "warning", "tool", "tools", None, "look_down")


def test_a_cut_answer_is_found(api):
    compared = api.compare({"text": "It rains."}, {"text": "It", "finish": api.length})
    assert (Kind.LENGTH, Severity.ERROR) in {(one.kind, one.severity) for one in compared.findings}
    back = api.compare({"text": "It", "finish": api.length}, {"text": "It rains."})
    assert back.worst() is Severity.INFO, "fewer words"


@pytest.mark.parametrize("api", [name for name, row in APIS.items() if row[-1]], indirect=True)
def test_a_refusal_is_found(api):
    compared = api.compare({"text": "It rains."}, {"refusal": "I will not say.", "finish": api.refusal})
    assert (Kind.REFUSAL, Severity.ERROR) in {(one.kind, one.severity) for one in compared.findings}


def test_another_served_model_is_found(api):
    compared = api.compare({"text": "It rains.", "model": "one"}, {"text": "Sun.", "model": "two"})
    if compared.model:
        has(compared, "error", "model", "model", "one", "two")
    else:
        assert compared.findings == (), "this API does not say who answers"


def test_an_empty_answer_is_no_drift(api):
    assert api.compare({"text": "It rains."}, {"text": ""}) == Unknown(Outcome.FAILED, "an empty answer")


def test_another_model_that_was_asked_for_is_told_and_is_no_drift(stored, response):
    entry, fresh = stored(provider.openai_chat("a", model="one")), response(provider.openai_chat("b", model="two"))
    asked = replace(entry.request, body=entry.request.body.replace(b"gpt-5", b"two"))
    compared = compare(entry, fresh, name="a.json", asked=asked, root=Path())
    has(compared, "info", "model", "model", "one", "two")


@pytest.mark.parametrize("status", [401, 404, 429, 500, 302])
def test_br_179_an_error_status_is_no_drift(beside, status):
    new = Response(status, (("location", "https://x.example"),), b'{"error": {"message": "no"}}')
    assert beside(provider.openai_chat("a"), new) == Unknown(Outcome.FAILED, f"status {status}")


def test_br_179_an_error_under_a_good_status_a_cut_body_and_a_page_are_no_drift(beside):
    old, fresh = provider.openai_chat("a"), provider.openai_chat("b")
    overloaded = beside(old, provider.openai_error(200, "overloaded"))
    assert overloaded == Unknown(Outcome.FAILED, "an error under status 200: overloaded")
    cut = Response(200, fresh.headers, fresh.body[:40], cut=Cut.PROVIDER)
    assert beside(old, cut) == Unknown(Outcome.FAILED, "the body was cut short")
    page = Response(200, (("content-type", "text/html; charset=utf-8"),), b"<p>Back soon</p>")
    assert beside(old, page) == Unknown(Outcome.FAILED, "what came as text/html cannot be read as an answer")
    nothing = Response(200, fresh.headers, b"")
    assert isinstance(beside(old, nothing), Unknown)


def test_br_183_an_added_a_removed_and_a_retyped_field_have_three_grades(beside, found):
    old = provider.openai_chat("a")
    body = json.loads(old.body)
    del body["service_tier"]
    new = provider.json_reply(body | {"provider": "x", "created": "today"})
    assert found(beside(old, new)) == [
        ("error", "type", "$.created", "number", "string"),
        ("warning", "removed", "$.service_tier", "string", None),
        ("info", "added", "$.provider", None, "string"),
    ]


def test_an_answer_that_moved_to_another_field_is_drift(beside, found):
    old = provider.openai_chat("Hello")
    moved = json.loads(old.body)
    message = moved["choices"][0]["message"]
    message["text"] = message.pop("content")
    assert found(beside(old, provider.json_reply(moved))) == [
        ("error", "answer", "answer", "text", None),
        ("warning", "removed", "$.choices[*].message.content", "string", None),
        ("info", "added", "$.choices[*].message.text", None, "string"),
    ]
    renamed = json.loads(old.body)
    renamed["outputs"] = renamed.pop("choices")
    assert found(beside(old, provider.json_reply(renamed)))[0] == ("error", "answer", "answer", "text", None)


@pytest.mark.parametrize(
    ("live", "why"),
    [
        (provider.json_reply({"queued": True}), "an empty answer"),
        (provider.json_reply({"id": "chatcmpl-1", "queued": True}), "an empty answer"),
        (provider.json_reply({"notice": "We are down for maintenance."}), "an empty answer"),
        (provider.json_reply({"id": "chatcmpl-1", "state": "queued"}, status=202), "status 202, and no answer yet"),
    ],
    ids=["another API's", "no place for it", "another API's words", "not yet"],
)
def test_what_holds_no_answer_anywhere_failed_and_is_no_drift(beside, live, why):
    assert beside(provider.openai_chat("Hello"), live) == Unknown(Outcome.FAILED, why)


def test_a_stream_without_its_end_is_drift(beside, found):
    old = provider.anthropic_stream("It rains in Paris, and nowhere else.")
    new = replace(old, pieces=old.pieces[:-1])
    assert ("error", "cut", "events", "the terminal event", None) in found(beside(old, new, url=f"{HOST}/v1/messages"))


def test_an_event_that_is_no_json_is_drift(beside, found):
    old = provider.openai_stream("a b c d")
    broken = (*old.pieces[:2], b'data: {"choices": [{"delta"\n\n', *old.pieces[2:])
    new = replace(old, pieces=broken)
    assert ("error", "type", "events", "JSON", "an event that is no JSON") in found(beside(old, new))
    assert found(beside(new, new)) == [], "it was none before"


def test_a_stream_that_comes_as_one_body_is_drift(beside, found):
    assert found(beside(provider.openai_stream("a b c"), provider.openai_chat("d"))) == [
        ("error", "type", "body", "sse", "JSON")
    ]


def test_what_breaks_the_contract_is_drift_and_what_broke_it_before_is_not(beside, found):
    contract = Contract({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}, name="n")
    good, bad, worse = (provider.openai_chat(json={"n": n}) for n in (1, 10, 11))
    assert found(beside(good, bad, contracts=[contract])) == [
        ("error", "contract", "answer$.n", "at most 9", "10"),
    ]
    assert [one[0] for one in found(beside(bad, worse, contracts=[contract]))] == ["info"]
    assert found(beside(good, bad)) == [], "without it, it is a number"


def test_a_contract_that_breaks_on_an_answer_says_nothing_of_drift(beside):
    def broken(request):
        raise KeyError("x")

    contract = Contract({"type": "object"}, name="n", on=broken)
    compared = beside(provider.openai_chat(json={}), provider.openai_chat(json={}), contracts=[contract])
    assert compared == Unknown(Outcome.FAILED, "a contract broke (KeyError: 'x')")


def test_a_contract_that_watches_what_is_not_there_is_a_usage_error(beside):
    contract = Contract({"type": "object"}, name="n", watch=["nowhere.py"])
    with pytest.raises(UsageError, match=r"nowhere\.py"):
        beside(provider.openai_chat(json={}), provider.openai_chat(json={}), contracts=[contract])


def test_another_good_status_is_told(beside, found):
    old = provider.openai_chat("a")
    assert found(beside(old, replace(old, status=201))) == [("info", "status", "status", 200, 201)]


def test_the_second_asking_counts_too(beside, found):
    reply = provider.openai_chat
    compared = beside(reply("a"), reply("b"), again=reply("c", finish="length"))
    assert found(compared) == [("error", "length", "finish", "stop", "length")]
    failed = beside(reply("a"), reply("b"), again=provider.openai_error(500))
    assert found(failed) == []


def test_notes_are_no_findings(beside):
    usage = {"prompt_tokens": 100}
    compared = beside(provider.openai_chat("a"), provider.openai_chat("b " * 50, usage=usage), latency_ms=12.5)
    notes = {note.name: (note.recorded, note.live) for note in compared.notes}
    assert notes["input_tokens"][1] == 100 and notes["latency_ms"] == (None, 12.5)
    assert notes["fingerprint"][0] != notes["fingerprint"][1], "and yet:"
    assert compared.findings == ()


def test_a_secret_in_what_came_is_in_no_finding(beside):
    secret = "sk-proj-" + "a1B2c3D4" * 6
    contract = Contract({"type": "object", "properties": {"n": {"const": 1}}}, name="n")
    old, new = provider.openai_chat(json={"n": 1}, model="one"), provider.openai_chat(json={"n": secret}, model=secret)
    new = provider.json_reply(json.loads(new.body) | {"system_fingerprint": secret})
    compared = beside(old, new, contracts=[contract], label_paths=["$.n"])
    assert len(compared.findings) >= 3 and "fingerprint" in [note.name for note in compared.notes]
    assert secret[:20] not in repr(compared)


def test_a_wrong_label_path_is_a_usage_error(beside):
    with pytest.raises(UsageError, match="JSON path"):
        beside(provider.openai_chat("a"), provider.openai_chat("b"), label_paths=["n"])
