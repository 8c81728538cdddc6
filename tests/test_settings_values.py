from __future__ import annotations

import pytest

from onetake import settings_values as values
from onetake.errors import UsageError


@pytest.mark.parametrize(
    ("read", "value", "found"),
    [
        (values.text, "a", "a"),
        (values.any_text, "", ""),
        (values.texts, ["a", "b"], ("a", "b")),
        (values.texts, ("a",), ("a",)),
        (values.lower_texts, ["X-A"], ("x-a",)),
        (values.days, 0.5, 0.5),
        (values.whole(1), 1, 1),
        (values.one_of({"a": 1, "b": 2}), "b", 2),
        (values.kept, ["cut", "status:503", "status:5xx"], ("cut", "status:503", "status:5xx")),
        (values.selector, "schema:items", "schema:items"),
        (values.selector, "tool:two\nlines", "tool:two\nlines"),
    ],
)
def test_a_right_value_is_returned(read, value, found):
    assert read(value, "here") == found


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (values.text, "", "here: must be a text"),
        (values.any_text, 1, "here: must be a text"),
        (values.texts, "a", r"here: must be a list, as in \['a'\], not 'a'"),
        (values.texts, ["a", 2], r"here\[1\]: must be a text, .* not 2"),
        (values.days, True, "here: must be a number of days, more than 0, not True"),
        (values.days, float("nan"), "here: must be a number of days, more than 0, not nan"),
        (values.whole(1), 0, "here: must be a whole number, 1 or more, not 0"),
        (values.whole(0), 1.0, r"here: must be a whole number, 0 or more, not 1\.0"),
        (values.one_of({"a": 1, "b": 2}), "c", "here: unknown word 'c'; it may be 'a' or 'b'"),
        (values.one_of({"a": 1}), [], r"here: must be 'a', not \[\]"),
        (values.kept, ["status:999"], "here: unknown kind 'status:999'"),
        (values.selector, "tool:", "here: unknown selector 'tool:'"),
        (values.origins, {"https://a.example/v1": "A"}, "here: 'https://a.example/v1' is no origin; write scheme://"),
        (values.origins, {"https://a.example": "sk-1 2"}, r"here.https://a.example: must be the name of a variable"),
    ],
)
def test_a_wrong_value_says_where_and_what_would_be_right(read, value, message):
    with pytest.raises(UsageError, match=f"^{message}"):
        read(value, "here")


@pytest.mark.parametrize(
    ("word", "known", "otherwise", "said"),
    [
        ("requried", ["$ref", "required"], "", "; did you mean 'required'?"),
        ("Keep-Headers", ["keep_headers"], "", "; did you mean 'keep_headers'?"),
        ("one_of", ["oneOf", "anyOf"], "none", "; did you mean 'oneOf'?"),
        ("datetime", ["time", "date-time"], "none", "; did you mean 'date-time'?"),
        ("qqqq", ["a", "b", "c"], "", "; it may be 'a', 'b' or 'c'"),
        ("qqqq", ["a", "b"], "use pattern", " (use pattern)"),
    ],
)
def test_a_wrong_word_gets_the_nearest_or_what_there_is(word, known, otherwise, said):
    assert values.nearest(word, known, otherwise) == said


def test_tables_read_each_name_by_its_own_reader():
    readers = {"a": values.text, "b": values.whole(0)}
    assert values.table({"a": "x", "b": 1}, "t", readers) == {"a": "x", "b": 1}
    assert values.table({"b": 1}, "t", readers) == {"b": 1}
    for table, message in (
        ({"b": "x"}, r"^t\.b: must be a whole number"),
        ({"c": 1}, "^t knows no 'c'; it may be 'a' or 'b'"),
        ({"a": "x"}, "^t lacks 'b': { a = …, b = … }"),
        ({1: 1}, "^t: must be a table: { a = …, b = … }"),
    ):
        with pytest.raises(UsageError, match=message):
            values.table(table, "t", readers, required=["b"])


def test_tables_of_the_users_own_names():
    assert values.named({"any thing": "x"}, "t", values.text) == {"any thing": "x"}
    with pytest.raises(UsageError, match=r"^t\.any: must be a text"):
        values.named({"any": 1}, "t", values.text)


@pytest.mark.parametrize(("where", "name"), [("a.toml:", "a.toml: x"), ("a.toml: t", "a.toml: t.x")])
def test_places_are_joined(where, name):
    assert values.within(where, "x") == name
