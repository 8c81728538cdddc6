"""Cassettes that no test opens."""

from __future__ import annotations

import pytest

EMPTY = "interactions: []\nversion: 1\n"
MARKED = "import pytest\n\n@pytest.mark.vcr(match_on=['body'])\ndef test_a(): ...\n"


@pytest.mark.parametrize(
    "cassette",
    [
        "cassettes/test_m/test_b.yaml",
        "cassettes/test_gone/test_x.yaml",
        "cassettes/test_m/TestB.test_a.yaml",
        "old/deep.yaml",
    ],
)
def test_one_that_nothing_names_is_unused(project, found, cassette):
    assert found(project({"test_m.py": MARKED, cassette: EMPTY})) == [("unused", cassette, 1)]


@pytest.mark.parametrize(
    ("text", "cassette"),
    [
        ("", "cassettes/test_m/test_a.yaml"),
        ("NAME = 'deep'\n", "old/deep.yaml"),
        ("NAME = 'old/deep.yaml'\n", "old/deep.yaml"),
        ("def test_deep(): ...\n", "old/test_deep[1].yaml"),
        ("NAME = 'test_b.yaml'\n", "cassettes/test_m/test_b.yaml"),
        (
            "import vcr\n\ndef test_c(path):\n"
            "    with vcr.VCR(match_on=['body'], record_mode='none').use_cassette(path): ...\n",
            "old/x.yaml",
        ),
    ],
)
def test_one_that_may_be_meant_is_none(project, found, text, cassette):
    assert found(project({"test_m.py": MARKED + text, cassette: EMPTY})) == []


def test_a_folder_of_cassettes_alone_says_nothing(project, found):
    assert found(project({"cassettes/test_m/test_a.yaml": EMPTY})) == []
