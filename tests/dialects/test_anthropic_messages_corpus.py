from onetake import strictjson
from onetake.dialects.anthropic_messages import DIALECT
from onetake.events import framing


def _messages(corpus):
    return [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]


def test_every_public_message_is_read(corpus):
    found_any = _messages(corpus)
    assert len(found_any) >= 27
    for each in found_any:
        found = DIALECT.read(each.request, each.response)
        if each.response.status == 200:
            choice = found.answer.choices[0]
            assert (choice.text or choice.tool_calls) and choice.finish, each.file
            assert found.terminal and found.error is None, each.file
            assert found.input_tokens and found.output_tokens and found.model, each.file
        else:
            assert found.answer is None and found.error, each.file


def test_public_message_streams_give_their_answers(corpus):
    streamed = [each for each in _messages(corpus) if framing(each.response.headers, each.response.body)]
    answers = [DIALECT.read(each.request, each.response).answer.choices[0] for each in streamed]
    assert [(bool(a.text), [c.name for c in a.tool_calls], a.finish) for a in answers] == [
        (True, [], "end_turn"),
        (False, ["pelican_name_generator"] * 2, "tool_use"),
        (True, [], "end_turn"),
    ]


def test_public_message_facts_are_those_of_the_body(corpus):
    for each in _messages(corpus):
        if each.response.status != 200 or framing(each.response.headers, each.response.body):
            continue
        body, found = strictjson.loads(each.response.body), DIALECT.read(each.request, each.response)
        assert found.model == body["model"], each.file
        assert (found.input_tokens, found.output_tokens) == (
            body["usage"]["input_tokens"],
            body["usage"]["output_tokens"],
        ), each.file
        assert [c.name for c in found.answer.choices[0].tool_calls] == [
            block["name"] for block in body["content"] if block["type"] == "tool_use"
        ], each.file
