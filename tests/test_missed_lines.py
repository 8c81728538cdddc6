"""One line of a book of what was missed, whatever somebody made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onetake.missed import damaged_in, missed_in
from onetake.missed_lines import Ended, Missed, as_line, line_in

ROOT = Path("root").absolute()
REQUEST = {"method": "POST", "url": "https://x/v1", "headers": [["a", "b"]], "body": "{}"}
MISS = {
    "onetake_missed": 1,
    "cassette": "tape",
    "test": "t.py::a",
    "at": "2020-01-01T00:00:00Z",
    "key": "ab" * 32,
    "ordinal": 0,
    "key_spec": {"recipe": "k1", "scrub": "s1", "rules": {}},
    "contracts": [{"name": "items", "schema_version": 1, "schema": "c" * 64, "watch": None}],
    "request": REQUEST,
    "scrubbed": [],
    "refusal": "d0",
}
END = {"onetake_missed": 1, "expected": ["d0"], "used": [["a" * 16, 0]]}


def test_a_line_says_what_was_missed_or_how_a_session_ended():
    refusal, missed = line_in(as_line(MISS), ROOT)
    assert (refusal, missed.folder, missed.key, missed.request.body) == ("d0", ROOT / "tape", "ab" * 32, b"{}")
    assert isinstance(missed, Missed)
    assert line_in(as_line(END), ROOT) == Ended(frozenset({"d0"}), frozenset({("a" * 16, 0)}))


RULES = [5, {"ignore": ["nonsense"]}, {"zzz": 1}, {"replace": [{"pattern": "(", "with": ""}]}, {"ignore": "$.a"}]
DAMAGED = [
    *({"key_spec": {"recipe": "k1", "scrub": "s1", "rules": rules}} for rules in RULES),
    *({"key_spec": spec} for spec in (5, {}, {"recipe": [1], "scrub": "s1", "rules": {}})),
    *({"cassette": name} for name in ("a\0b", "a" * 5000, "a/" * 3000, 5, None)),
    *({"ordinal": ordinal} for ordinal in (float("inf"), -1, True, "0", 1.0)),
    *({"contracts": [ref]} for ref in (5, {"name": "a", "schema_version": [1], "schema": "c" * 64})),
    *({"at": at} for at in (5, "zzz", "2020-01-01")),
    *({"key": key} for key in (5, "", "ab" * 31, "AB" * 32)),
    *({"request": {**REQUEST, **one}} for one in ({"body": 5}, {"headers": [["a"]]}, {"url": 5}, {"body": "\ud800"})),
    {"test": {"a": ["b"]}},
    {"refusal": 5},
    {"scrubbed": "x"},
    {"onetake_missed": 2},
]


@pytest.mark.parametrize("changed", DAMAGED)
def test_a_line_that_says_anything_else_is_damaged(changed):
    assert line_in(as_line({**MISS, **changed}), ROOT) is None


@pytest.mark.parametrize("changed", [{"used": 5}, {"used": [["a", 1e999]]}, {"expected": 5}, {"expected": [5]}])
def test_so_is_an_end(changed):
    assert line_in(as_line({**END, **changed}), ROOT) is None


@pytest.mark.parametrize(
    "line", [b"", b"{", b"5", b"\xff", b"[" * 100_000, b'{"a": 1, "a": 2}', b'{"a": ' + b"9" * 5000]
)
def test_so_is_what_is_no_json(line):
    assert line_in(line, ROOT) is None


def test_the_books_with_damaged_lines_are_named_and_the_other_lines_count(tmp_path):
    for name, lines in (("a", [MISS]), ("b", [{**MISS, "test": "t.py::b", "key": "cd" * 32}, {**MISS, "at": 5}])):
        book = tmp_path / ".onetake" / "missed" / name / "x-1.jsonl"
        book.parent.mkdir(parents=True)
        book.write_bytes(b"".join(map(as_line, lines)))
    assert [one.key for one in missed_in(tmp_path)] == ["ab" * 32, "cd" * 32]
    assert damaged_in(tmp_path) == [".onetake/missed/b/x-1.jsonl"]
    assert json.loads(as_line(MISS)) == MISS
