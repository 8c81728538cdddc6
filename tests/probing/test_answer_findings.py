"""What the model said, choice by choice."""

from onetake.testing.provider import openai_chat, openai_response


def test_json_that_turns_into_prose_is_an_error_and_prose_into_json_a_warning(beside, found):
    prose, data = openai_chat("Here it is: a"), openai_chat(json={"a": 1})
    assert found(beside(data, prose)) == [("error", "type", "answer$", "object", "text")]
    assert found(beside(prose, data)) == [("warning", "type", "answer$", "text", "object")]
    assert found(beside(openai_chat(json={"a": 1}), openai_chat(json=[1]))) == [
        ("error", "type", "answer$", "object", "array")
    ]


def test_json_in_a_fence_is_compared_and_a_fence_that_comes_breaks_readers(beside, found):
    plain, numbered = openai_chat('{"a": "x"}'), openai_chat('{"a": 1}')
    fenced, other = openai_chat('```json\n{"a": "x"}\n```'), openai_chat('```json\n{"a": 1}\n```')
    assert found(beside(fenced, other)) == [("error", "type", "answer$.a", "string", "number")]
    assert found(beside(fenced, fenced)) == []
    assert found(beside(plain, fenced)) == [("error", "type", "answer$", "object", "object in a Markdown fence")]
    assert [one[0] for one in found(beside(fenced, plain))] == ["warning"]
    assert [one[:3] for one in found(beside(plain, other))] == [
        ("error", "type", "answer$"),
        ("error", "type", "answer$.a"),
    ]
    assert ("error", "type", "answer$", "object in a Markdown fence", "text") in found(beside(fenced, openai_chat("x")))
    assert found(beside(plain, numbered)) == [("error", "type", "answer$.a", "string", "number")]


def test_json_beside_a_tool_call_is_compared(beside, found):
    old, new, prose = (openai_chat(text, tool_calls=[("t", {})]) for text in ('{"a": "x"}', '{"a": 1}', "Well"))
    assert found(beside(old, new)) == [("error", "type", "answer$.a", "string", "number")]
    assert found(beside(old, prose)) == [("error", "type", "answer$", "object", "text")]
    assert {one[0] for one in found(beside(old, openai_chat(tool_calls=[("t", {})])))} == {"info"}


def test_each_choice_has_its_name(beside, found):
    old, new = openai_chat(["a", '{"x": 1}']), openai_chat(["b", '{"x": "1"}'])
    assert found(beside(old, new)) == [("error", "type", "choices[1].answer$.x", "number", "string")]


def test_another_number_of_choices_is_found(beside, found):
    assert found(beside(openai_chat("a", n=3), openai_chat("b", n=2))) == [("error", "choices", "choices", 3, 2)]


def test_another_word_for_the_end_is_found(beside, found):
    said = {"finish": "stop"}, {"finish": "eos"}, {"finish": None}
    stop, eos, none = (openai_chat("a", **one) for one in said)
    assert found(beside(stop, eos)) == [("error", "finish", "finish", "stop", "eos")]
    assert [one[:3] for one in found(beside(stop, none))] == [
        ("warning", "null", "$.choices[*].finish_reason"),
        ("warning", "finish", "finish"),
    ]
    assert {one[0] for one in found(beside(none, stop))} == {"info"}


def test_a_refusal_that_ends_is_found_too(beside, found):
    no, yes = openai_chat(refusal="I will not."), openai_chat("Well")
    assert ("error", "refusal", "refusal", "I will not.", None) in found(beside(no, yes))
    assert found(beside(no, openai_chat(refusal="Never."))) == []


def test_of_half_an_answer_only_its_end_is_compared(beside, found):
    half = openai_chat('{"a": [1, 2', finish="length")
    assert found(beside(openai_chat(json={"a": [1]}), half)) == [("error", "length", "finish", "stop", "length")]
    assert found(beside(half, openai_chat('{"a": [1', finish="length"))) == []


def test_a_tool_beside_the_stored_ones_is_a_warning_and_one_in_the_place_of_text_an_error(beside, found):
    one, two = openai_chat(tool_calls=[("a", {})]), openai_chat(tool_calls=[("b", {}), ("a", {})])
    assert found(beside(one, two)) == [("warning", "tool", "tools", None, "b")]
    assert ("error", "tool", "tools", None, "a") in found(beside(openai_chat("x"), one))


def test_how_often_a_tool_is_called_does_not_count(beside, found):
    old = openai_chat(tool_calls=[("a", {"x": 1}), ("a", {"y": 1})])
    assert found(beside(old, openai_chat(tool_calls=[("a", {"x": 2, "y": 2})]))) == []


def test_arguments_that_are_no_json_any_more_are_another_type(beside, found):
    old, new = openai_response(tool_calls=[("a", {"x": 1})]), openai_response(tool_calls=[("a", '{"x": 1')])
    compared = beside(old, new, url="https://api.openai.com/v1/responses")
    assert found(compared) == [("error", "type", "tools.a$", "object", "string")]
