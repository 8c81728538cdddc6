"""What the tests of the commands share: entries on disk, and two ways to run a command."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from onetake import key_specs
from onetake.cassette import Cassette
from onetake.cli import commands
from onetake.key import Keyer
from onetake.model import Answer, Choice, ContractRef, Entry, Request, Response
from onetake.stores.directory import DirectoryStore

URL = "https://api.openai.com/v1/chat/completions"
TRIAGE = ContractRef("triage", 2, "ab" * 32)


@pytest.fixture
def make_entry():
    """Return a function that makes an entry of a chat call: *asked* by the user, *said* by the model."""

    def make(asked="Hello?", said="Good day.", *, ordinal=0, model="gpt-5", body=None, answer=None, **fields):
        content = {"model": model, "messages": [{"role": "user", "content": asked}]}
        request = Request("POST", URL, (("content-type", "application/json"),), json.dumps(content).encode())
        message = {"choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]}
        response = Response(
            200, (("content-type", "application/json"),), json.dumps(message).encode() if body is None else body
        )
        known = {
            "verdict": "good",
            "contract": TRIAGE,
            "provenance": {
                "recorded_at": "2026-03-01T10:00:00Z",
                "model_asked": model,
                "test": "tests/test_a.py::test_b",
            },
            "dialect": "openai-chat/1",
            "answer": answer or Answer((Choice(said, finish="stop"),)),
            "key": Keyer().key(request),
            "key_spec": key_specs.current({}),
        }
        return Entry(request=request, response=response, ordinal=ordinal, **(known | fields))

    return make


@pytest.fixture
def store(project):
    """Return a function that writes entries into a cassette and returns their files."""

    def write(*entries, folder="cassettes/a"):
        kept = DirectoryStore(project / folder)
        cassette = Cassette(kept)
        for entry in entries:
            assert cassette.add(entry)
        return [project / kept.locate(entry.key, entry.ordinal) for entry in entries]

    return write


@pytest.fixture
def run(monkeypatch):
    """Return a function that runs a command line in this process: (exit code, stdout, stderr)."""

    def invoke(*words):
        done = CliRunner().invoke(commands, [str(word) for word in words], prog_name="onetake")
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        return done.exit_code, done.stdout, done.stderr

    return invoke


@pytest.fixture
def shell():
    """Return a function that runs `python -m onetake` as a process of its own: the completed process, in bytes."""

    def start(*words, cwd=None, **environment):
        inherited = {k: v for k, v in os.environ.items() if k not in ("CI", "NO_COLOR", "COLUMNS")}
        inherited = {k: v for k, v in inherited.items() if not k.startswith(("PYTEST", "ONETAKE_"))}
        command = [sys.executable, "-m", "onetake", *map(str, words)]
        return subprocess.run(command, cwd=cwd, env=inherited | environment, capture_output=True, timeout=110)

    return start


JOB = """
[ask]
base_url = "{url}/v1"
model = "m"
prompt = "Label {{message}}"
"""


@pytest.fixture
def batch(project, provider):
    """A batch in the current folder, of an endpoint that echoes: `job.toml`, and two records and a bad line."""
    (project / "job.toml").write_text(JOB.format(url=provider.url), encoding="utf-8")
    (project / "in.jsonl").write_bytes(b'{"message": "one"}\n\n{"message": "two"}\n')
    return project


@pytest.fixture
def samples(store, make_entry, batch, run):
    """Command lines that every command can be tried with, each by the name of its command."""
    first, second = store(make_entry("one"), make_entry("two", said="Grüße \u202e☃"))
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    shutil.copytree("cassettes/a", "folder")
    run("store", "pack", "folder", "file.db")
    Path("test_sample.py").write_text("def test_sample(): pass\n", encoding="utf-8")
    Path("old.yaml").write_text("interactions: []\n", encoding="utf-8")
    ran = ["in.jsonl", "-c", "job.toml"]
    return {
        "batch plan": ["batch", "plan", *ran],
        "batch run": ["batch", "run", *ran, "-o", "more.jsonl", "--max-failures", "1"],
        "batch verify": ["batch", "verify", "rows.jsonl"],
        "batch drift": ["batch", "drift", "-c", "job.toml", "--sample", "1"],
        "batch status": ["batch", "status"],
        "batch report": ["batch", "report"],
        "batch failures": ["batch", "failures"],
        "batch retry": ["batch", "retry", "--class", "invalid", "--max-failures", "1"],
        "batch explain": ["batch", "explain", "1"],
        "migrate": ["migrate", "--check", "--", "-p", "no:xdist", "test_sample.py"],
        "import vcr": ["import", "vcr", "old.yaml"],
        "store stats": ["store", "stats", "folder"],
        "store fsck": ["store", "fsck", "folder"],
        "store prune": ["store", "prune", "calls.db"],
        "store pack": ["store", "pack", "folder", "other.db"],
        "store unpack": ["store", "unpack", "file.db", "other"],
        "init": ["init"],
        "run": ["run", "--mode", "none", "--", sys.executable, "-c", "pass"],
        "demo": ["demo", "--no-model"],
        "list": ["list"],
        "show": ["show", str(second)],
        "diff": ["diff", str(first), str(second)],
        "status": ["status"],
        "check": ["check"],
        "doctor": ["doctor"],
        "adopt": ["adopt"],
        "pin": ["pin", str(first)],
        "prune": ["prune"],
        "probe": ["probe", "calls.db", "--sample", "1"],
        "rekey": ["rekey"],
        "review": ["review", "--list"],
        "vouch": ["vouch", str(first), "--reason", "read"],
        "contract": ["contract"],
        "contract freeze": ["contract", "freeze"],
    }


@pytest.fixture
def leaves():
    """Every command of the tree, groups within groups and those that are commands too, by the words that call it."""

    def walk(command, words):
        if isinstance(command, click.Group):
            if words and command.invoke_without_command:
                yield " ".join(words), command
            for name in command.list_commands(None):
                yield from walk(command.get_command(None, name), (*words, name))
        else:
            yield " ".join(words), command

    return dict(walk(commands, ()))
