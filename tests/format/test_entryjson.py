from __future__ import annotations

import pytest

from onetake.errors import FormatError
from onetake.format import entryjson
from onetake.format.entryjson import parse_entry

GOOD = b'{\n  "onetake": 1,\n  "verdict": "good"\n}\n'
CONFLICT = (
    b'{\n  "onetake": 1,\n<<<<<<< HEAD\n  "verdict": "good"\n=======\n  "verdict": "kept:cut"\n>>>>>>> other\n}\n'
)


@pytest.mark.parametrize("data", [GOOD, GOOD.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + GOOD, GOOD.rstrip()])
def test_br_132_line_ends_and_a_byte_order_mark_do_no_harm(data):
    assert parse_entry(data) == {"onetake": 1, "verdict": "good"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", r"torn: the file ends in the middle \(line 1\)"),
        (GOOD[:20], r"torn: .*record what is then missing"),
        (GOOD[:-3], r"torn: "),
        (b"\x00" * 200, "torn: "),
        (b"\xff\xfe{\x00", "not UTF-8 at byte 0: save it as UTF-8"),
        (GOOD.replace(b"1", b"NaN"), "NaN is no JSON number"),
        (GOOD.replace(b"1", b"1e999"), "1e999 is more than a number here can be"),
        (b'{"a": [{"b": -1E400}]}', "-1E400 is more than a number here can be"),
        (GOOD.replace(b"1,", b"1"), "not strict JSON: .*line 3"),
        (b"[1]", "must be one JSON object"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too deep"),
        (b'{"a":' + b"1" * 5000 + b"}", "not strict JSON"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n", "Git-LFS pointer.*git lfs pull"),
        (b"verdict: !!python/object/apply:os.system ['true']\n", "torn: the file does not end"),
    ],
)
def test_damage_is_named_with_its_remedy(data, why):
    with pytest.raises(FormatError, match=why):
        parse_entry(data)


@pytest.mark.parametrize("data", [CONFLICT, CONFLICT.replace(b"\n", b"\r\n")])
def test_br_131_merge_conflict_markers_are_named_with_their_line(data):
    with pytest.raises(FormatError, match=r"merge conflict markers \(line 3\): keep one side whole"):
        parse_entry(data)


def test_br_131_a_merge_that_kept_both_sides_is_found():
    data = b'{\n  "onetake": 1,\n  "answer": {"text": "yes"},\n  "answer": {"text": "no"}\n}\n'
    with pytest.raises(FormatError, match="'answer' stands twice in one object, as after a bad merge"):
        parse_entry(data)


def test_markers_inside_a_string_are_text():
    data = b'{"a": ["<<<<<<< HEAD", "======="]}'
    assert parse_entry(data) == {"a": ["<<<<<<< HEAD", "======="]}


def test_what_is_too_large_is_not_parsed(monkeypatch):
    monkeypatch.setattr(entryjson, "LARGEST", 10)
    with pytest.raises(FormatError, match=rf"{len(GOOD)} bytes are more than an entry may take \(10\)"):
        parse_entry(GOOD)
