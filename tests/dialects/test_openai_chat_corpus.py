from onetake import strictjson
from onetake.dialects.openai_chat import DIALECT
from onetake.events import framing


def _chats(corpus):
    return [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]


def test_every_public_chat_answer_is_read(corpus):
    silent = []
    chats = _chats(corpus)
    for each in chats:
        found = DIALECT.read(each.request, each.response)
        said = found.answer.choices if found.answer else ()
        if 200 <= each.response.status < 300 and not (said and all(c.text or c.tool_calls for c in said)):
            silent.append((each.file, len(each.response.body)))
        if each.response.status >= 400:
            assert found.answer is None
            assert found.error or not each.response.body
    # One cassette holds a call twice, the second time with an empty body.
    assert silent == [("openinference/test_instrumentor/test_instrumentor.yaml", 0)]
    assert len(chats) >= 70


def test_every_public_chat_stream_is_terminal_and_counts(corpus):
    streamed = [each for each in _chats(corpus) if framing(each.response.headers, each.response.body)]
    assert len(streamed) == 9
    for each in streamed:
        found = DIALECT.read(each.request, each.response)
        assert found.terminal, each.file
        # One real stream names no finish at all.
        expected = ["stop", "tool_calls"] if b'"finish_reason":"' in each.response.body else [None]
        assert found.answer.choices[0].finish in expected, each.file
        assert all(call.name in each.request.body.decode() for call in found.answer.choices[0].tool_calls), each.file
        assert (found.output_tokens is not None) == (b'"completion_tokens"' in each.response.body), each.file


def test_public_chat_facts_are_those_of_the_body(corpus):
    for each in _chats(corpus):
        if each.response.status != 200 or not each.response.body.startswith(b"{"):
            continue
        body, found = strictjson.loads(each.response.body), DIALECT.read(each.request, each.response)
        assert found.model == body["model"], each.file
        assert found.input_tokens == body["usage"]["prompt_tokens"], each.file
        assert [c.finish for c in found.answer.choices] == [c["finish_reason"] for c in body["choices"]], each.file
        assert [c.text for c in found.answer.choices] == [c["message"].get("content") or None for c in body["choices"]]
        assert [[call.name for call in c.tool_calls] for c in found.answer.choices] == [
            [call["function"]["name"] for call in c["message"].get("tool_calls") or []] for c in body["choices"]
        ], each.file
