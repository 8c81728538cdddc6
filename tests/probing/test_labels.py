"""The values at declared paths."""

import pytest

from onetake.jsonpath import parse
from onetake.probing.labels import at, equal, shown

ANSWER = {"label": " bug ", "items": [{"label": "a"}, {"other": 1}, {"label": None}], "odd name": {"x": [1, 2]}}


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("$.label", [" bug "]),
        ("$.items[*].label", [["a"], [], [None]]),
        ("$.items[*].other", [[], [1]]),
        ("$.items[*].none", []),
        ("$.items[1].other", [1]),
        ('$["odd name"].x[*]', [[1], [2]]),
        ("$.items[7]", []),
        ("$.label.x", []),
        ("$.items.label", []),
        ("$", [ANSWER]),
    ],
)
def test_the_values_at_a_path(path, values):
    assert at(ANSWER, parse(path)) == values


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        ([" bug\n"], ["bug"], True),
        (["bug"], ["Bug"], False),
        ([1], [1.0], True),
        ([1], [True], False),
        ([{"a": "x ", "b": [" y"]}], [{"b": ["y"], "a": "x"}], True),
        (["a", "b"], ["b", "a"], False),
        (["a"], [], False),
        ([None], [""], False),
    ],
)
def test_labels_are_equal_as_canonical_json_stripped(one, other, is_equal):
    assert equal(one, other) is equal(other, one) is is_equal


@pytest.mark.parametrize(
    ("one", "other", "is_equal"),
    [
        ([{"l": "a"}, {}, {"l": "b"}], [{"l": "a"}, {"l": "b"}, {}], False),
        ([{"l": "a"}, {}], [{}, {"l": "a"}], False),
        ([{"l": "a"}], [{"l": "a"}, {}], True),
        ([{}], [], True),
    ],
)
def test_labels_of_a_list_are_compared_item_by_item(one, other, is_equal):
    path = parse("$[*].l")
    assert equal(at(one, path), at(other, path)) is is_equal


@pytest.mark.parametrize(
    ("path", "value"),
    [("$.label", " bug "), ("$.items[*].label", ["a", None, None]), ("$.none", None), ("$.items[*].none", None)],
)
def test_people_read_the_values(path, value):
    assert shown(at(ANSWER, parse(path)), parse(path)) == value
