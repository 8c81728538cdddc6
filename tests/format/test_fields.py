import pytest

from onetake.errors import FormatError
from onetake.format.fields import NEEDED, Fields

FIELDS = Fields(
    ("name", str, NEEDED), ("rules", dict, dict), ("notes", list, list), ("cut", str, str), ("via", str, None)
)


def test_fields_come_in_order_and_what_is_unknown_stays():
    tree = {"cut": "left", "new": 1, "name": "a", "notes": ["n"], "via": "b", "rules": {"r": 2}}
    assert FIELDS.take(tree) == ["a", {"r": 2}, ["n"], "left", "b"]
    assert tree == {"new": 1}


def test_a_missing_field_is_an_empty_value_of_its_type_or_none():
    assert FIELDS.take({"name": "a"}) == ["a", {}, (), "", None]


def test_an_optional_field_may_be_null():
    assert FIELDS.take({"name": "a", "via": None}) == ["a", {}, (), "", None]


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({}, "the field name is missing"),
        ({"name": 1}, "the field name must be a string"),
        ({"name": "a", "rules": []}, "the field rules must be an object"),
        ({"name": "a", "notes": None}, "the field notes must be a list"),
        ({"name": "a", "via": False}, "the field via must be a string"),
    ],
)
def test_damage_is_named_also_after_an_object_that_was_right(tree, said):
    FIELDS.take({"name": "a"})
    with pytest.raises(FormatError, match=said):
        FIELDS.take(tree)


def test_a_truth_value_is_no_integer():
    with pytest.raises(FormatError, match="the field ordinal must be an integer"):
        Fields(("ordinal", int, NEEDED)).take({"ordinal": True})
