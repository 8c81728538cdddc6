import json

from onetake import strictjson
from onetake.dialects.openai_responses import DIALECT
from onetake.events import events, framing
from onetake.model import Response

JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream; charset=utf-8"),)


def _public(corpus):
    return [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]


def _is_encoded(each):
    # One cassette kept its bodies as brotli and dropped the header that says so.
    return not framing(each.response.headers, each.response.body) and not each.response.body.startswith(b"{")


def test_public_responses_are_read(corpus):
    found = [each for each in _public(corpus) if not _is_encoded(each)]
    assert (len(_public(corpus)), len(found)) == (18, 17)
    for each in found:
        said = DIALECT.read(each.request, each.response)
        assert said.terminal, each.file
        assert said.error is None
        (choice,) = said.answer.choices
        assert choice.finish in ("completed", "complete")  # the second is a made-up cassette's
        assert choice.text or choice.tool_calls, each.file
        assert all(call.name in each.request.body.decode() for call in choice.tool_calls), each.file
        assert isinstance(said.input_tokens, int)
        assert isinstance(said.output_tokens, int)


def test_public_responses_say_what_their_bodies_say(corpus):
    whole = [each for each in _public(corpus) if each.response.body.startswith(b"{")]
    for each in whole:
        told, found = strictjson.loads(each.response.body), DIALECT.read(each.request, each.response)
        texts = [part["text"] for item in told["output"] if item["type"] == "message" for part in item["content"]]
        names = [item["name"] for item in told["output"] if item["type"] == "function_call"]
        assert (found.answer.choices[0].text or "") == "".join(texts), each.file
        assert [call.name for call in found.answer.choices[0].tool_calls] == names, each.file
        assert found.output_tokens == told["usage"]["output_tokens"], each.file
    assert len(whole) == 12


def test_public_streams_put_together_say_what_their_last_event_says(corpus):
    streamed = [each for each in _public(corpus) if framing(each.response.headers, each.response.body)]
    assert len(streamed) == 5
    for each in streamed:
        last = next(json.loads(e.data) for e in events(each.response) if DIALECT.is_terminal(e))["response"]
        whole = DIALECT.read(each.request, Response(200, JSON, json.dumps(last).encode()))
        emptied = last | {"output": []}
        kept = [e.raw for e in events(each.response) if not DIALECT.is_terminal(e) and not e.data.startswith("[")]
        ending = f"data: {json.dumps({'type': 'response.completed', 'response': emptied})}\n\n".encode()
        put_together = DIALECT.read(each.request, Response(200, SSE, b"".join(kept) + ending))
        assert put_together.answer == whole.answer, each.file
