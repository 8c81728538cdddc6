from __future__ import annotations

import json

import pytest

from onetake.errors import FormatError
from onetake.format.jsonstyle import Spelled, find_style, parse_number, style

VALUE = {"model": "m", "n": [1, 2.5, True, None], "deep": {"empty": {}, "none": []}}


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b'{"a":1,"b":[1,2]}', "compact"),
        (b'{"a": 1, "b": [1, 2]}', "spaced"),
        (json.dumps(VALUE, indent=2).encode(), "indent-2"),
        (json.dumps(VALUE, indent=4).encode(), "indent-4"),
        (json.dumps(VALUE, indent="\t").encode(), "tab"),
        ('{"a":"é"}'.encode(), "compact"),
        (b'{"a":"\\u00e9"}', "compact ascii"),
        (b'{"a": "\\u00e9 \\ud83d\\ude00"}', "spaced ascii"),
        (b'{"a":"\\u003cb\\u003e \\u0026 \\u2028"}', "compact html"),
        (b'{"a":"\\u003cb\\u003e & more"}', "compact angle"),
        (b'{"a":"https:\\/\\/example.org"}', "compact slash"),
        (b'{"a":"https:\\/\\/example.org \\u00e9"}', "compact ascii slash"),
        (b"[1]\n", "compact newline"),
        ('[\n  "<é>"\n]\n'.encode(), "indent-2 newline"),
        (b"{}", "compact"),
        (b"[]\n", "compact newline"),
    ],
)
def test_a_text_is_found_to_be_in_its_style(data, name):
    found, tree = find_style(data)
    assert found.name == name
    assert tree == json.loads(data)
    assert style(name).spell(tree) == data


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1, "b":2}',
        b' {"a":1}',
        b'{"a":1}\n\n',
        b'{"a":1}\r\n',
        b'{"a":"\\u00E9"}',
        b'{"a":"\\u0041"}',
        b"[1,\n2]",
        b'"a string"',
        b"17",
        b'{"a":1,"a":1}',
        b"[NaN]",
        b"[1",
        b'\xef\xbb\xbf{"a":1}',
        b'{"a":"\xff"}',
        b'{"a":"\xed\xa0\xbd"}',
        b"[" * 100_000,
        b"",
    ],
)
def test_what_no_style_gives_back_has_none(data):
    assert find_style(data) is None


@pytest.mark.parametrize(
    "text", ["1.10", "1E5", "1e-7", "1e5", "-0", "-0.00", "1e999", "0.10000000000000000001", "9" * 5000]
)
@pytest.mark.parametrize("form", ['{"n":%s}', '{"n": %s, "m": [1, 2]}', '{\n  "n": %s\n}\n'])
def test_numbers_that_python_would_change_keep_their_spelling(text, form):
    data = (form % text).encode()
    found, tree = find_style(data)
    assert tree["n"] == Spelled(text)
    assert found.spell(tree) == data


@pytest.mark.parametrize(
    "text", ["1.1", "-0.0", "1e-07", "1e+16", "0", "-5", "9007199254740993", "123456789012345678901234567890"]
)
def test_numbers_that_python_spells_alike_are_values(text):
    _, tree = find_style(f"[{text}]".encode())
    assert repr(tree[0]) == text


@pytest.mark.parametrize(
    ("data", "name"),
    [(b'["\\ud83d"]', "compact"), ('["\\ud83d é"]'.encode(), "compact"), (b'["\\ud83d \\u00e9"]', "compact ascii")],
)
def test_br_029_a_lone_surrogate_is_spelled_as_its_escape(data, name):
    found, tree = find_style(data)
    assert (found.name, found.spell(tree)) == (name, data)
    assert tree[0].startswith("\ud83d")


@pytest.mark.parametrize(
    "name", ["", "pretty", "indent-0", "indent-9", "compact  ascii", "html compact", "compact newline ascii"]
)
def test_a_name_outside_the_closed_set_is_refused(name):
    with pytest.raises(FormatError, match="unknown style"):
        style(name)


def test_the_first_style_that_fits_is_kept():
    assert find_style(b"[1]")[0].name == "compact"
    assert find_style(b'{"a":"\\\\u003c"}')[0].name == "compact"
    assert find_style(b'{"a":"\\\\/"}')[0].name == "compact"


@pytest.mark.parametrize(
    ("name", "level", "text"),
    [("compact", 3, "[1,2]"), ("spaced", 0, "[1, 2]"), ("indent-2", 1, "[\n    1,\n    2\n  ]")],
)
def test_a_part_is_spelled_as_it_stands_in_its_place(name, level, text):
    assert style(name).spell_part([1, 2], level) == text


def test_a_number_has_the_value_of_its_spelling():
    assert [parse_number(text) for text in ("-0", "1.10", "1E5", "17")] == [0, 1.1, 100000.0, 17]
