from dataclasses import FrozenInstanceError

import pytest

from onetake.model import Request, Response, Violation, header


def test_a_header_is_found_in_any_case_and_the_first_one_counts():
    headers = (("Content-Type", "a"), ("content-type", "b"), ("X", ""))
    assert header(headers, "CONTENT-TYPE") == "a"
    assert header(headers, "x") == ""
    assert header(headers, "y") is None


def test_br_092_what_is_handed_out_cannot_be_changed():
    for thing in (Request("GET", "https://x"), Response(200)):
        with pytest.raises(FrozenInstanceError):
            thing.body = b"other"


def test_a_violation_reads_as_a_line():
    assert str(Violation("$.a", "a string", "7")) == "$.a: expected a string, found 7"
