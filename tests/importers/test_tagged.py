"""Python objects that a file names are data."""

from __future__ import annotations

import pytest

from onetake.errors import FormatError
from onetake.importers.tagged import Tagged, name_of, names_objects, of_tag, plain

PYTHON = "tag:yaml.org,2002:python/"


@pytest.mark.parametrize(
    ("tag", "value", "expected"),
    [
        ("tag:yaml.org,2002:binary", "aGk=\n", b"hi"),
        (f"{PYTHON}bytes", "aGk=", b"hi"),
        (f"{PYTHON}unicode", "hi", "hi"),
        (f"{PYTHON}tuple", ["a", "b"], ["a", "b"]),
        (f"{PYTHON}object/apply:os.system", ["ls"], Tagged(["ls"])),
        (f"{PYTHON}object:vcr.request.Request", {"a": 1}, Tagged({"a": 1})),
        (f"{PYTHON}name:os.system", "", Tagged("")),
        ("!own", "x", "x"),
    ],
)
def test_a_tag_makes_no_object(tag, value, expected):
    assert of_tag(tag, value) == expected


def test_what_is_no_base64_is_an_error():
    with pytest.raises(FormatError, match="no base64"):
        of_tag("tag:yaml.org,2002:binary", "aGk")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Tagged(["Accept"]), "Accept"),
        (Tagged({"args": ["Accept"]}), "Accept"),
        (Tagged({"state": [b"body", 0, None]}), b"body"),
        (Tagged([[["a", "b"], ["c", "d"]]]), [["a", "b"], ["c", "d"]]),
        (Tagged({"method": "GET", "host": Tagged(["h"])}), {"method": "GET", "host": "h"}),
        ([Tagged(["a"]), 1], ["a", 1]),
    ],
)
def test_an_object_is_what_it_says(said, expected):
    assert plain(said) == expected


def test_names_that_are_objects_are_told_after_they_became_names():
    assert names_objects({"headers": {name_of(Tagged(["Accept"])): "x"}})
    assert names_objects([{"body": [Tagged(["x"])]}])
    assert not names_objects({"headers": {name_of("Accept"): ["x"]}, "body": None})
    assert name_of(Tagged(["Accept"])) == "Accept"
    assert (name_of(b"a\xff"), name_of(200)) == ("a\ufffd", "200")
