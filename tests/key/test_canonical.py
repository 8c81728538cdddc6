from __future__ import annotations

import sys
import threading

import pytest

from onetake.key.canonical import (
    ExactNumber,
    Number,
    dumps,
    dumps_slowly,
    encode,
    is_plain,
    is_text_too_deep,
    loads,
    number,
    read_back,
    rewrite,
)
from onetake.strictjson import NotStrictError


def text(data: str | bytes) -> str:
    return dumps(loads(data if isinstance(data, bytes) else data.encode()))


@pytest.mark.parametrize(
    ("spelling", "written"),
    [
        *((one, "1") for one in ("1", "1.0", "1e0", "10e-1", "1E+0", "0.01e2")),
        *((zero, "0") for zero in ("0", "-0", "-0.0", "0e999999999999999999999", "0.00")),
        ("-1e2", "-100"),
        ("0.7", "0.7"),
        ("70e-2", "0.7"),
        ("-0.50", "-0.5"),
        ("1e-4", "0.0001"),
        ("1e-5", "1e-5"),
        ("0.00001", "1e-5"),
        ("10.00001", "10.00001"),
        ("12345678901234.5", "12345678901234.5"),
        ("123456789012345.6", "1234567890123456e-1"),
        ("0.1", "0.1"),
        ("0.10000000000000001", "10000000000000001e-17"),
        ("9007199254740993", "9007199254740993"),
        ("1" * 40, "1" * 40),
        ("1" * 41, "1" * 41 + "e0"),
        ("1" + "0" * 39, "1" + "0" * 39),
        ("1" + "0" * 40, "1e40"),
        ("12e39", "12e39"),
        ("1e999999999", "1e999999999"),
        ("-2.50e-999999999", "-25e-1000000000"),
    ],
)
def test_a_number_is_written_by_its_exact_decimal_value(spelling, written):
    assert text(f"[{spelling}]") == f"[{written}]"
    assert text(f"[{'1' * 60},{spelling}]") == f"[{'1' * 60}e0,{written}]"


def test_long_integers_are_exact_and_their_exponent_is_never_expanded():
    digits = "123456789" * 600
    assert number(digits) == Number(f"{digits}e0")
    assert number(digits + ".0") == Number(f"{digits}e0")
    assert number(digits + "0" * 5000) == Number(f"{digits}e5000")
    assert text(f'{{"n":{digits}}}') == f'{{"n":{digits}e0}}'


def test_an_exponent_of_19_digits_is_refused_and_one_of_18_is_not():
    assert text("[1e-000999999999999999999]") == "[1e-999999999999999999]"
    with pytest.raises(NotStrictError, match="exponent"):
        loads(b"[1e1000000000000000000]")


def test_br_026_keys_are_sorted_by_code_point_not_by_utf_16_unit_as_rfc_8785_says():
    assert text('{"\\ud83d\\ude00":1,"\uff21":2,"b":3}') == '{"b":3,"\uff21":2,"\U0001f600":1}'


def test_br_024_raw_and_escaped_text_are_one_and_nothing_is_normalised():
    assert text('{"t":"\\u00e9"}') == text('{"t":"é"}') == '{"t":"é"}'
    assert text('{"t":"e\u0301"}') == '{"t":"e\u0301"}'
    assert text('"\\u000a\\u0001\\u007f\\/\\u0022\\u005c"') == '"\\n\\u0001\x7f/\\"\\\\"'


def test_br_029_a_lone_surrogate_becomes_a_lossless_lower_case_escape():
    assert encode(text('"\\uD83D"')) == b'"\\ud83d"'
    assert encode(text('"\\\\ud83d"')) == b'"\\\\ud83d"'
    assert encode(text('"\\ude00\\ud83d"')) == b'"\\ude00\\ud83d"'
    assert read_back(encode(text('"\\ud83d"')).decode()) == "\ud83d"


@pytest.mark.parametrize("data", ['{"n":NaN}', "[-Infinity]", '{"a":[{"b":Infinity}]}'])
def test_br_031_nan_and_infinity_are_refused(data):
    with pytest.raises(NotStrictError, match="is no JSON number"):
        text(data)


@pytest.mark.parametrize("data", ['{"n":1,"n":5}', '[{"a":{"k":1,"x":2,"k":1}}]', '{"é":1,"\\u00e9":1}'])
def test_br_032_duplicate_keys_are_refused(data):
    with pytest.raises(NotStrictError, match="duplicate key"):
        text(data)


@pytest.mark.parametrize(
    "data", [b"", b" ", b"{", b'"\xff"', b"\xef\xbb\xbf{}", b"{}\n{}", b"01", b"'a'", b'"\n"', b"[1,]"]
)
def test_what_is_no_strict_json_is_refused(data):
    with pytest.raises(NotStrictError):
        loads(data)


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
def test_201_levels_are_too_deep_and_200_are_not(opened, closed):
    fits = opened * 199 + "[]" + closed * 199
    assert text(fits) == fits
    for levels in (200, 5000, 100_000):
        with pytest.raises(NotStrictError, match="deeper than 200"):
            loads((opened * levels + "[]" + closed * levels).encode())


