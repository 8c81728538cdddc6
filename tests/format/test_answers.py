from __future__ import annotations

import json

import pytest

from onetake.errors import FormatError
from onetake.format.answers import fold_answer, unfold_answer
from onetake.model import Answer, Choice, ToolCall


def once(choice):
    """The tree of an answer's only choice."""
    return fold_answer(Answer((choice,)), {})["choices"][0]


@pytest.mark.parametrize(
    ("choice", "tree"),
    [
        (Choice(), {}),
        (Choice(text="yes", finish="stop"), {"text": "yes", "finish": "stop"}),
        (Choice(text=""), {"text": ""}),
        (Choice(text="a\nb"), {"text": {"$lines": ["a", "b"]}}),
        (Choice(text='{"label":"bug"}'), {"json": {"label": "bug"}}),
        (Choice(text='{"label": "bug"}'), {"json": {"label": "bug"}, "style": "spaced"}),
        (Choice(text='{\n  "a": 1\n}'), {"json": {"a": 1}, "style": "indent-2"}),
        (Choice(text='{"$json":1}'), {"json": {"$literal": {"$json": 1}}}),
        (Choice(text="[1,2]"), {"json": [1, 2]}),
        (Choice(text="{}"), {"json": {}}),
        (Choice(text='{"n":1.10,"n2":1}'), {"json": {"n": {"$number": "1.10"}, "n2": 1}}),
        (Choice(text='{"a":1, "b":2}'), {"text": '{"a":1, "b":2}'}),
        (Choice(text='```json\n{"a":1}\n```'), {"text": {"$lines": ["```json", '{"a":1}', "```"]}}),
        (Choice(text="half \ud83d"), {"text": "half \ud83d"}),
        (Choice(refusal="I can't."), {"refusal": "I can't."}),
        (Choice(reasoning="First\nsecond", finish=""), {"finish": "", "reasoning": {"$lines": ["First", "second"]}}),
        (
            Choice(tool_calls=(ToolCall("find", {"id": 9007199254740993, "q": "a\nb"}), ToolCall("raw", "{oops"))),
            {
                "tool_calls": [
                    {"name": "find", "arguments": {"id": 9007199254740993, "q": {"$lines": ["a", "b"]}}},
                    {"name": "raw", "arguments": "{oops"},
                ]
            },
        ),
        (Choice(tool_calls=(ToolCall("none", None),)), {"tool_calls": [{"name": "none", "arguments": None}]}),
        (
            Choice(tool_calls=(ToolCall("odd", {"$lines": 1, "x": float("inf")}),)),
            {"tool_calls": [{"name": "odd", "arguments": {"$literal": {"$lines": 1, "x": {"$number": "1e999"}}}}]},
        ),
    ],
)
def test_a_choice_is_shown_and_comes_back(choice, tree):
    assert once(choice) == tree
    assert unfold_answer(json.loads(json.dumps({"choices": [tree]})), {}.get) == Answer((choice,))


def test_the_first_thing_said_comes_first():
    tree = once(Choice("t", (ToolCall("f", 1),), "stop", "no", "because"))
    assert list(tree) == ["text", "tool_calls", "finish", "refusal", "reasoning"]


def test_an_answer_without_choices_is_no_missing_answer():
    assert fold_answer(Answer(), {}) == {"choices": []}
    assert unfold_answer({"choices": []}, {}.get) == Answer()


def test_long_arrays_of_an_answer_are_values_again():
    answer = Answer((Choice(text=json.dumps([0.5] * 70)), Choice(tool_calls=(ToolCall("f", {"v": [1] * 70}),))))
    sides: dict = {}
    tree = fold_answer(answer, sides)
    assert len(sides) == 2
    assert unfold_answer(tree, sides.get) == answer


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        ([], "choices must be a list"),
        ({"choices": {}}, "choices must be a list"),
        ({"choices": ["x"]}, "a choice must be an object"),
        ({"choices": [{"text": 1}]}, "text must be a string"),
        ({"choices": [{"finish": ["a"]}]}, "finish must be a string"),
        ({"choices": [{"tool_calls": {}}]}, "tool_calls must be a list"),
        ({"choices": [{"tool_calls": [{"name": "f"}]}]}, "with name and arguments"),
        ({"choices": [{"tool_calls": [{"name": 1, "arguments": 1}]}]}, "with name and arguments"),
        ({"choices": [{"json": 1, "style": "loud"}]}, "unknown style"),
    ],
)
def test_a_malformed_answer_is_named(tree, why):
    with pytest.raises(FormatError, match=why):
        unfold_answer(tree, {}.get)
