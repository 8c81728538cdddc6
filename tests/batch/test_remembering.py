"""What runs were told."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from onetake.batch.job import load_job
from onetake.batch.opening import Opened
from onetake.batch.records import Form
from onetake.batch.remembering import Told, earlier, form_of, last_run, recall, remember, words_of

JOB = '[ask]\nbase_url = "http://h/v1"\nmodel = "m"\nprompt = "{text}"\n'


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a function that opens a job of this text, in a folder of its own beside the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "out").mkdir()

    def make(text=JOB):
        (tmp_path / "jobs/job.toml").write_text(text)
        return Opened(load_job(tmp_path / "jobs/job.toml"))

    return make


def told_of(folder, name="rows.jsonl"):
    out = str(folder / "out" / name)
    return Told(str(folder / "jobs/job.toml"), "in.txt", "text", 5, out, True, 1, str(folder / "jobs/calls.db"))


def test_a_run_is_found_by_its_output_its_job_and_from_where_it_was_run(opened, tmp_path, monkeypatch):
    told = told_of(tmp_path)
    remember(opened(), told)
    assert recall(tmp_path / "out/rows.jsonl") == told
    assert last_run(tmp_path / "jobs/job.toml") == told
    assert last_run() == told
    assert form_of(told) is Form.TEXT
    monkeypatch.chdir(tmp_path / "out")
    assert last_run() == told
    monkeypatch.chdir("/")
    assert recall(tmp_path / "out/other.jsonl") is None
    assert last_run(tmp_path / "jobs/other.toml") is None
    assert (tmp_path / "out/.onetake/.gitignore").read_text() == "*\n"


def test_the_last_one_counts(opened, tmp_path):
    first, second = told_of(tmp_path, "a.jsonl"), told_of(tmp_path, "b.jsonl")
    remember(opened(), first)
    remember(opened(), second)
    folder = tmp_path / ".onetake/batch/outputs"
    for number, path in enumerate(sorted(folder.iterdir())):  # whatever the clock of the disk says
        os.utime(path, ns=(number, number))
    wanted = last_run()
    assert wanted in (first, second)
    for path in folder.iterdir():
        told = first if wanted == second else second
        os.utime(path, ns=(9, 9) if path.read_text().count(told.output) else (1, 1))
    assert last_run() == told


def test_earlier_jobs_of_the_same_store_are_known_by_what_they_asked(opened, tmp_path):
    batch = opened()
    remember(batch, told_of(tmp_path))
    assert earlier(batch) == []
    later = opened(JOB.replace("{text}", "{text}!"))
    (found,) = earlier(later)
    assert (found.ask.prompt, found.schema, found.repairs) == ("{text}", None, 0)
    other = replace(later.job, run=replace(later.job.run, store=tmp_path / "jobs/other.db"))
    assert earlier(Opened(other)) == []


def test_the_words_of_a_job_are_known_by_its_digest(opened, tmp_path):
    batch = opened()
    remember(batch, told_of(tmp_path))
    assert words_of(batch.job.run.store, batch.job.digest()) == ("m", "{text}")
    assert words_of(batch.job.run.store, "0" * 64) == words_of(tmp_path / "none.db", batch.job.digest()) == ("", "")


def test_no_credential_is_noted(opened, tmp_path, monkeypatch):
    monkeypatch.setenv("THE_KEY", "sk-" + "a1B2" * 8)
    remember(opened(JOB + 'api_key_env = "THE_KEY"\n'), told_of(tmp_path))
    texts = [path.read_text() for path in tmp_path.rglob(".onetake/batch/**/*.json")]
    assert texts
    assert not any("sk-a1B2" in text or "THE_KEY" in text for text in texts)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"job": 1}', b"\xff"])
def test_a_damaged_note_saves_no_words_and_breaks_nothing(opened, tmp_path, content):
    batch = opened()
    remember(batch, told_of(tmp_path))
    for path in tmp_path.rglob(".onetake/batch/*/*.json"):
        path.write_bytes(content)
    assert (recall(tmp_path / "out/rows.jsonl"), last_run(), earlier(batch)) == (None, None, [])


def test_where_nothing_can_be_written_nothing_is_noted_and_nothing_breaks(opened, tmp_path):
    batch = opened()
    for folder in (tmp_path, tmp_path / "out", tmp_path / "jobs"):
        (folder / ".onetake").write_bytes(b"")  # a file where a folder should be
    remember(batch, told_of(tmp_path))
    assert (recall(tmp_path / "out/rows.jsonl"), last_run()) == (None, None)
