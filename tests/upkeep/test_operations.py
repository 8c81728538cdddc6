"""The exact difference of two requests, and what it does to others."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.key import Keyer
from onetake.upkeep.operations import Kind, Operation, applied, operations, signature, tree_of, widened
from onetake.upkeep.rewording import NoFitError

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
def test_what_is_done_to_one_gives_the_other(old, new):
    before = json.dumps(old)
    assert signature(applied(operations(old, new), old)) == signature(new)
    assert json.dumps(old) == before


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_equal_values_need_nothing(value):
    assert operations(value, json.loads(json.dumps(value))) == ()


@settings(max_examples=200, deadline=None)
@given(st.text("ab c.\n", max_size=60), st.text("ab c.\n", max_size=60))
def test_texts_are_changed_in_pieces_that_give_the_whole(old, new):
    assert applied(operations({"t": old}, {"t": new}), {"t": old}) == {"t": new}


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
        ({"p": "Sort this tickt: x"}, {"p": "Sort this ticket: x"}, 'body$.p: "tickt" is now "ticket"'),
        ({"p": ""}, {"p": "x"}, 'body$.p: "" is now "x"'),
        ({"a b": 1}, {"a b": 2}, 'body$["a b"]: 1 is now 2'),
    ],
)
def test_it_is_said_in_one_line(old, new, said):
    assert shown(body(old), body(new)) == [said]


def test_numbers_that_are_equal_by_value_differ_in_nothing():
    assert operations({"t": 1}, {"t": 1.0}) == ()


def test_an_edit_of_a_text_fits_others_with_the_same_words():
    found = operations({"t": "Label this tickt: the printer burns"}, {"t": "Label this ticket: the printer burns"})
    assert applied(found, {"t": "Label this tickt: no paper"}) == {"t": "Label this ticket: no paper"}
    for other in ("Label this: no paper", "tickt or tickt", "tickts", 4, ["tickt"]):
        with pytest.raises(NoFitError):
            applied(found, {"t": other})


def test_an_insertion_takes_a_neighbour_along_and_several_edits_are_several_pieces():
    found = operations({"t": "Be brief. X. Answer."}, {"t": "Be very brief. X. Please answer."})
    assert all(one.kind is Kind.TEXT for one in found)
    assert applied(found, {"t": "Be brief. Y Z. Answer."}) == {"t": "Be very brief. Y Z. Please answer."}


def test_a_word_that_stands_often_is_changed_with_its_neighbours():
    old = "the cat and the dog and the cow"
    found = operations({"t": old}, {"t": old.replace("the dog", "a dog")})
    assert applied(found, {"t": old}) == {"t": "the cat and a dog and the cow"}


def test_a_long_text_is_compared_fast_and_a_very_long_one_in_one_piece():
    old = "word " * 7000
    (one,) = operations({"t": old}, {"t": old + "end"})
    assert applied((one,), {"t": old}) == {"t": old + "end"}
    huge = "word " * 20_000
    (one,) = operations({"t": huge}, {"t": "x " + huge})
    assert one.kind is Kind.CHANGED
    assert len(str(one)) < 1000


def test_widened_operations_fit_every_item():
    old = {"messages": [{"content": "a"}, {"content": "b"}]}
    new = {"messages": [{"content": "a", "name": None}, {"content": "b", "name": None}]}
    (wide,) = widened(operations(old, new))
    assert wide.path == ("messages", None, "name")
    assert applied((wide,), {"messages": [{"content": str(n)} for n in range(3)]}) == {
        "messages": [{"content": str(n), "name": None} for n in range(3)]
    }
    with pytest.raises(NoFitError):
        applied((wide,), {"messages": []})


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
