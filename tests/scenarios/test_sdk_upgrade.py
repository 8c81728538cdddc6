"""An SDK's upgrade adds a field to every body: the entries follow from the old ones, and nothing is asked anew."""

from __future__ import annotations

import json
import os
from collections import Counter

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest
from click.testing import CliRunner

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.cli import commands

pytest_plugins = ("pytester",)

OLD = """
import os
import httpx

client = httpx.Client(base_url=os.environ["PROVIDER"])

def ask(text, **more):
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
"""
NEW = OLD.replace('"model": "m"', '"model": "m", "store": False')
TESTS = """
import pytest
import sdk

@pytest.mark.cassette
def test_lines():
    for number in range({size}):
        assert sdk.ask("line %d" % number).endswith("to: line %d" % number)

@pytest.mark.cassette
def test_another():
    assert sdk.ask("another").endswith("to: another")
"""


@pytest.fixture
def stored(inner, provider, monkeypatch):
    """Return a function that records so many entries under the old SDK, and installs the new one."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # of thousands, and no machine goes down here

    def record(size):
        inner.write("onetake.toml", "")
        inner.write("sdk.py", OLD)
        inner.write("test_sdk.py", TESTS.format(size=size))
        inner("--record-mode=once").assert_outcomes(passed=2)
        inner.write("sdk.py", NEW)
        assert provider.count == size + 1

    return record


def command(*words) -> tuple[int, dict]:
    """Run a command of onetake: its exit code and its document."""
    done = CliRunner().invoke(commands, [*words, "--json"])
    return done.exit_code, json.loads(done.stdout)


def checked() -> tuple[int, dict[str, int]]:
    """Check all entries: the exit code, and how many findings there are of each code."""
    exit_code, document = command("check")
    return exit_code, dict(Counter(one["code"] for one in document["findings"]))


def advices() -> dict[str, int]:
    """Return how many entries have each advice, those that none has left out."""
    exit_code, document = command("status")
    assert exit_code == 0
    return {advice: number for advice, number in document["counts"].items() if number}


@pytest.mark.parametrize("size", [60, pytest.param(2000, marks=pytest.mark.whole)])
def test_a_field_that_every_request_has_since_costs_no_call(inner, provider, stored, size):
    stored(size)
    before = {name: (inner.path / name).read_bytes() for name in inner.files("cassettes")}
    inner().assert_outcomes(failed=2)  # each at its first call

    exit_code, dry = command("adopt")
    assert exit_code == 0
    assert inner.files("cassettes") == sorted(before)
    (group,) = dry["groups"]
    assert group["difference"] == [{"kind": "added", "path": "body$.store", "old": None, "new": "false"}]
    assert (group["misses"], len(group["entries"])) == (2, size + 1)
    exit_code, done = command("adopt", "--yes", "--reason", "the SDK sends store since 2.0")
    assert (exit_code, len(done["written"]), done["failed"]) == (0, size + 1, [])

    assert len(inner.files("cassettes")) == 2 * (size + 1)
    assert {name: (inner.path / name).read_bytes() for name in before} == before
    inner().assert_outcomes(passed=2)
    assert provider.count == size + 1
    assert checked() == (0, {"adopted": size + 1, "orphan": size + 1})
    assert advices() == {"replay": size + 1, "orphan": size + 1}

    assert command("prune", "--superseded", "--yes")[0] == 0
    assert len(inner.files("cassettes")) == size + 1
    assert not set(before) & set(inner.files("cassettes"))
    inner().assert_outcomes(passed=2)
    assert provider.count == size + 1
    assert advices() == {"replay": size + 1}
