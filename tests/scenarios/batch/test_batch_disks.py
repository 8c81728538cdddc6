"""Disks that are full, fail or lie: a run says so and ends; a wrong byte is no answer, and is not paid for again."""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from onetake.batch import running
from onetake.errors import OnetakeError

IS_WHOLE = os.environ.get("ONETAKE_SWEEP") == "whole"
LARGEST = range(1000, 120_000, 3000) if IS_WHOLE else (1000, 60_000)
PLACES = range(1 << 20) if IS_WHOLE else (*range(0, 1 << 20, 1201), *range(24_536, 24_576, 9))
"""Bytes of a store: in the slice some of each page, and of the index, whose rows are the last bytes of the third."""
FULL = [
    ("calls.db-wal", "pwrite64:error=ENOSPC:when=4+"),
    ("calls.db-wal", "fdatasync:error=EIO:when=2+"),
    (".onetake/batch/calls.db.intents.db-wal", "pwrite64:error=ENOSPC:when=6+"),
    (".onetake/batch/calls.db.intents.db-wal", "fdatasync:error=EIO:when=3"),
    ("rows.jsonl.partial", "write:error=ENOSPC:when=1+"),
    ("rows.jsonl.partial", "fsync:error=EIO:when=1"),
]


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize(("file", "fault"), FULL)
def test_br_176_a_disk_that_takes_no_more_ends_the_run_and_the_next_goes_on(trial, file, fault):
    trial.write(*(f"record {number}" for number in range(20)))
    call = fault.partition(":")[0]
    code, said = trial.run(
        strace=["-P", str(trial.folder / file), "-e", f"trace={call}", "-e", f"inject={fault}"],
    )
    assert code == 5, said
    assert "cannot be written" in said
    assert not trial.out.exists()
    trial.figures["disks that failed"] += 1
    code, said = trial.run()
    assert code == 0, said
    trial.check(in_flight=4)


@pytest.mark.usefixtures("strace")
@pytest.mark.parametrize("call", [1, 4])
def test_a_store_that_cannot_be_read_ends_the_run_and_nothing_is_asked_again(trial, call):
    trial.write("one", "two")
    assert trial.run()[0] == 0
    before = trial.out.read_bytes()
    reads = ["-P", str(trial.folder / "calls.db"), "-e", "trace=pread64"]
    code, said = trial.run(strace=[*reads, "-e", f"inject=pread64:error=EIO:when={call}+"])
    assert (code, "calls.db: " in said, "cannot be read" in said) == (5, True, True), said
    assert trial.out.read_bytes() == before
    assert trial.run()[0] == 0
    trial.check()


@pytest.mark.parametrize("largest", LARGEST)
def test_a_file_that_may_not_grow_ends_the_run_and_the_next_goes_on(trial, largest):
    trial.write(*(f"record {number}" for number in range(20)))
    code, said = trial.run(largest=largest)
    assert code == 5, said
    assert not trial.out.exists()
    trial.figures["disks that failed"] += 1
    assert trial.run()[0] == 0
    trial.check(in_flight=4)


@pytest.mark.whole
def test_br_176_a_small_file_system_that_fills_up_ends_the_run_and_a_larger_one_goes_on(trial, tmp_path_factory):
    trial.write(*(f"record {number}" for number in range(60)))
    disk, run = tmp_path_factory.mktemp("disk"), shlex.join([sys.executable, "-m", "onetake", *trial.words()])
    program = f"""
        mount -t tmpfs -o size=300k none {disk} && cp job.toml schema.json in.jsonl {disk} && cd {disk} || exit 99
        {run}; echo ended: $?
        mount -o remount,size=64m none {disk} && {run}; echo ended: $?
        cp -r . {trial.folder}
    """
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not on this machine")
    words = ["unshare", "--map-root-user", "--mount", "sh", "-c", program]
    done = subprocess.run(words, cwd=trial.folder, capture_output=True, text=True, check=False, timeout=100)
    if "ended" not in done.stdout:
        pytest.skip(f"nobody may mount a file system here: {done.stderr}")
    assert [line for line in done.stdout.splitlines() if line.startswith("ended")] == ["ended: 5", "ended: 0"], done
    trial.figures["disks that failed"] += 1
    trial.check(in_flight=4)


