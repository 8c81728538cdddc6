"""The triage example, as its reader runs it: killed twice, replayed sealed, the same as a batch, a prompt edited."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "triage"
PROGRAMS = ("triage.py", "triage_urllib.py")
LINES = 24

pytestmark = pytest.mark.slow


class Triage:
    """The example in a folder of its own, with another endpoint."""

    def __init__(self, folder, url, lines=LINES):
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
        self.folder = folder
        job = folder / "job.toml"
        job.write_text(job.read_text().replace("http://127.0.0.1:8077/v1", f"{url}/v1"))
        log = folder / "sample.log"
        log.write_text("".join(log.read_text().splitlines(keepends=True)[:lines]))
        self.environment = {"TRIAGE_URL": f"{url}/v1"}

    def start(self, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "onetake", *words],
            cwd=self.folder,
            env={**_environment(), **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words):
        process = self.start(*words)
        out, said = process.communicate(timeout=100)
        assert process.returncode == 0, said
        return out, said

    def program(self, name, mode):
        session = ["run", "--cassette", "calls.db", "--mode", mode, "--repeats", "same", "--"]
        return [*session, sys.executable, name, "sample.log"]


def _environment():
    return {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("ONETAKE_")}


@pytest.fixture
def triage(tmp_path, provider):
    return Triage(tmp_path / "triage", provider.url)


def test_the_programs_are_short_and_know_nothing_of_us():
    for name in PROGRAMS:
        program = (EXAMPLE / name).read_text()
        assert len(program.splitlines()) <= 32
        assert "onetake" not in program


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_is_killed_twice_goes_on_and_is_replayed(triage, provider, name):
    for count in (7, 14):
        process = triage.start(*triage.program(name, "new_episodes"))
        provider.wait_for(count)
        process.kill()
        process.communicate(timeout=100)
    recorded, said = triage.run(*triage.program(name, "new_episodes"))
    assert provider.count <= LINES + 2, said
    asked = provider.count
    other = next(one for one in PROGRAMS if one != name)
    provider.close()
    replayed, _ = triage.run(*triage.program(other, "none"))
    assert sorted(replayed.splitlines()) == sorted(recorded.splitlines())
    assert len(replayed.splitlines()) == LINES
    assert provider.count == asked


def test_what_a_program_recorded_is_the_batchs_and_an_edit_is_told_before_it_costs(triage, provider):
    recorded, _ = triage.run(*triage.program("triage.py", "new_episodes"))
    run = ("batch", "run", "sample.log", "-c", "job.toml", "-o", "rows.jsonl")
    triage.run(*run)
    assert provider.count == LINES
    rows = [json.loads(row) for row in (triage.folder / "rows.jsonl").read_text().splitlines()]
    assert rows == [json.loads(row) for row in recorded.splitlines()]
    assert "as the store gives them" in triage.run("batch", "verify", "rows.jsonl")[0]

    job = triage.folder / "job.toml"
    before = job.read_text()
    job.write_text(before.replace("What is", "Tell what is"))
    plan = json.loads(triage.run("batch", "plan", "sample.log", "-c", "job.toml", "--json")[0])
    assert (plan["misses"], plan["orphans"], provider.count) == (LINES, LINES, LINES)
    assert plan["cost_high"] > 0
    job.write_text(before)
    plan = json.loads(triage.run("batch", "plan", "sample.log", "-c", "job.toml", "--json")[0])
    assert plan["misses"] == 0


def test_drift_asks_a_sample_again_and_changes_nothing(triage, provider):
    triage.run("batch", "run", "sample.log", "-c", "job.toml", "-o", "rows.jsonl")
    rows = (triage.folder / "rows.jsonl").read_bytes()
    process = triage.start("batch", "drift", "-c", "job.toml", "--sample", "20")
    _, said = process.communicate(timeout=100)
    assert (process.returncode, provider.count) == (3, LINES + 20), said  # the stand-in numbers its answers
    triage.run("batch", "run", "sample.log", "-c", "job.toml", "-o", "rows.jsonl", "--offline")
    assert (triage.folder / "rows.jsonl").read_bytes() == rows


def test_the_real_model_is_asked_once(tmp_path, local_model):
    triage = Triage(tmp_path / "triage", local_model.url, lines=3)
    recorded, _ = triage.run(*triage.program("triage.py", "new_episodes"))
    replayed, _ = triage.run(*triage.program("triage_urllib.py", "none"))
    assert replayed == recorded
    triage.run("batch", "run", "sample.log", "-c", "job.toml", "-o", "rows.jsonl", "--offline")
    answers = [json.loads(row)["answer"] for row in recorded.splitlines()]
    assert [list(answer) for answer in answers] == [["about", "label"]] * 3
