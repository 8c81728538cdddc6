import pytest

from onetake import key_specs
from onetake.imported import ImportedFrom, imported_from, is_loose
from onetake.model import Entry, Request, Response


def entry(**fields):
    return Entry(
        "good", Request("GET", "https://h.example"), Response(200), "0" * 64, 0, key_specs.current({}), **fields
    )


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ({"path": "a.yaml", "position": 3}, ImportedFrom("a.yaml", 3)),
        ({"path": "a.yaml", "position": 3, "notes": ["decoded"]}, ImportedFrom("a.yaml", 3)),
        ({"path": "a.yaml"}, None),
        ({"path": "a.yaml", "position": True}, None),
        ({"path": None, "position": 3}, None),
        ("a.yaml", None),
        (None, None),
    ],
)
def test_where_an_entry_came_from(said, found):
    assert imported_from(entry(provenance={"imported_from": said})) == found


def test_what_was_recorded_here_came_from_nowhere():
    assert imported_from(entry()) is None


@pytest.mark.parametrize(("extra", "loose"), [({"loose": True}, True), ({"loose": 1}, False), ({}, False)])
def test_loose_is_what_says_so(extra, loose):
    assert is_loose(entry(extra=extra)) is loose