class Unsent:
    """Sends nothing, and says that it was asked to."""

    client = "nobody"

    def __init__(self):
        self.asked = 0

    async def send(self, request):
        self.asked += 1
        raise AssertionError("a reply that was paid for is asked again")

    async def close(self):
        """Nothing is open."""


def test_each_byte_of_the_store_that_is_flipped_is_told_or_changes_nothing(trial):
    trial.write("one", "two", "three")
    assert trial.run()[0] == 0
    store, out = trial.folder / "calls.db", trial.out.read_bytes()
    whole = store.read_bytes()
    told = 0
    for place in (one for one in PLACES if one < len(whole)):
        store.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        sends = Unsent()
        try:
            with closing(trial.opened()) as batch:
                running.run(batch, trial.out, sends=sends)
        except OnetakeError as error:
            told += 1
            assert error.exit_code == 5, error
        assert sends.asked == 0, place
        trial.figures["bytes of a store that were flipped"] += 1
        assert trial.out.read_bytes() == out
        for name in ("calls.db-wal", "calls.db-shm"):
            (trial.folder / name).unlink(missing_ok=True)
    assert told
    store.write_bytes(whole)
    trial.check()


@pytest.mark.parametrize("place", [2, 47, 68, 8_000, 16_387, 24_541])
def test_a_store_whose_pages_are_damaged_is_repaired_and_no_reply_that_is_whole_is_asked_again(trial, place):
    trial.write("one", "two", "three")
    assert trial.run()[0] == 0
    store = trial.folder / "calls.db"
    whole = store.read_bytes()
    store.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
    code, said = trial.run()
    assert (code, "`onetake store fsck calls.db --repair`" in said) == (5, True), said
    assert len(trial.calls()) == 3
    code, said = trial.onetake("store", "fsck", "calls.db", "--repair")
    assert (code, "3 entries" in said) == (0, True), said
    for words in (("store", "fsck", "calls.db"), trial.words(), ("batch", "verify", "rows.jsonl")):
        code, said = trial.onetake(*words)
        assert code == 0, said
    trial.check()


def test_a_damaged_reply_is_named_and_asked_once_after_it_was_taken_out(trial):
    trial.write("one", "two", "three")
    assert trial.run()[0] == 0
    store = trial.folder / "calls.db"
    whole = store.read_bytes()
    with closing(sqlite3.connect(store)) as connection:
        ((body,),) = connection.execute("SELECT body FROM entry LIMIT 1")
    at = whole.index(body) + 30
    store.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
    for words, expected in (
        (trial.words(), 5),
        (("batch", "verify", "rows.jsonl"), 6),
        (("store", "fsck", "calls.db"), 5),
    ):
        code, said = trial.onetake(*words)
        assert code == expected, said
        assert "damaged" in said
    assert len(trial.calls()) == 3
    trial.onetake("store", "fsck", "calls.db", "--repair")
    assert trial.onetake("store", "fsck", "calls.db")[0] == 0
    assert trial.onetake("batch", "verify", "rows.jsonl")[0] == 6
    for _ in range(2):
        assert trial.run()[0] == 0
        assert len(trial.calls()) == 4
    assert trial.onetake("batch", "verify", "rows.jsonl")[0] == 0


@pytest.mark.usefixtures("strace")
def test_verify_and_a_finished_run_connect_to_nobody(trial):
    trial.write("one", "two")
    assert trial.run()[0] == 0
    for words in (
        trial.words(),
        ("batch", "verify", "rows.jsonl"),
        ("batch", "plan", "in.jsonl", "-c", "job.toml"),
    ):
        code, said = trial.onetake(*words, strace=["-e", "trace=connect"])
        assert code == 0, said
        assert "AF_INET" not in (trial.folder / "trace").read_text()


def test_wall_clocks_that_jump_change_no_row_and_ask_nothing_again(trial, monkeypatch):
    trial.write("one", "two", "three")
    shutil.copy(trial.folder / "in.jsonl", trial.folder / "same.jsonl")
    jumps = iter(range(0, -(10**9), -86_400 * 365))
    monkeypatch.setattr("time.time", lambda: 1.9e9 + next(jumps))
    for _ in range(2):
        with closing(trial.opened()) as batch:
            assert running.run(batch, trial.out).exit_code == 0
    monkeypatch.undo()
    assert len(trial.calls()) == 3
    trial.check()
