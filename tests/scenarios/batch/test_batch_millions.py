"""Very many stored replies: looked up and published in the memory that a few take, each row its own, in order."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROWS = 100_000
_ROOM_MB = 8
"""What Python's own memory may grow by; the replies are some 200 MB, and a set of their keys alone would be 12."""


_MAKE = """
import pathlib, sys
from bench.batches import FinishedBatch
FinishedBatch(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.mark.whole
@pytest.mark.timeout(900)
@pytest.mark.skipif(sys.platform == "win32", reason="measures memory as POSIX has it")
def test_a_hundred_thousand_stored_replies_take_the_memory_of_a_thousand(tmp_path):
    said = _measured(tmp_path / "batch")
    assert said["mb"]["end"] - said["mb"]["early"] <= _ROOM_MB, said
    with (tmp_path / "batch/rows.jsonl").open("rb") as file:
        for number, line in enumerate(file):
            row = json.loads(line)
            assert (row["line"], row["answer"]["why"]) == (number + 1, f"it says that record {number:09d} broke")
    assert number == ROWS - 1


def _measured(folder):
    """Make a finished batch, then have all of it looked up and published by a process of its own."""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", _MAKE, str(folder), str(ROWS)], check=True, env=environ)
    command = [sys.executable, "-m", "bench.resuming", str(folder), str(ROWS)]
    done = subprocess.run(command, check=True, env=environ, stdout=subprocess.PIPE)
    return json.loads(done.stdout)
