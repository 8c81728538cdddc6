from __future__ import annotations

import json

import pytest

from onetake import strictjson
from onetake.strictjson import NotStrictError, loads, one_value_reader


def test_plain_values_come_back():
    assert loads(b'{"a": [1, 1.5, true, null, "\\u00e9"]}') == {"a": [1, 1.5, True, None, "é"]}


@pytest.mark.parametrize("text", ['{"score": NaN}', "[-Infinity]", '{"a": {"b": Infinity}}'])
def test_br_031_nan_and_infinity_are_refused_at_any_depth(text):
    with pytest.raises(NotStrictError, match="is no JSON number"):
        loads(text)


@pytest.mark.parametrize("text", ['{"score":1,"score":5}', '[{"a":{"k":1,"x":2,"k":1}}]'])
def test_br_032_duplicate_keys_are_refused_at_any_depth(text):
    with pytest.raises(NotStrictError, match="duplicate key"):
        loads(text)


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b'{"a":1} {"b":2}', b"[" * 100_000, b"1" * 5000])
def test_what_is_no_json_is_one_kind_of_error(data):
    with pytest.raises(NotStrictError):
        loads(data)


READ = one_value_reader(json.JSONDecoder())


@pytest.mark.parametrize("text", ['{"a": [1]}', "[]\n", "{}\r\n", " 1", "1 \n\t", "\n\n[2]\n\n"])
def test_a_reader_takes_white_space_around_the_value(text):
    assert READ(text) == json.loads(text)


@pytest.mark.parametrize("text", ["", " ", "{", "[1]x", "[1]\n[2]", "[1]\x0b", "nul"])
def test_a_reader_says_what_the_decoder_says_of_what_is_no_value(text):
    with pytest.raises(json.JSONDecodeError) as said:
        READ(text)
    with pytest.raises(json.JSONDecodeError) as expected:
        json.loads(text)
    assert str(said.value) == str(expected.value)


@pytest.mark.parametrize(
    "text", ["1.50", "1e5", "1E5", "1e999", "-1e999", "0.1000000000000000055511151231257827", "-0"]
)
def test_a_number_that_python_would_write_otherwise_keeps_its_text(text):
    found = strictjson.loads_exact(f'{{"a": [{text}]}}')
    assert strictjson.has_number(found)
    assert (found["a"][0].text, found["a"][0]) == (text, float(text))
    assert strictjson.loads(f"[{text}]") == [float(text)]


def test_a_number_that_python_writes_alike_is_plain():
    found = strictjson.loads_exact('{"a": [1, 1.5, -2, 12345678901234567890, 1e+16]}')
    assert not strictjson.has_number(found)
    assert [type(one) for one in found["a"]] == [int, float, int, int, float]


@pytest.mark.parametrize("text", ["{", '{"a": 1, "a": 2}', "[NaN]", "[" * 100_000])
def test_what_is_not_strict_is_not_strict_with_exact_numbers_either(text):
    with pytest.raises(strictjson.NotStrictError):
        strictjson.loads_exact(text)


def test_a_number_that_no_float_holds_becomes_a_text():
    found = strictjson.loads_exact('{"a": [1e400, -1e999, 1.50, 3], "b": {"c": 1e308}, "d": "1e999"}')
    assert strictjson.finite(found) == {"a": ["1e400", "-1e999", 1.5, 3], "b": {"c": 1e308}, "d": "1e999"}
    assert strictjson.finite(strictjson.loads("[1e400, -1e400]")) == ["1e999", "-1e999"]
