"""What one runner at a time holds of a batch."""

from __future__ import annotations

import os

import pytest

from onetake.batch.claims import folder_of, making
from onetake.errors import StoreError, UsageError

HOLDER = """
import sys
from pathlib import Path
from onetake.claims import Claims
claims = Claims(Path(sys.argv[1]))
print(*(claims.take(name) for name in sys.argv[2:]), flush=True)
sys.stdin.read()
"""


def test_an_output_is_made_by_one_run_at_a_time(tmp_path):
    output = tmp_path / "rows.jsonl"
    (tmp_path / "same.jsonl").symlink_to(output)
    with making(output), making(tmp_path / "other.jsonl"):
        for same in (output, tmp_path / "same.jsonl"):
            with pytest.raises(UsageError, match=rf"{same.name}: another run is making this output"), making(same):
                pytest.fail("two runs at once")
    with pytest.raises(ZeroDivisionError), making(output):
        raise ZeroDivisionError
    with making(output):
        pass


def test_an_output_of_another_process_is_refused_until_it_is_killed(tmp_path, start):
    output = tmp_path / "rows.jsonl"
    other = start(HOLDER, folder_of(output) / "outputs.lock", os.path.normcase(output.name))
    assert other.stdout.readline() == "True\n"
    with pytest.raises(UsageError, match="another run is making"), making(output):
        pytest.fail("two runs at once")
    other.kill()
    other.wait()
    with making(output):
        pass


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StoreError, match=r"cannot be (written|made)"),
        making(tmp_path / "file" / "rows.jsonl"),
    ):
        pytest.fail("made in a file")
