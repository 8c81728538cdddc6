"""Sizes as people write them and read them."""

from __future__ import annotations

import pytest

from onetake.cli.sizes import parse, shown
from onetake.errors import UsageError


@pytest.mark.parametrize(
    ("word", "size"),
    [
        ("0", 0),
        ("17", 17),
        ("17B", 17),
        ("200MB", 200_000_000),
        ("1.5 gb", 1_500_000_000),
        ("2KiB", 2048),
        ("1k", 1000),
    ],
)
def test_sizes(word, size):
    assert parse(word, "--max-bytes") == size


@pytest.mark.parametrize("word", ["", "MB", "-1", "1TB", "1,5GB", "1e3", "inf"])
def test_what_is_no_size(word):
    with pytest.raises(UsageError, match="--max-bytes"):
        parse(word, "--max-bytes")


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (21_340_000, "21.3 MB"), (3 * 10**9, "3.0 GB")]
)
def test_a_size_is_shown_in_its_unit(number, text):
    assert shown(number) == text
