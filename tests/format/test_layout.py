from __future__ import annotations

import json
from types import MappingProxyType

import pytest

from onetake.errors import FormatError
from onetake.format.layout import WIDTH, print_tree, quote


def test_what_fits_is_one_line_and_what_does_not_is_a_member_a_line():
    text = print_tree({"short": {"a": 1, "b": ["x", None, True]}, "long": ["x" * 60, "y" * 60]})
    assert text.split("\n") == [
        "{",
        '  "short": {"a": 1, "b": ["x", null, true]},',
        '  "long": [',
        f'    "{"x" * 60}",',
        f'    "{"y" * 60}"',
        "  ]",
        "}",
        "",
    ]


@pytest.mark.parametrize(("length", "lines"), [(0, 1), (1, 4)])
def test_one_line_may_take_a_hundred_columns_with_its_comma(length, lines):
    filler = "x" * (WIDTH - len('  "a": ["", 1],') + length)
    text = print_tree({"a": [filler, 1], "b": "z" * 100})
    assert text[: text.index('  "b"')].count("\n") - 1 == lines
    assert lines > 1 or max(map(len, text.split("\n")[:2])) == WIDTH


@pytest.mark.parametrize(("length", "lines"), [(0, 1), (1, 4)])
def test_an_empty_container_at_the_end_of_a_line_does_not_count(length, lines):
    filler = "x" * (WIDTH - len('  "a": [""],') + length)
    text = print_tree({"a": [filler, []], "b": "z" * 100})
    assert text[: text.index('  "b"')].count("\n") - 1 == lines


@pytest.mark.parametrize(
    ("tree", "lines"),
    [
        ({"k" * 120: []}, ['  "' + "k" * 120 + '": []']),
        ({"k" * 120: [[], {}]}, ['  "' + "k" * 120 + '": [[], {}]']),
        ({"k" * 120: [[], 1]}, ['  "' + "k" * 120 + '": [', "    [],", "    1", "  ]"]),
        ({"a": ["x" * 88, [{}, []]]}, ['  "a": ["' + "x" * 88 + '", [{}, []]]']),
        ({"a": ["x" * 89, [{}, []]]}, ['  "a": [', '    "' + "x" * 89 + '",', "    [{}, []]", "  ]"]),
        ({"a": ["\u200b" * 14]}, ['  "a": ["' + "\\u200b" * 14 + '"]']),
        ({"a": ["\u200b" * 15]}, ['  "a": [', '    "' + "\\u200b" * 15 + '"', "  ]"]),
    ],
)
def test_what_counts_is_how_far_the_last_leaf_reaches_as_it_is_printed(tree, lines):
    assert print_tree({**tree, "z": "z" * 100}).split("\n")[1:-3] == [*lines[:-1], lines[-1] + ","]


def test_only_numbers_are_one_line_however_long():
    numbers = [0.123456789] * 60
    assert print_tree({"n": numbers}).split("\n")[1] == '  "n": [' + ", ".join(["0.123456789"] * 60) + "]"


def test_empty_containers_and_mappings_of_any_type_are_printed():
    tree = {"a": {}, "b": [], "c": MappingProxyType({"d": (1, "x")}), "e": "w" * 90}
    assert json.loads(print_tree(tree)) == {"a": {}, "b": [], "c": {"d": [1, "x"]}, "e": "w" * 90}


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("plain é 漢 😀 \u00a0\ufffd", '"plain é 漢 😀 \u00a0\ufffd"'),
        ('"\\/', '"\\"\\\\/"'),
        ("\n\t\r\x00\x1b", '"\\n\\t\\r\\u0000\\u001b"'),
        ("\x7f\x85\x9f\u2028\u2029", '"\\u007f\\u0085\\u009f\\u2028\\u2029"'),
        ("\u202eabc\u2066\u200b\u200d\ufeff\xad", '"\\u202eabc\\u2066\\u200b\\u200d\\ufeff\\u00ad"'),
        ("\ud83d", '"\\ud83d"'),
        ("\ufffe\uffff", '"\\ufffe\\uffff"'),
        ("\U000e0041\U000e0100\ufe0f", '"\\udb40\\udc41\\udb40\\udd00\\ufe0f"'),
        ("\u3164\u115f", '"\\u3164\\u115f"'),
    ],
)
def test_the_unseen_is_escaped_and_the_rest_is_raw(text, quoted):
    assert quote(text) == quoted
    assert json.loads(quoted) == text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), b"bytes", {1: 2}, {"a": object()}])
def test_what_is_no_json_is_refused(value):
    with pytest.raises(FormatError, match=r"no JSON value|no string"):
        print_tree({"value": value})


def test_what_nests_too_deep_is_refused():
    tree: dict = {}
    for _ in range(5000):
        tree = {"a": tree}
    with pytest.raises(FormatError, match="too deep"):
        print_tree(tree)
