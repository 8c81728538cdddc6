"""Gemini in the public cassettes."""

from onetake import strictjson
from onetake.dialects.gemini import DIALECT
from onetake.events import ARRAY, framing


def _spoken(corpus):
    return [each for each in corpus if DIALECT.speaks(each.request.method, each.request.url)]


def test_every_public_answer_is_read(corpus):
    found_any = _spoken(corpus)
    assert len(found_any) >= 18
    for each in found_any:
        found = DIALECT.read(each.request, each.response)
        choice = found.answer.choices[0]
        assert (choice.text or choice.tool_calls) and choice.finish == "STOP", each.file
        assert found.terminal and found.error is None, each.file
        assert found.input_tokens and found.output_tokens, each.file
        assert DIALECT.model_asked(each.request).startswith("gemini-"), each.file
        if found.model:
            assert found.model == DIALECT.model_asked(each.request), each.file


def test_public_facts_are_those_of_the_body(corpus):
    seen = 0
    for each in _spoken(corpus):
        if framing(each.response.headers, each.response.body):
            continue
        body, found = strictjson.loads(each.response.body), DIALECT.read(each.request, each.response)
        usage = body["usageMetadata"]
        assert found.input_tokens + found.output_tokens == usage["totalTokenCount"], each.file
        assert found.input_tokens == usage["promptTokenCount"] + usage.get("toolUsePromptTokenCount", 0), each.file
        parts = body["candidates"][0]["content"]["parts"]
        assert found.answer.choices[0].text == "".join(part.get("text", "") for part in parts), each.file
        seen += 1
    assert seen >= 9


def test_public_array_streams_give_their_answers(corpus):
    arrays = [each for each in _spoken(corpus) if framing(each.response.headers, each.response.body) == ARRAY]
    answers = [DIALECT.read(each.request, each.response).answer.choices[0] for each in arrays]
    assert [(a.text, [c.name for c in a.tool_calls], bool(a.reasoning)) for a in answers] == [
        (None, ["pelican_name_generator"], True),
        (None, ["pelican_name_generator"], False),
        ("How about Charles and Sammy?", [], False),
    ]
