"""Runs that are killed at any moment: nothing that was committed is asked again, no row is lost, doubled or torn."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

IS_WHOLE = os.environ.get("ONETAKE_SWEEP") == "whole"
KILLS = 5
SEEDS = range(100 if IS_WHOLE else 4)
STORE, INTENTS, PARTIAL, ANY = "calls.db-wal", ".onetake/batch/calls.db.intents.db-wal", "rows.jsonl.partial", ""
POINTS = [
    (STORE, "pwrite64", 1),
    (STORE, "pwrite64", 5),
    (STORE, "fdatasync", 2),
    (INTENTS, "pwrite64", 6),
    (INTENTS, "fdatasync", 3),
    (PARTIAL, "write", 1),
    (PARTIAL, "fsync", 1),
    (ANY, "rename", 1),
    (ANY, "rename", 3),
    (ANY, "rename", 4),
]
"""Of which file which system call of a thread, and the how manieth, is not survived; the whole sweep takes all."""
SWEPT = {
    (STORE, "pwrite64"): 40,
    (STORE, "fdatasync"): 10,
    (INTENTS, "pwrite64"): 40,
    (INTENTS, "fdatasync"): 10,
    (PARTIAL, "write"): 1,
    (PARTIAL, "fsync"): 1,
    (ANY, "pwrite64"): 40,
    (ANY, "write"): 20,
    (ANY, "fsync"): 8,
    (ANY, "rename"): 4,
    (ANY, "unlink"): 8,
    (ANY, "openat"): 60,
}
KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)


def points():
    """Give the points of this run, each a test."""
    every = [(file, call, number) for (file, call), most in SWEPT.items() for number in range(1, most + 1)]
    return every if IS_WHOLE else POINTS


@pytest.mark.parametrize("seed", SEEDS)
def test_kills_at_random_times(trial, seed):
    chance = random.Random(seed)
    trial.write(*(f"record {number % 70}" for number in range(80)))
    for _ in range(KILLS):
        code, said = trial.kill_at(chance.randint(1, 12), chance.uniform(0, 0.03))
        assert code in KILLED, said
        assert not trial.out.exists()
    code, said = trial.run()
    assert code == 0, said
    trial.check(in_flight=4 * KILLS)


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize(("file", "call", "number"), points())
def test_kills_at_system_calls(trial, file, call, number):
    trial.write(*(f"record {number % 16}" for number in range(20)))
    of = ["-P", str(trial.folder / file)] if file else []
    inject = f"inject={call}:signal=SIGKILL:when={number}"
    code, said = trial.run(strace=[*of, "-e", f"trace={call}", "-e", inject])
    trial.figures["kills at system calls"] += code in KILLED
    assert code in ((0, *KILLED) if IS_WHOLE else KILLED), said
    if trial.out.exists():
        assert [row["line"] for row in trial.rows()] == [*range(1, 21)]
    code, said = trial.run()
    assert code == 0, said
    trial.check(in_flight=4)


@pytest.mark.parametrize("number", [3, 20])
def test_kills_of_two_runners_of_one_store(trial, number):
    trial.write(*(f"record {number}" for number in range(40)))
    survivor = trial.start(out="other.jsonl")
    trial.kill_at(number)
    said, _ = survivor.communicate(timeout=100)
    assert survivor.returncode == 0, said
    code, said = trial.run()
    assert code == 0, said
    assert trial.out.read_bytes() == (trial.folder / "other.jsonl").read_bytes()
    trial.check(in_flight=4)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_run_that_is_drained_loses_nothing(trial, number, code):
    trial.write(*(f"record {number}" for number in range(40)))
    process = trial.start()
    trial.calls(6)
    process.send_signal(number)
    said, _ = process.communicate(timeout=100)
    assert process.returncode == code, said
    assert not trial.out.exists()
    assert trial.run()[0] == 0
    trial.check(in_flight=0)


def test_a_second_interrupt_stops_at_once_and_loses_no_more_than_was_in_flight(trial):
    trial.job(run="timeout = 60")
    trial.write("<stall> one", "<stall> two", *(f"record {number}" for number in range(6)))
    process = trial.start()
    trial.calls(8)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=30)
    assert process.returncode != 0, said
    assert trial.run()[0] == 0
    calls = trial.calls()
    assert len(calls) - len({call["key"] for call in calls}) <= 4
    assert len(trial.rows()) == 8


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="this system cannot stop a process")
def test_a_run_that_was_stopped_and_goes_on_asks_nothing_again(trial):
    stopped, timeout = (120, 60) if IS_WHOLE else (2.5, 2)
    trial.job(run=f"timeout = {timeout}")
    trial.write(*(f"record {number}" for number in range(40)))
    process = trial.start()
    trial.calls(10)
    process.send_signal(signal.SIGSTOP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(stopped)
    process.send_signal(signal.SIGCONT)
    said, _ = process.communicate(timeout=100)
    assert process.returncode == 0, said
    trial.check(in_flight=0)


def test_a_second_run_with_the_same_output_is_refused(trial):
    trial.job(run="timeout = 60")
    trial.write("<stall> one")
    first = trial.start()
    trial.calls(1)
    code, said = trial.run()
    first.kill()
    first.communicate(timeout=30)
    assert (code, "another run is making this output" in said) == (2, True), said
    assert len(trial.calls()) == 1


def test_what_a_killed_run_left_is_told_by_the_next(trial):
    trial.job(run="timeout = 60")
    trial.write("<stall> one", "<stall> two", "<stall> three")
    trial.kill_at(3)
    code, said = trial.run()
    assert code == 0, said
    assert "up to 3 calls may have been billed" in said
    assert Path(trial.out).exists()
