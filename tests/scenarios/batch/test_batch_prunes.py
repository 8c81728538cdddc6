"""A prune and runs of one store: neither begins in the other's middle, and a kill of either leaves a whole store."""

from __future__ import annotations

import os
import select
import signal

import pytest

IS_WHOLE = os.environ.get("ONETAKE_SWEEP") == "whole"
PRUNE = ("store", "prune", "calls.db", "--older-than", "0", "--delete")
RECORDS = "abcdefgh"
ROUNDS = range(50 if IS_WHOLE else 2)
POINTS = range(1, 30) if IS_WHOLE else (1, 6)
KILLED = -signal.SIGKILL


def shrink(trial):
    """Leave a store with a reply for each record, of which the output needs the first alone."""
    trial.write(*RECORDS)
    assert trial.run()[0] == 0
    trial.write(RECORDS[0])
    assert trial.run()[0] == 0


def answered(trial):
    """Run for all records, and see that output and store are whole; returns how many calls there were so far."""
    trial.write(*RECORDS)
    code, said = trial.run()
    assert code == 0, said
    assert [row["line"] for row in trial.rows()] == [*range(1, len(RECORDS) + 1)]
    assert trial.onetake("batch", "verify", "rows.jsonl")[0] == 0
    assert trial.onetake("store", "fsck", "calls.db")[0] == 0
    return len(trial.calls())


def test_nothing_is_pruned_under_a_run_and_nothing_that_an_output_needs_after_it(trial):
    trial.job(run="timeout = 60")
    trial.write("one")
    assert trial.run()[0] == 0
    trial.write("one", "<stall> two")
    running = trial.start()
    trial.calls(2)
    code, said = trial.onetake(*PRUNE)
    assert (code, "a run, a session or another command uses it" in said) == (2, True), said
    assert trial.onetake(*PRUNE[:-1])[0] == 0, "to look is no harm"
    running.kill()
    running.communicate(timeout=30)
    code, said = trial.onetake(*PRUNE)
    assert code == 0, said
    assert trial.run()[0] == 0
    assert [call["word"] for call in trial.calls()] == ["good", "stall", "good"]
    assert trial.onetake("batch", "verify", "rows.jsonl")[0] == 0


@pytest.mark.parametrize("number", ROUNDS)
def test_of_a_run_and_a_prune_that_begin_at_once_one_waits_or_is_refused(trial, number):
    shrink(trial)
    trial.write(*RECORDS)
    words = [trial.words(out="other.jsonl"), PRUNE]
    started = [trial.process(*one) for one in (words if number % 2 else reversed(words))]
    for one in started:
        one.communicate(timeout=60)
    codes = sorted(one.returncode for one in started)
    assert codes in ([0, 0], [0, 2])
    # All that the second run needs is stored, or it has gone before that run began: never a part of it.
    assert answered(trial) in (len(RECORDS), 2 * len(RECORDS) - 1)
    trial.figures["races of a run and a prune"] += 1


@pytest.mark.usefixtures("strace")
def test_a_run_in_the_middle_of_a_prune_is_refused_until_that_is_killed(trial):
    shrink(trial)
    os.mkfifo(trial.folder / "trace")
    trace = os.open(trial.folder / "trace", os.O_RDONLY | os.O_NONBLOCK)
    log = str(trial.folder / "calls.db-wal")
    stop = ["-P", log, "-e", "trace=pwrite64", "-e", "inject=pwrite64:signal=SIGSTOP:when=3"]
    prune = trial.process(*PRUNE, strace=stop)
    seen = b""
    while b"stopped by SIGSTOP" not in seen:
        assert select.select([trace], [], [], 60)[0], seen
        seen += os.read(trace, 4096)
    trial.write(*RECORDS)
    code, said = trial.run()
    assert (code, "calls.db: is being pruned" in said, len(trial.calls())) == (2, True, len(RECORDS)), said
    prune.kill()
    prune.communicate(timeout=60)
    os.close(trace)
    (trial.folder / "trace").unlink()
    assert len(RECORDS) <= answered(trial) < 2 * len(RECORDS)


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("number", POINTS)
def test_a_prune_that_is_killed_leaves_a_whole_store_and_another_takes_the_rest(trial, number):
    shrink(trial)
    inject = ["-e", "trace=pwrite64", "-e", f"inject=pwrite64:signal=SIGKILL:when={number}"]
    code, said = trial.onetake(*PRUNE, strace=inject)
    trial.figures["kills at system calls"] += code == KILLED
    assert code in ((0, KILLED) if IS_WHOLE else (KILLED,)), said
    assert trial.onetake("batch", "verify", "rows.jsonl")[0] == 0
    assert trial.onetake("store", "fsck", "calls.db")[0] == 0
    assert trial.onetake(*PRUNE)[0] == 0
    code, said = trial.onetake("store", "prune", "calls.db")
    assert (code, "1 entry" in said) == (0, True), said
    assert len(trial.calls()) == len(RECORDS)
    assert answered(trial) == 2 * len(RECORDS) - 1
