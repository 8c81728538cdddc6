"""The names of cassettes' files."""

from __future__ import annotations

import pytest

from onetake.vcrwords.naming import ENDINGS, file_name, without_ending


def test_what_no_file_may_be_called_is_a_dash():
    assert file_name("TestA.test_b[c/d:e?]") == "TestA.test_b[c-d-e-]"


@pytest.mark.parametrize("end", [*ENDINGS, *map(str.upper, ENDINGS), ".gz"])
def test_the_ending_goes_in_any_case(end):
    assert without_ending(f"test_a[x.y]{end}") == "test_a[x.y]"


@pytest.mark.parametrize("name", ["plain", ".yaml", "a.txt", "yaml"])
def test_what_has_none_stays(name):
    assert without_ending(name) == name
