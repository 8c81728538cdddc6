from __future__ import annotations

import pytest

from onetake.errors import UsageError
from onetake.jsonpath import find, parse, show


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("$", ()),
        ("$.a", ("a",)),
        ("$.messages[*].id", ("messages", None, "id")),
        ("$.a-b[0]", ("a-b", 0)),
        ('$["odd \\"name"][12].x', ('odd "name', 12, "x")),
    ],
)
def test_a_path_is_read_and_written_alike(text, path):
    assert parse(text) == path
    assert show(path) == text


@pytest.mark.parametrize("text", ["a.b", "$a", "$.", "$[x]", "$..a", "$[*", '$["a]'])
def test_a_wrong_path_is_refused_with_the_place(text):
    with pytest.raises(UsageError, match="JSON path"):
        parse(text)


def test_find_yields_each_place_once_and_skips_other_shapes():
    value = {"m": [{"id": 1}, {"x": 2}, {"id": 3}], "n": {"0": {"id": 4}}}
    assert [(holder[key], key) for holder, key in find(value, parse("$.m[*].id"))] == [(1, "id"), (3, "id")]
    assert list(find(value, parse("$.n[0].id"))) == []
    assert list(find(value, parse("$.m[7]"))) == []
    assert list(find(value, ())) == []
