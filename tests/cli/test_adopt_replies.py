"""`onetake adopt --from`."""

from __future__ import annotations

import json
import shutil

import pytest


@pytest.fixture
def edited(run, batch):
    """A batch that was run, its old job in `old.toml`; then its prompt got a line end."""
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    shutil.copy("job.toml", "old.toml")
    job = batch / "job.toml"
    job.write_text(job.read_text().replace('{message}"', '{message}\\n"'))
    return batch


@pytest.mark.parametrize("old", ["old.toml", "rows.jsonl", "rows.jsonl.manifest.json"])
def test_it_is_shown_then_written_then_counted(run, edited, provider, old):
    count = provider.count
    rows = (edited / "rows.jsonl").read_bytes()
    code, out, _ = run("adopt", "--from", old)
    assert code == 0
    assert out == (
        "edit      prompt differs by one trailing newline\n"
        "caution   the stored answers are to the old words\n"
        "records   3\n"
        "to adopt  2 entries\n"
        "\n"
        "left  first   why\n"
        "1     line 2  a bad line\n"
        "\n"
        f"nothing was written: `onetake adopt --from {old} --yes` does it\n"
    )
    done = json.loads(run("adopt", "--from", old, "--yes", "--reason", "a line end", "--json")[1])
    assert (done["entries"], done["store"], done["done"]) == (2, "calls.db", True)
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    assert ((edited / "rows.jsonl").read_bytes(), provider.count) == (rows, count)
    assert "records   3: 2 answered (2 adopted), 1 failed, 0 missing" in run("batch", "status")[1]
    assert "rows     3: 2 answered (2 adopted), 1 failed, 0 missing" in run("batch", "report")[1]
    assert json.loads(run("batch", "explain", "1", "--json")[1])["replies"][0]["adopted"]["reason"] == "a line end"
    assert "adopted" in run("check", "calls.db")[1]
    assert "nothing to adopt" in run("adopt", "--from", "old.toml", "--yes")[1]


def test_a_job_that_never_ran_is_told_its_input(run, edited):
    shutil.copy("job.toml", "new.toml")
    code, out, _ = run("adopt", "new.toml", "--from", "old.toml", "--input", "in.jsonl")
    assert (code, "to adopt  2 entries" in out) == (0, True)
    assert "`onetake adopt new.toml --from old.toml --input in.jsonl --yes` does it" in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--from", "gone.toml"], "gone.toml"),
        (["--from", "nothing"], "--from nothing: there is no such file, and it is no job's digits"),
        (["--from", "abcdefabcdef"], "no job that ran on calls.db has these digits"),
        (["--from", "job.toml"], "--from job.toml: nothing is taken over: the prompt does not differ"),
        (["--from", "old.toml", "--only", "x"], "--only chooses among what a run of tests missed"),
        (["--input", "in.jsonl"], "--input is a batch's, and goes with --from"),
        (["other.jsonl", "--from", "old.toml"], "no run of it is known"),
    ],
)
def test_what_cannot_be_is_a_wrong_use(run, edited, words, why):
    code, _, error = run("adopt", *words)
    assert (code, why in error) == (2, True), error


def test_another_model_is_refused(run, edited):
    old = edited / "old.toml"
    old.write_text(old.read_text().replace('"m"', '"n"'))
    code, _, error = run("adopt", "--from", "old.toml", "--yes")
    assert (code, "more than the prompt differs: model was 'n', is 'm'" in error) == (2, True)
