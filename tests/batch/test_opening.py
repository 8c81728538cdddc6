"""A job, an input and a store, put together."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace

import pytest

from onetake.batch.asking import Asking
from onetake.batch.job import Ask, load_job
from onetake.batch.opening import Opened, asking_of, contract_of, open_source
from onetake.batch.records import Form, Tally
from onetake.errors import UsageError

JOB = '[ask]\nbase_url = "http://h/v1"\nmodel = "m"\nprompt = "{m}"\n'
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}


def test_an_input_is_read_as_often_as_it_takes_and_its_limit_holds(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"m\n1\n2\n3\n")
    source = open_source(str(tmp_path / "a.csv"), limit=2)
    assert source.form is Form.CSV
    tallies = [Tally(), Tally()]
    assert [[one.data for one in source.records(tally)] for tally in tallies] == [[{"m": "1"}, {"m": "2"}]] * 2
    assert [tally.bytes for tally in tallies] == [6, 6]
    source.close()
    assert (tmp_path / "a.csv").exists()


def test_standard_input_is_read_once_and_its_copy_goes(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"m": 1}\n')))
    source = open_source("-")
    assert [[one.data for one in source.records()] for _ in range(2)] == [[{"m": 1}]] * 2
    source.close()
    assert not source.path.exists()


@pytest.mark.parametrize(("name", "why"), [("none.jsonl", "there is no such file"), (".", "is a folder")])
def test_an_input_that_is_none_is_named(tmp_path, monkeypatch, name, why):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=f"{name}: {why}"):
        open_source(name)


def test_settings_count_from_the_jobs_folder(tmp_path):
    (tmp_path / "onetake.toml").write_text('[key]\nignore = ["$.model"]\n')
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs/job.toml").write_text(JOB)
    batch = Opened(load_job(tmp_path / "jobs/job.toml"))
    assert batch.settings.root == tmp_path
    keys = {batch.policy.keyer.key(Asking(Ask("http://h/v1", model, "x")).request({})) for model in "mn"}
    assert len(keys) == 1
    assert batch.store.place == "jobs/calls.db"
    assert list(batch.records()) == []
    batch.close()


def test_the_schema_of_a_job_is_sent_as_it_is_written_and_judges_closed(tmp_path):
    (tmp_path / "my label.json").write_text(json.dumps(SCHEMA))
    ask = Ask("http://h/v1", "m", "x", schema=tmp_path / "my label.json", structured=True)
    contract = contract_of(ask)
    sent = json.loads(asking_of(ask, contract).request({}).body)["response_format"]["json_schema"]
    assert (sent["name"], sent["schema"]) == ("my_label", SCHEMA)
    assert contract.judge_text('{"x": "1", "y": 2}')
    assert contract_of(Ask("http://h/v1", "m", "x")) is None


@pytest.mark.parametrize("wrong", ["{ x", "{m}"])
def test_a_copy_of_standard_input_goes_where_the_job_is_wrong(monkeypatch, tmp_path, wrong):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"m": 1}\n')))
    (tmp_path / "job.toml").write_text(JOB.replace("{m}", wrong))
    if wrong == "{m}":
        (tmp_path / "onetake.toml").write_text("[key]\nno_such = 1\n")
    with pytest.raises(UsageError):
        Opened(load_job(tmp_path / "job.toml"), open_source("-"))
    assert list(tmp_path.glob("*.input")) == []


def test_a_copy_of_standard_input_that_cannot_be_whole_goes(monkeypatch, tmp_path):
    def broken(size):
        raise OSError("no more")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=SimpleNamespace(read=broken)))
    with pytest.raises(OSError, match="no more"):
        open_source("-")
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_some_other_file_is_a_mistake(filling):
    filling.write({"m": "a"})
    with pytest.raises(UsageError, match=r"in\.jsonl: is a file, and no store"):
        filling.opened(filling.job(store=filling.folder / "in.jsonl"))
