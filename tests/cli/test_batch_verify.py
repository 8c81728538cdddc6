"""`onetake batch verify`."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def rows(run, batch, provider):
    """The output of a batch; the provider is gone."""
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--repairs", "1", "--progress", "none")
    provider.close()
    return batch / "rows.jsonl"


def test_an_output_is_what_the_store_gives(run, rows):
    assert run("batch", "verify", "rows.jsonl") == (0, "rows.jsonl: 3 rows, as the store gives them\n", "")
    assert json.loads(run("batch", "verify", "rows.jsonl", "--json")[1])["differences"] == []


def test_the_first_row_that_differs_is_named(run, rows):
    rows.write_bytes(rows.read_bytes().replace(b'"line":3', b'"line":4'))
    code, out, _ = run("batch", "verify", "rows.jsonl")
    assert (code, out.splitlines()[0].startswith("row 3: the output has ")) == (6, True)
    assert [one["what"] for one in json.loads(run("batch", "verify", "rows.jsonl", "--json")[1])["differences"]] == [
        "row",
        "output",
    ]


def test_an_edited_input_and_job_are_named(run, rows):
    with (rows.parent / "in.jsonl").open("ab") as file:
        file.write(b"\n")
    with (rows.parent / "job.toml").open("a") as file:
        file.write("schema_version = 2\n")
    code, out, _ = run("batch", "verify", "rows.jsonl")
    assert (code, [line.partition(":")[0] for line in out.splitlines()]) == (6, ["input", "job", "row 4"])


def test_all_of_it_may_be_moved_together(run, rows, monkeypatch):
    other = rows.parent / "elsewhere"
    other.mkdir()
    for name in ("rows.jsonl", "rows.jsonl.manifest.json", "in.jsonl", "calls.db"):
        (rows.parent / name).rename(other / name)
    (rows.parent / "job.toml").rename(other / "the.toml")
    code, _, err = run("batch", "verify", "elsewhere/rows.jsonl")
    assert (code, "job.toml: cannot be read" in err) == (2, True)
    # The job says nothing of the one repair that the command line of the run said; the manifest does.
    code, out, _ = run("batch", "verify", "elsewhere/rows.jsonl", "-c", "elsewhere/the.toml", "--json")
    assert (code, json.loads(out)["differences"]) == (0, [])
