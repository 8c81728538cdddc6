"""A test is renamed, and its folder after it: what upkeep says to run names the test as it is called now."""

from __future__ import annotations

import json
import shlex

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
from click.testing import CliRunner

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.cli import commands

pytest_plugins = ("pytester",)

TESTS = """
import os
import httpx
import pytest

@pytest.mark.cassette(contract="text")
def test_disk():
    schema = {"name": "tags", "schema": {"type": "object", "properties": {"tag": {"type": "string"}}}}
    form = {"type": "json_schema", "json_schema": schema}
    body = {"model": "m", "messages": [{"role": "user", "content": "disk full"}], "response_format": form}
    assert httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", json=body).json()["choices"]
"""
SETTINGS = '[contracts.text]\nschema = "text.json"\nwatch = ["parse.py"]\n'


def advised():
    done = CliRunner().invoke(commands, ["status", "--json"])
    (entry,) = json.loads(done.stdout)["entries"]
    return entry


def test_the_command_for_its_entries_runs(inner, provider):
    inner.write("onetake.toml", SETTINGS)
    inner.write("text.json", "{}")
    inner.write("parse.py", "def parse(text):\n    return text\n")
    inner.write("test_it.py", TESTS)
    inner("--record-mode=once").assert_outcomes(passed=1)
    inner.write("test_it.py", TESTS.replace("test_disk", "test_disk_full"))
    said = inner().stdout.str()
    place = said.split("if this test was renamed, rename that folder to ")[1].split()[0]
    (inner.path / "cassettes/test_it/test_disk").rename(inner.path / place)

    inner.write("onetake.toml", SETTINGS + "schema_version = 2\n")
    command = shlex.split(advised()["command"])
    assert command == ["pytest", "--record-mode=new_episodes", "test_it.py::test_disk_full"]
    inner(*command[1:]).assert_outcomes(passed=1)
    assert (advised()["advice"], provider.count) == ("replay", 2)
