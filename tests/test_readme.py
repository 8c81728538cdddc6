"""The README's blocks, run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from onetake.testing.provider import openai_chat

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(start: str) -> str:
    """Return the one Python block that starts so."""
    found = [text for text in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if text.startswith(start)]
    assert len(found) == 1
    return found[0]


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in *folder* as a user's shell would: nothing of this test run in its environment, and no key."""
    ours = ("PYTEST_", "ONETAKE_", "COV_", "OPENAI_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(ours) and k != "CI"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=clean | {"PYTHONDONTWRITEBYTECODE": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_the_ten_lines_record_once_and_replay_even_when_pasted_twice(tmp_path):
    (tmp_path / "hello.py").write_text(block("import onetake, openai"), encoding="utf-8")
    first = run(tmp_path, "hello.py")
    assert first.stdout.splitlines() == ["once answer 1 to: Hello? calls: 1", "none answer 1 to: Hello? calls: 1"], (
        first
    )
    second = run(tmp_path, "hello.py")
    assert second.stdout.splitlines() == ["once answer 1 to: Hello? calls: 0", "none answer 1 to: Hello? calls: 0"], (
        second
    )
    assert len(list((tmp_path / "cassettes/hello").glob("*.json"))) == 1


def test_the_test_records_once_and_replays_with_the_provider_gone_and_without_a_key(tmp_path, provider):
    pytest.importorskip("pydantic")
    (tmp_path / "test_triage.py").write_text(block("# test_triage.py"), encoding="utf-8")
    provider.script([openai_chat(json={"label": "error"})])
    pytest_run = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist")
    where = {"OPENAI_BASE_URL": f"{provider.url}/v1"}
    recorded = run(tmp_path, *pytest_run, "--record-mode=once", OPENAI_API_KEY="sk-" + "a1B2" * 8, **where)
    assert (recorded.returncode, provider.count) == (0, 1), recorded.stdout
    provider.close()
    replayed = run(tmp_path, *pytest_run, **where)
    assert replayed.returncode == 0, replayed.stdout
    assert len(list((tmp_path / "cassettes/test_triage/test_a_full_disk_is_an_error").glob("*.json"))) == 1


def test_an_answer_that_breaks_the_contract_fails_the_test_and_is_no_entry(tmp_path, provider):
    (tmp_path / "test_triage.py").write_text(block("# test_triage.py"), encoding="utf-8")
    provider.script([openai_chat(json={"label": "fine"})])
    done = run(
        tmp_path,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--record-mode=once"),
        OPENAI_API_KEY="sk-" + "a1B2" * 8,
        OPENAI_BASE_URL=f"{provider.url}/v1",
    )
    assert done.returncode == 1
    assert "$.label" in done.stdout
    assert not list(tmp_path.glob("cassettes/**/*.json"))


def test_the_two_commands_are_there():
    commands = re.findall(r"^(scripts/\w+) ", README, re.MULTILINE)
    assert commands == ["scripts/demo", "scripts/test"]
    assert all(os.access(ROOT / command, os.X_OK) for command in commands)


def test_every_page_that_is_linked_exists():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []
