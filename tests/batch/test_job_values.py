"""Readers of what a job file says; what they refuse is in the tests of job files."""

from __future__ import annotations

import pytest

from onetake.batch import job_values
from onetake.errors import UsageError


@pytest.mark.parametrize("host", ["[::1]:8000", "localhost", "my_host:1", "b\u00fccher.example", "a" * 63 + ".b"])
def test_hosts_that_an_endpoint_may_have(host):
    assert job_values.url(f"http://{host}/v1/", "here") == f"http://{host}/v1"


def test_params_may_be_all_that_json_knows():
    given = {"a": [1, 2.5, True, "x", None, {"b": ()}]}
    assert job_values.params(given, "here") == given


@pytest.mark.parametrize("given", [{"a": {1}}, {"a": b"x"}, {"a": {"b": [object]}}])
def test_params_hold_nothing_that_json_does_not_know(given):
    with pytest.raises(UsageError, match=r"here\.a.*: must be a value that JSON knows"):
        job_values.params(given, "here")


def test_a_whole_number_has_an_end():
    assert job_values.whole(1)(1_000_000_000, "here") == 1_000_000_000
    with pytest.raises(UsageError, match="1,000,000,000 at most"):
        job_values.whole(1)(1_000_000_001, "here")
