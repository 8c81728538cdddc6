from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onetake.printable import block, excerpt, is_speakable, one_line, shared_prefix, shared_suffix, sides, spelled

HOSTILE = [
    ("\x1b[31mred\x1b[0m", "red"),
    ("\x9b1;31mred\x9b0m", "red"),
    ("\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\", "click"),
    ("\x1b]0;new title\x07text", "text"),
    ("\x9d0;new title\x9ctext", "text"),
    ("\x1bPq#0;2;0;0;0\x1b\\sixel", "sixel"),
    ("\x1b]8;;never ended", "8;;never ended"),
    ("\x1b\x1b[0m[31mnested", "[31mnested"),
    ("\x1bc\x1b(Breset", "reset"),
    ("nul\x00bel\x07del\x7f", "nulbeldel"),
    ("admin\u202eemordnilap\u2066\u200f", r"admin\u202eemordnilap\u2066\u200f"),
    ("zero\u200bwidth\ufeff\U000e0041", r"zero\u200bwidth\ufeff\U000e0041"),
    ("lone \ud800 surrogate", "lone \ufffd surrogate"),
    ("tab\there", "tab    here"),
]


@pytest.mark.parametrize(("text", "safe"), HOSTILE)
def test_hostile_text_loses_what_steers_a_terminal(text, safe):
    assert block(text) == safe
    assert one_line(text) == safe


def test_block_keeps_lines_and_one_line_marks_them():
    text = "a\r\nb\rc\nd\u2028e\x85f"
    assert block(text) == "a\nb\nc\nd\ne\nf"
    assert one_line(text) == "a⏎b⏎c⏎d⏎e⏎f"


def test_ordinary_text_is_left_alone():
    text = "Größe 5 €, 日本語, 👩‍👩‍👧, \u05e9\u05dc\u05d5\u05dd"
    assert block(text) == one_line(text) == text


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdefghij", 10, "abcdefghij"),
        ("abcdefghijk", 10, "abcde…hijk"),
        ("abcdefghijk", 2, "a…"),
        ("abcdefghijk", 1, "…"),
    ],
)
def test_one_line_shortens_in_the_middle(text, width, shown):
    assert one_line(text, width) == shown


@given(st.text(st.sampled_from("\x1b\x9b\x9d\x9c\x07[]8;m\\P\r\n\t \u202e\ud800é")), st.integers(1, 30))
@example("\x1b" * 5 + "[" * 5, 3)
def test_nothing_unsafe_is_left_and_a_second_pass_changes_nothing(text, width):
    line = one_line(text, width)
    assert len(line) <= width
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", line)
    assert block(block(text)) == block(text)
    line.encode()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\x1b]8;;" * 200_000, "8;;" * 33 + "8…" + "8;;" * 33),
        ("\x9d" * 1_000_000, "…"),
        ("\x1b[" + "0" * 1_000_000, "0" * 100 + "…" + "0" * 99),
        ("\ud800" * 1_000_000, "\ufffd" * 100 + "…" + "\ufffd" * 99),
    ],
)
def test_a_megabyte_of_hostile_text_gives_one_short_line(text, line):
    assert one_line(text) == line
    assert "\x1b" not in block(text)


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ("gpt-5", "gpt-4.1", ("gpt-5", "gpt-4.1")),
        ("same", "same", ("same", "same")),
        ("", "new", ("", "new")),
        ("one two three four", "one two 3 four", ("…two three fou…", "…two 3 fou…")),
        ("abcdefgh" + "X" * 50 + "end", "abcdefghend", ("…efgh" + "X" * 16 + "…", "…efghend")),
        ("line\none", "line\ntwo", ("…ine⏎one", "…ine⏎two")),
    ],
)
def test_excerpt_shows_the_differing_span_with_context(a, b, shown):
    assert excerpt(a, b, around=4) == shown


@pytest.mark.parametrize(
    ("a", "b", "shown"),
    [
        ("caf\u00e9", "cafe\u0301", ("caf\\xe9", "cafe\\u0301")),
        ("a\u200bb", "ab", ("a\\u200bb", "ab")),
        ("a\r\nb", "a\nb", ("a\\r\\nb", "a\\nb")),
        ("\ud800", "\ud801", ("\\ud800", "\\ud801")),
        ("\x1b[1mx", "x", ("\\x1b[1mx", "x")),
    ],
)
def test_texts_that_look_alike_are_spelled_in_escapes(a, b, shown):
    assert excerpt(a, b) == shown


def test_excerpt_of_a_megabyte_stays_short():
    a, b = excerpt("x" * 1_000_000 + "A" + "y" * 1_000_000, "x" * 1_000_000 + "B" + "y" * 1_000_000)
    assert a == "…" + "x" * 30 + "A" + "y" * 30 + "…"
    assert b == "…" + "x" * 30 + "B" + "y" * 30 + "…"


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_shared_ends_are_the_longest(a, b):
    start, end = shared_prefix(a, b), shared_suffix(a, b)
    assert a[:start] == b[:start]
    assert start == min(len(a), len(b)) or a[start] != b[start]
    assert a[len(a) - end :] == b[len(b) - end :]
    assert end == min(len(a), len(b)) or a[-end - 1] != b[-end - 1]


def test_a_name_is_one_line_whatever_it_holds():
    assert spelled("a\n0 errors\r\x1b[2J\x85\u2028ü.json") == r"a\n0 errors\r\x1b[2J\x85\u2028ü.json"


@pytest.mark.parametrize("name", ["x\u202e-1.json", "a\u200bb", "\ufeffa", "\U000e0041", "not utf-8 \udcff", "\t"])
def test_a_name_is_told_with_what_cannot_be_seen_in_it(name):
    assert spelled(name).isascii()
    assert spelled(name).encode().decode("unicode_escape") == name
    assert block(spelled(name)) == spelled(name)
    assert (is_speakable(name), is_speakable(spelled(name))) == (False, True)


@pytest.mark.parametrize(
    ("asked", "stored", "said"),
    [
        ("1", "2", "body$.a: asked 1, stored 2"),
        ("1", "", "body$.a: only asked: 1"),
        ("", "2", "body$.a: only stored: 2"),
    ],
)
def test_both_sides_of_a_place_are_one_line(asked, stored, said):
    assert sides("body$.a", asked, stored) == said
