"""Headers in every shape."""

from __future__ import annotations

import pytest

from onetake.importers.heads import headers_of

PAIRS = (("Accept", "a"), ("X-Two", "b"), ("X-Two", "c"))


@pytest.mark.parametrize(
    "raw",
    [
        {"Accept": "a", "X-Two": ["b", "c"]},
        {"Accept": ["a"], "X-Two": [b"b", b"c"]},
        [["Accept", "a"], ["X-Two", "b"], ["X-Two", ["c"]]],
        ["Accept: a\r\n", "X-Two: b\r\n", b"X-Two: c\r\n"],
    ],
)
def test_every_shape_gives_pairs_in_order(raw):
    assert headers_of(raw) == (PAIRS, 0)


def test_values_that_a_filter_replaced_are_left_out_and_counted():
    values = ["**REDACTED**", "[redacted]", "<FILTERED>", "***", "xxxx", "*/*"]
    raw = dict(zip("abcdef", values, strict=True))
    assert headers_of(raw) == ((("f", "*/*"),), 5)


@pytest.mark.parametrize("raw", [None, 7, "x", [], {}, [7, [1], ["a", "b", "c"]]])
def test_what_is_no_header_is_none(raw):
    assert headers_of(raw) == ((), 0)


def test_a_value_is_one_line():
    assert headers_of({"a": "b\r\nevil: c", "n": None, "i": 7}) == ((("a", "b evil: c"), ("n", ""), ("i", "7")), 0)
