from __future__ import annotations

import pytest

from onetake.errors import UsageError
from onetake.jsonpath import parse, show


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
