"""Values of which only a part can be told."""

from __future__ import annotations

import ast
from pathlib import PurePath

import pytest

from onetake.doctor.values import GAP, REST, UNTOLD, Either, either, joined, merged, options, text_of


def test_options_are_flat_and_each_comes_once():
    assert options(Either((1, Either((2, 3))))) == (1, 2, 3)
    assert either("a", "a") == "a"
    assert options(either("a", either("b", "a"))) == ("a", "b")
    assert options(either(1, True)) == (1, True)


def test_mappings_are_merged_for_each_that_they_may_be():
    assert merged({"a": 1}, {"a": 2, "b": 3}) == {"a": 2, "b": 3}
    assert options(merged({"a": 1}, Either(({"b": 2}, {"b": 3})))) == ({"a": 1, "b": 2}, {"a": 1, "b": 3})
    assert merged(UNTOLD, {"a": 1}) == {REST: UNTOLD, "a": 1}
    assert merged({"a": 1}, UNTOLD) == {REST: UNTOLD, "a": 1}


@pytest.mark.parametrize(
    ("operator", "a", "b", "value"),
    [
        (ast.Add(), "a", "b", "ab"),
        (ast.Add(), "a", UNTOLD, "a" + GAP),
        (ast.Add(), ["a"], ("b",), ["a", "b"]),
        (ast.Add(), ["a"], UNTOLD, ["a", UNTOLD]),
        (ast.Div(), PurePath("a"), "b", PurePath("a/b")),
        (ast.BitOr(), {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        (ast.Mult(), 2, 3, UNTOLD),
    ],
)
def test_operations_keep_what_is_known(operator, a, b, value):
    assert joined(operator, a, b) == value


def test_a_text_has_a_gap_for_what_is_not_known():
    assert text_of(PurePath("a/b")) == "a/b"
    assert text_of(UNTOLD) == GAP