@pytest.mark.parametrize("padding", ["", "x" * 20_000])
def test_the_limit_is_the_same_in_a_text_of_many_brackets(padding):
    siblings = ",".join(["[]"] * 10) + f',"{padding}"'
    fits = "[" * 199 + siblings + "]" * 199
    assert text(fits) == fits
    with pytest.raises(NotStrictError, match="deeper than 200"):
        loads(f"[{fits}]".encode())


def test_a_long_shallow_text_is_not_deep_whatever_its_strings_hold():
    shallow = '{"n":[' + ",".join(["[[]]"] * 300) + '],"t":"' + '[{\\"\\\\' * 9000 + '"}'
    assert text(shallow) == shallow
    assert not is_text_too_deep(shallow.encode())
    assert is_text_too_deep(("[" * 201 + '"]]]\\"]"' + "]" * 201).encode())


def test_the_depth_is_decided_by_the_text_alone_when_the_stack_is_nearly_full():
    deep, fits = b"[" * 300 + b"]" * 300, b"[" * 150 + b"]" * 150
    seen = []

    def at(level: int) -> None:
        if level:
            at(level - 1)
            return
        for data in (deep, fits):
            try:
                seen.append(dumps(loads(data)))
            except (NotStrictError, RecursionError) as error:
                seen.append(type(error))

    def run() -> None:
        for left in (600, 250, 100):
            at(sys.getrecursionlimit() - left)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(seen) == 6
    assert set(seen[::2]) == {NotStrictError}
    assert set(seen[1::2]) <= {fits.decode(), RecursionError}


def test_both_encoders_and_the_plain_python_one_write_the_same():
    data = ('{"b":["a\\n\\"\\\\/\\t\\b\\f\\r",1,-2,0.25,true,false,null,{},[]],"a":"' + "x" * 20_000 + '"}').encode()
    value = loads(data)
    assert is_plain(data)
    assert dumps(value) == dumps(value, plain=True) == dumps_slowly(value)
    assert dumps(value).startswith('{"a":"xx')


@pytest.mark.parametrize("odd", ["é", "\\u00e9", "\x7f"])
def test_a_text_with_a_rare_character_is_not_plain(odd):
    data = ('"' + "x" * 20_000 + odd + '"').encode()
    assert not is_plain(data)
    assert dumps(loads(data)) == '"' + "x" * 20_000 + odd.replace("\\u00e9", "é") + '"'


def test_a_number_in_a_tree_is_written_in_its_place():
    assert text('{"z":1e50,"a":[1e-50,{"x":"1e50"}]}') == '{"a":[1e-50,{"x":"1e50"}],"z":1e50}'


def test_numbers_are_read_back_as_plain_data():
    back = read_back(text("[1e50,2,0.5,1e2]"))
    assert back == ["1e50", 2, 0.5, 100]
    assert [type(item) for item in back] == [ExactNumber, int, float, int]


MANY = b'{"a":1,"b":[{"c":"d"},{"c":"e"},{"f":"\\n"}],"g":{"h":{}}}'


@pytest.mark.parametrize(
    "data",
    [
        MANY,
        MANY.replace(b'"d"', b'"\\u0022"'),
        MANY.replace(b'"d"', b'"\\""'),
        MANY.replace(b'"d"', b'"\\\\"'),
        MANY.replace(b'"d"', '"é"'.encode()),
        MANY.replace(b"1", b"1" * 60),
        MANY.replace(b"1", b"1e400"),
        b" " + MANY + b" \n",
        b"[" + MANY + b",{}" * 20_000 + b"]",
    ],
)
def test_a_text_of_many_small_objects_is_rewritten_as_any_other(data):
    assert rewrite(data) == text(data)


@pytest.mark.parametrize(
    "data",
    [
        MANY.replace(b'"b"', b'"a"'),
        MANY.replace(b'"h":{}', b'"h":{},"h":{}'),
        # Two quotes go with the name that is repeated, and two come with the escapes.
        MANY.replace(b'"b"', b'"a"').replace(b'"d"', b'"\\u0022\\u0022"'),
        b"[" + MANY + b',{"a":1,"a":1}' * 5000 + b"]",
        MANY + b"x",
        b"[" * 201 + b"]" * 201,
        b'{"a":' * 300 + b"1" + b"}" * 300,
        b'[{"a":NaN}]',
    ],
)
def test_what_is_no_strict_json_is_not_rewritten(data):
    with pytest.raises(NotStrictError):
        rewrite(data)
