"""How shapes differ, graded."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.jsonpath import show
from onetake.probing.shape_changes import changes
from onetake.probing.shapes import Shaper, shape_of


def listed(found):
    return [(str(one.severity), str(one.kind), show(one.path), one.recorded, one.live) for one in found]


def between(old, new):
    return listed(changes(shape_of(old), shape_of(new)))


def around(old, new, said=(), live_said=()):
    shapes = []
    for value, words in ((old, said), (new, live_said)):
        shaper = Shaper(is_envelope=True, said=words)
        shaper.add(value)
        shapes.append(shaper.shape)
    return listed(changes(*shapes))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a": 1, "b": "x"}, {"b": "yy", "a": 2.5}),
        ([], [{"a": 1}]),
        ([{"a": 1}], []),
        ([1, "x"], ["y"]),
        ([{"a": 1}, {"b": 1}], [{"b": 2, "a": 3}]),
        ({"a": None}, {"a": None}),
        ([None, 1], [None]),
        ({}, {}),
    ],
)
def test_values_order_and_length_make_no_difference(old, new):
    assert between(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": 1}, {"a": 1, "b": [2]}, ("info", "added", "$.b", None, "array")),
        ({"a": 1, "b": {"c": 1}}, {"a": 1}, ("warning", "removed", "$.b", "object", None)),
        ({"a": None}, {}, ("warning", "removed", "$.a", "null", None)),
        ({"a": ["x"]}, {"a": "x"}, ("error", "type", "$.a", "array", "string")),
        ({"a": 1}, {"a": True}, ("error", "type", "$.a", "number", "boolean")),
        ({"a": [{"b": 1}]}, {"a": {"b": 1}}, ("error", "type", "$.a", "array", "object")),
        ([1], [1, "x"], ("error", "type", "$[*]", "number", "number or string")),
        ({"a": 1}, {"a": None}, ("warning", "null", "$.a", "number", "null")),
        ([{"a": 1}], [{"a": 1}, {"a": None}], ("warning", "null", "$[*].a", "number", "null or number")),
        ({"a": None}, {"a": 1}, ("info", "null", "$.a", "null", "number")),
        (
            {"a": {"odd name": [1]}},
            {"a": {"odd name": ["x"]}},
            ("error", "type", '$.a["odd name"][*]', "number", "string"),
        ),
    ],
)
def test_each_change_has_its_grade(old, new, found):
    assert between(old, new) == [found]


def test_a_renamed_field_is_one_that_went_and_one_that_came():
    assert [one[:3] for one in between({"a": 1}, {"b": 1})] == [("warning", "removed", "$.a"), ("info", "added", "$.b")]


def test_the_words_of_an_api_are_compared_and_those_of_a_model_are_not():
    assert around({"object": "chat"}, {"object": "list"}) == [("error", "enum", "$.object", "chat", "list")]
    assert around({"role": "assistant"}, {"role": "tool"}) == [("error", "enum", "$.role", "assistant", "tool")]
    assert around([{"type": "a"}], [{"type": "b", "x": 1}]) == [("error", "enum", "$[*].type", "a", "b")]
    assert between({"type": "bug"}, {"type": "feature"}) == []


def test_sorts_of_items_come_and_go():
    text, call = {"type": "text", "text": "x"}, {"type": "call", "name": "y"}
    assert around([text, call], [call]) == [("info", "removed", "$[*]", "text", None)]
    assert around([call], [call, text]) == [("info", "added", "$[*]", None, "text")]


def test_an_object_that_no_longer_says_what_it_is_lacks_that_field():
    assert around({"type": "a", "x": 1}, {"x": 1}) == [("warning", "removed", "$.type", "string", None)]
    assert around({"x": 1}, {"type": "a", "x": 1}) == [("info", "added", "$.type", None, "string")]


def test_what_the_model_said_may_be_absent_but_not_renamed():
    body = {"content": "Hello", "id": "7"}
    assert around(body, {"id": "7"}, ["Hello"]) == [("info", "removed", "$.content", "string", None)]
    assert around(body, {"id": "7", "content": None}, ["Hello"]) == [("info", "null", "$.content", "string", "null")]
    renamed = around(body, {"id": "7", "text": "Hi"}, ["Hello"], ["Hi"])
    assert renamed[0] == ("warning", "removed", "$.content", "string", None)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
)


def said_otherwise(value):
    """Return a value of the same shape: other texts and numbers, lists turned round and longer."""
    if isinstance(value, dict):
        return {name: said_otherwise(value[name]) for name in reversed(value)}
    if isinstance(value, list):
        return [said_otherwise(item) for item in reversed(value)] + [said_otherwise(item) for item in value]
    if isinstance(value, bool):
        return not value
    return value + 0.5 if isinstance(value, int) else value and value + "x"


@given(VALUES)
def test_whatever_is_said_otherwise_in_one_shape_differs_in_nothing(value):
    assert between(value, said_otherwise(value)) == []


@given(VALUES, VALUES)
def test_where_one_shape_lacks_something_the_other_has_it(old, new):
    def turned(found):
        return {(path, recorded, live) for _, kind, path, recorded, live in found if kind in ("added", "removed")}

    assert {(path, live, recorded) for path, recorded, live in turned(between(old, new))} == turned(between(new, old))
