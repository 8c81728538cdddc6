import json
from dataclasses import replace
from pathlib import Path

from onetake import dialects, gate
from onetake.contract import Contract
from onetake.dialects import Reading
from onetake.dialects.openai_chat import DIALECT
from onetake.model import Answer, Choice, Request, Response

VERTEX = "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/mistralai/models/codestral-2"
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
USAGE = {"prompt_tokens": 9, "completion_tokens": 3}


def asking():
    return Request("POST", "https://api.openai.com/v1/chat/completions", body=b'{"model": "gpt-4o"}')


def stream(*chunks, end="data: [DONE]\n\n"):
    said = "".join(f"data: {json.dumps({'model': 'gpt-4o-1', **chunk})}\n\n" for chunk in chunks)
    return Response(200, SSE, (said + end).encode())


def delta(finish=None, **said):
    return {"choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def reading(choice):
    return Reading(Answer((choice,)), model="gpt-4o-1")


def test_a_chunk_that_is_no_strict_json_says_nothing():
    good = delta(content="a")
    for bad in ('{"choices": [{"delta": {"content": NaN}}]}', '{"choices": [], "choices": [1]}', "{"):
        response = stream(good, end=f"data: {bad}\n\ndata: [DONE]\n\n")
        assert DIALECT.read(asking(), response) == reading(Choice("a"))


def test_br_063_a_cut_stream_is_not_finished():
    cut = stream(delta(content="Hello"), delta(finish="stop"), {"choices": [], "usage": USAGE}, end="")
    found = DIALECT.read(asking(), cut)
    assert found.answer == Answer((Choice("Hello", finish="stop"),))
    assert not found.terminal


def test_an_empty_event_stream_is_not_finished():
    assert DIALECT.read(asking(), Response(200, SSE, b"")) == Reading(terminal=False)


def test_openrouter_comments_and_native_words_change_nothing():
    said = stream(
        delta(content="Hi"), {"choices": [delta(finish="stop")["choices"][0] | {"native_finish_reason": "X"}]}
    )
    body = b": OPENROUTER PROCESSING\n\n" + said.body.replace(b"\n\n", b"\n\n: OPENROUTER PROCESSING\n\n", 1)
    assert DIALECT.read(asking(), Response(200, SSE, body)) == reading(Choice("Hi", finish="stop"))


def test_on_vertex_the_model_is_in_the_path():
    asked = Request("POST", f"{VERTEX}:rawPredict", body=b'{"model": "codestral"}')
    assert dialects.find("POST", asked.url) is DIALECT
    assert DIALECT.model_asked(asked) == "codestral-2"


def test_on_vertex_the_gate_knows_a_stream_that_ended_and_a_contract_that_is_broken():
    asked = Request("POST", f"{VERTEX}:streamRawPredict", body=b'{"model": "codestral-2", "stream": true}')
    said, cut = stream(delta(content="hello")), stream(delta(content="hello"), end="")
    failing = b'data: {"object": "error", "message": "overloaded"}\n\n'

    def verdict(response, *contracts):
        return gate.judge(asked, response, contracts, root=Path()).verdict

    assert verdict(said) == "good"
    assert verdict(said, Contract({"type": "object"}, name="any")) == "reject:violation"
    assert verdict(cut) == "reject:cut"
    assert verdict(replace(cut, body=cut.body + failing)) == "pass:error"
