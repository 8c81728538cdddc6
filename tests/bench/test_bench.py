"""The bench runs, part by part, and says what it says it measures; how fast is never asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(tmp_path):
    """Run parts of the bench with very few calls; returns what they printed and what they wrote."""

    def run(*arguments):
        results = tmp_path / "results.json"
        tiny = ["--calls", "3", "--rounds", "1", "--folder", str(tmp_path), "--results", str(results)]
        command = [sys.executable, "-m", "bench", *arguments, *tiny]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        return done.stdout, json.loads(results.read_text())

    return run


def test_replay_names_every_way_that_is_installed(bench):
    printed, results = bench("replay", "--entries", "12")
    (row,) = results["replay"]
    assert (row["entries"], row["body"], row["shape"]) == (12, 2_000, "long")
    assert {"bare", "onetake"} <= set(row["call_us"])
    assert row["times_bare"]["bare"] == 1
    assert set(row["open_ms"]) == set(row["call_us"]) == set(row["times_bare"])
    assert "| 12 | 2 KB |" in printed


@pytest.mark.whole
def test_replay_leaves_nothing_behind(bench, tmp_path):
    bench("replay", "--entries", "12")
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_the_key_is_measured_at_two_sizes_and_shapes(bench):
    _, results = bench("key")
    assert {(row["body"], row["shape"]) for row in results["key"]} == {
        (size, shape) for size in (4_000, 200_000) for shape in ("long", "many")
    }
    assert all(set(row["us"]) == {"least", "key"} for row in results["key"])


@pytest.mark.whole
def test_imports_are_measured_apart(bench):
    _, results = bench("import")
    assert {"onetake", "onetake.use_cassette"} <= {row["import"] for row in results["import"]}


@pytest.mark.whole
def test_recording_is_measured_for_the_whole_answer_and_the_first_token(bench):
    _, results = bench("recording")
    assert [row["what"] for row in results["recording"]] == ["the whole answer", "the first token"]
    assert all("disk" in row["added_ms"] for row in results["recording"])


@pytest.mark.whole
def test_upkeep_goes_through_a_project_in_which_nothing_is_wrong(bench, tmp_path):
    printed, results = bench("upkeep", "--entries", "120")
    rows = [(row["command"], row["entries"], row["cassettes"]) for row in results["upkeep"]]
    assert rows == [("check", 120, 2), ("status", 120, 2), ("check", 120, 1), ("status", 120, 1)]
    assert "| `onetake check` | 120 | 2 |" in printed


@pytest.mark.whole
def test_cassettes_of_vcrpy_are_imported_a_tenth_all_and_again(bench, tmp_path):
    printed, results = bench("import-vcr", "--entries", "10")
    rows = results["import-vcr"]
    assert [(row["what"], row["cassettes"]) for row in rows] == [("a tenth of them", 1), ("all", 10), ("all again", 10)]
    assert all(row["peak_mb"] > 0 for row in rows)
    assert "| all | 10 | 0 |" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_a_part_that_is_not_there_is_refused(tmp_path):
    done = subprocess.run([sys.executable, "-m", "bench", "speed"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, "invalid choice: 'speed'" in done.stderr) == (2, True)


def test_a_batch_is_measured_beside_a_plain_loop_and_by_its_parts(bench, tmp_path):
    printed, results = bench("batch", "--entries", "50")
    (row,) = results["batch"]
    assert row["rows"] == 50
    assert set(row["parts_us"]) == {"records", "keys", "store", "validation", "writing"}
    assert "| 50 |" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


@pytest.mark.whole
def test_a_batch_that_asks_is_measured_beside_bare_loops(bench, tmp_path):
    printed, results = bench("batch-run", "--entries", "70")
    live, commits, resume = results["batch-run"]
    assert [row["records"] for row in results["batch-run"]] == [70, 70, 70]
    assert all({"bare", "onetake"} == set(row["per_s"]) and row["times_bare"] > 0 for row in (live, commits))
    assert 0 < resume["mb"]["early"] <= resume["mb"]["end"]
    assert "### A resume that finds everything" in printed
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]
