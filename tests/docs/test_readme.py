"""The README's blocks, run as they stand."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from onetake.testing.provider import openai_chat

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ENTRY = "cassettes/test_triage/test_a_full_disk_is_an_error"


@pytest.fixture
def block(blocks_of):
    """Return the one Python block that starts so."""

    def find(start):
        (found,) = [block.text for block in blocks_of("README.md") if block.text.startswith(start)]
        return found

    return find


def test_the_ten_lines_record_once_and_replay_even_when_pasted_twice(reader, block):
    reader.project.write({"hello.py": block("import onetake, openai")})
    for calls in (1, 0):
        done = reader.run("python hello.py")
        said = [f"{mode} answer 1 to: Hello? calls: {calls}" for mode in ("once", "none")]
        assert done.out.splitlines() == said, done
    assert len(reader.entries("cassettes/hello")) == 1


def test_the_test_records_once_and_replays_with_the_provider_gone_and_without_a_key(reader, provider, block):
    pytest.importorskip("pydantic")
    reader.project.write({"test_triage.py": block("# test_triage.py")})
    provider.script([openai_chat(json={"label": "error"})])
    recorded = reader.run(f"OPENAI_API_KEY=sk-{'a1B2' * 8} pytest -q --record-mode=once")
    assert (recorded.code, provider.count) == (0, 1), recorded.out
    provider.close()
    del reader.project.env["OPENAI_API_KEY"]
    replayed = reader.run("pytest -q")
    assert replayed.code == 0, replayed.out
    assert len(reader.entries(ENTRY)) == 1


def test_an_answer_that_breaks_the_contract_fails_the_test_and_is_no_entry(reader, provider, block):
    reader.project.write({"test_triage.py": block("# test_triage.py")})
    provider.script([openai_chat(json={"label": "fine"})])
    done = reader.run("pytest -q --record-mode=once")
    assert done.code == 1
    assert "$.label" in done.out
    assert reader.entries("cassettes") == []


def test_the_two_commands_are_there():
    commands = re.findall(r"^(scripts/\w+) ", README, re.MULTILINE)
    assert commands == ["scripts/demo", "scripts/test"]
    assert all(os.access(ROOT / command, os.X_OK) for command in commands)
