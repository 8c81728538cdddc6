"""Arguments as shells take them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from onetake.quoting import quoted, quoted_path

ODD = [
    "plain.json",
    "two words",
    'it\'s $HOME `x` !1 \\\\ "y"',
    "x\u202e-8cdeca1248d267ca.json",
    "it's\u202e a \\ and more",
    "line\nline\ttab\x1b[2J",
    "zero\u200bwidth\ufeff \U000e0041bc",
    "é 日本 \u200b",
    "not utf-8 \udcffab",
]


@pytest.mark.parametrize("argument", ODD)
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_shell_gets_exactly_the_argument(argument, locale):
    if (bash := shutil.which("bash")) is None or os.name == "nt":
        pytest.skip("needs bash")
    line = f"printf %s {quoted(argument)}"
    done = subprocess.run([bash, "-c", line], env={"LC_ALL": locale, "PATH": os.environ["PATH"]}, capture_output=True)
    assert done.stdout == os.fsencode(argument)


def test_what_cannot_be_seen_is_seen():
    assert quoted("x\u202ey") == r"$'x\xe2\x80\xaey'"
    assert quoted("\ud800") == r"$'\xed\xa0\x80'", "no file can be called so, and it is no reason to fail"


@pytest.mark.parametrize(("argument", "most", "found"), [("a" * 9, 9, "a" * 9), ("a" * 10, 9, '"aaaa…aaaa"')])
def test_an_argument_is_shortened_where_that_is_wanted(argument, most, found):
    assert quoted(argument, most) == found


def test_a_path_is_no_option():
    assert [quoted_path(path) for path in ("--yes", "-x y/z", "a-b", "./-x")] == [
        "./--yes",
        '"./-x y/z"',
        "a-b",
        "./-x",
    ]
