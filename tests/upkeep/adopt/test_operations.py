"""The exact difference of two requests, and what it does to others."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.key import Keyer
from onetake.upkeep.adopt.operations import Kind, Operation, applied, operations, signature, tree_of, whole
from onetake.upkeep.adopt.rewording import NoFitError

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-1, 1) | st.text("ab .ä", max_size=12)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)


def shown(old, new):
    return [str(one) for one in operations(old, new)]


def body(value):
    return {"body": {"json": value}}


@settings(max_examples=300, deadline=None)
@given(VALUES, VALUES)
def test_what_only_adds_and_changes_gives_the_other_and_the_rest_is_not_done(old, new):
    before, found = json.dumps(old), operations(old, new)
    if {one.kind for one in found} <= {Kind.ADDED, Kind.CHANGED}:
        assert signature(applied(found, old)) == signature(new)
    else:
        with pytest.raises(NoFitError):
            applied(found, old)
    assert json.dumps(old) == before


def test_pieces_of_a_text_are_put_together_to_the_whole_one():
    old, new = (
        body({"prompt": text, "n": n}) for text, n in (("Be brief. Now answr.", 1), ("Be very brief. Now answer.", 2))
    )
    found = operations(old, new)
    assert [one.kind for one in found] == [Kind.TEXT, Kind.TEXT, Kind.CHANGED]
    wholes = whole(found, old, new)
    assert [(one.kind, one.path[-1]) for one in wholes] == [(Kind.CHANGED, "n"), (Kind.CHANGED, "prompt")]
    assert applied(wholes, old) == new
    with pytest.raises(NoFitError):
        applied(wholes, body({"prompt": "Be brief. Now answr. Please.", "n": 1}))


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_equal_values_need_nothing(value):
    assert operations(value, json.loads(json.dumps(value))) == ()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ({}, {"store": False}, "body$.store: added false"),
        ({"user": "me"}, {}, 'body$.user: removed "me"'),
        ({"n": 1}, {"n": True}, "body$.n: 1 is now true"),
        ({"a": [1, 2]}, {"a": [2, 1]}, "body$.a: only the order differs"),
        ({"a": [1]}, {"a": [1, 2]}, "body$.a, from item 1: added [2]"),
        ({"a": [1, 2, 3]}, {"a": [9, 3]}, "body$.a, from item 0: removed [1,2] and added [9]"),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, "body$.a[0].b: 1 is now 2"),
        ({"prompt": "Sort tickt x"}, {"prompt": "Sort ticket x"}, 'body$.prompt: "tickt" is now "ticket"'),
        ({"model": "GPT 5"}, {"model": "GPT 6"}, 'body$.model: "GPT 5" is now "GPT 6"'),
        ({"p": ""}, {"p": "x"}, 'body$.p: "" is now "x"'),
        ({"a b": 1}, {"a b": 2}, 'body$["a b"]: 1 is now 2'),
    ],
)
def test_it_is_said_in_one_line(old, new, said):
    assert shown(body(old), body(new)) == [said]


def test_numbers_that_are_equal_by_value_differ_in_nothing():
    assert operations({"t": 1}, {"t": 1.0}) == ()


@pytest.mark.parametrize(
    "one",
    [
        Operation(Kind.ADDED, ("a",), "", "1"),
        Operation(Kind.REMOVED, ("a",), "2", ""),
        Operation(Kind.CHANGED, ("a",), "true", "1"),
        Operation(Kind.CHANGED, ("b", "c"), "1", "2"),
        Operation(Kind.CHANGED, ("a", 0), "1", "2"),
        Operation(Kind.CHANGED, ("l", 5), "1", "2"),
        Operation(Kind.ITEMS, ("l",), "[1]", "[2]", 4),
        Operation(Kind.TEXT, ("a",), '"x"', '"y"'),
        Operation(Kind.REMOVED, ("a",), "1", ""),
        Operation(Kind.ITEMS, ("l",), "[1]", "[2]", 0),
        Operation(Kind.ORDER, ("l",), "[1,2]", "[2,1]"),
        Operation(Kind.ADDED, ("a",), "", "2"),
        Operation(Kind.ADDED, ("a", "b", "c"), "", "1"),
    ],
)
def test_what_does_not_fit_is_not_done(one):
    with pytest.raises(NoFitError):
        applied((one,), {"a": 1, "l": [1, 2]})


def test_a_request_is_a_tree_of_names(direct):
    request = direct.chat("x")
    request = type(request)("POST", request.url + "?a=1&b=2&a=3", (("anthropic-beta", "t"), *request.headers), b"{}")
    tree = tree_of(Keyer().parts(request))
    assert tree["query"] == {"a": ["1", "3"], "b": "2"}
    assert tree["headers"]["anthropic-beta"] == "t"
    other = tree_of(Keyer().parts(type(request)("POST", direct.chat("x").url, request.headers[1:], b"{}")))
    assert set(shown(other, tree)) == {
        'url.query.a: added ["1","3"]',
        'url.query.b: added "2"',
        'headers.anthropic-beta: added "t"',
    }


def test_control_characters_are_never_printed():
    (one,) = operations(body({}), body({"\x1b[31mred": "\x1b]0;title\x07\u202e"}))
    assert str(one).isprintable()
    (one,) = operations({"query": {}}, {"query": {"\x1b[31mred\u202e": "x"}})
    assert str(one).isprintable()


def test_deep_values_are_one_value():
    deep: list = []
    for _ in range(150):
        deep = [deep]
    other: list = [1]
    for _ in range(150):
        other = [other]
    assert applied(operations({"a": deep}, {"a": other}), {"a": deep}) == {"a": other}


@settings(max_examples=200, deadline=None)
@given(st.text("ab c.\n", max_size=60), st.text("ab c.\n", max_size=60))
def test_texts_of_a_prompt_are_changed_in_pieces_that_give_the_whole(old, new):
    before = body({"prompt": old})
    assert applied(operations(before, body({"prompt": new})), before) == body({"prompt": new})


def test_a_long_text_is_compared_fast_and_a_very_long_one_in_one_piece():
    old = "word " * 7000
    (one,) = operations(body({"prompt": old}), body({"prompt": old + "end"}))
    assert applied((one,), body({"prompt": old})) == body({"prompt": old + "end"})
    huge = "word " * 20_000
    (one,) = operations(body({"prompt": huge}), body({"prompt": "x " + huge}))
    assert one.kind is Kind.CHANGED
    assert len(str(one)) < 1000
