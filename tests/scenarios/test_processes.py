"""One cassette and several processes: nothing that was paid for is lost, and nothing leaves a sealed one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from onetake.cassette import Cassette
from onetake.model import Entry
from onetake.stores.directory import DirectoryStore

pytestmark = pytest.mark.slow

WORKER = """
import sys
import openai, onetake

url, mode, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
with onetake.use_cassette("c", mode=mode):
    for number in range(first, last):
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": f"question {number}"}])
        print(answer.choices[0].message.content, flush=True)
"""

SEALED = (
    """
import socket

def refuse(*_):
    raise AssertionError("a socket was opened")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""
    + WORKER
)


@pytest.fixture
def start(tmp_path):
    """Start Python in a project of its own, with nothing of this test run in its environment."""
    (tmp_path / "onetake.toml").touch()
    started = []

    def run(code: str, *arguments: object) -> subprocess.Popen[str]:
        apart = ("PYTEST_", "ONETAKE_", "COV_")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(apart) and name != "CI"}
        command = [sys.executable, "-c", code, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen(command, cwd=tmp_path, env=clean, **pipes))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    """Wait for the end of a process that must end well; returns the lines that it printed."""
    out, error = process.communicate(timeout=100)
    assert process.returncode == 0, error
    printed = out.splitlines()
    assert len(printed) == count, error
    return printed


def stored(folder: Path) -> list[str]:
    """Return the questions that have a readable answer."""
    entries = [entry for _, _, entry in Cassette(DirectoryStore(folder / "c")).all()]
    assert all(isinstance(entry, Entry) for entry in entries)
    return sorted((json.loads(entry.request.body)["messages"][0]["content"] for entry in entries), key=number_of)


def number_of(question: str) -> int:
    return int(question.rpartition(" ")[2])


def questions(count: int) -> list[str]:
    return [f"question {number}" for number in range(count)]


def test_four_processes_share_one_cassette_and_every_call_is_kept(provider, start, tmp_path):
    workers = [start(WORKER, provider.url, "new_episodes", first, first + 5) for first in (0, 5, 10, 15)]
    printed = [line for worker in workers for line in lines(worker, 5)]
    assert provider.count == 20
    assert stored(tmp_path) == questions(20)
    provider.close()
    assert lines(start(WORKER, provider.url, "none", 0, 20), 20) == printed


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL is POSIX")
def test_what_was_answered_before_kill_9_is_kept_and_only_the_rest_is_asked_again(provider, start, tmp_path):
    worker = start(WORKER, provider.url, "once", 0, 20)
    printed = [worker.stdout.readline().rstrip("\n") for _ in range(12)]
    worker.send_signal(signal.SIGKILL)
    assert worker.wait(timeout=30) == -signal.SIGKILL
    kept = stored(tmp_path)
    assert kept[:12] == questions(12)
    assert lines(start(SEALED, provider.url, "none", 0, 12), 12) == printed
    before = provider.count
    assert lines(start(WORKER, provider.url, "once", 0, 20), 20)[:12] == printed
    assert provider.count - before == 20 - len(kept)
    assert stored(tmp_path) == questions(20)


@pytest.mark.whole
def test_a_sealed_process_replays_without_a_socket(provider, start):
    recorded = lines(start(WORKER, provider.url, "once", 0, 3), 3)
    assert lines(start(SEALED, provider.url, "none", 0, 3), 3) == recorded


def test_br_051_a_sealed_process_refuses_what_it_does_not_hold_and_sends_nothing(provider, start):
    lines(start(WORKER, provider.url, "once", 0, 1), 1)
    process = start(WORKER, provider.url, "none", 0, 2)
    out, error = process.communicate(timeout=100)
    assert process.returncode == 1
    assert out.splitlines() == ["answer 1 to: question 0"]
    assert "no interaction is stored for this request" in error
    assert "Connection error" not in error
    assert provider.count == 1
