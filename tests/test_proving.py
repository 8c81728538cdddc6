"""What two runs of a suite say of each test, by their outcomes and by what differed; whole runs: `cli/test_migrate`."""

from __future__ import annotations

import json

import pytest

from onetake.errors import UsageError
from onetake.importers.importing import files_of, import_all
from onetake.importers.placing import Choices
from onetake.proving import HOSTS, Comparison, _compared, _import, prove
from onetake.proving_runs import Telling

COUNTS, BYTES = {"counts": True, "asked": "a"}, {"counts": False, "asked": "b"}


@pytest.mark.parametrize(
    ("before", "now", "differing", "found", "why"),
    [
        ("passed", "passed", [], Comparison.SAME, ""),
        ("passed", "passed", [BYTES], Comparison.SAME, ""),
        ("passed", "passed", [BYTES, COUNTS], Comparison.BODY, ""),
        ("passed", "failed", [COUNTS], Comparison.BODY, "what broke"),
        ("passed", "failed", [], Comparison.OTHERWISE, "what broke"),
        ("failed", "failed", [COUNTS], Comparison.SAME, "what broke"),
        ("failed", "passed", [], Comparison.OTHERWISE, ""),
        ("skipped", "", [], Comparison.OTHERWISE, ""),
    ],
)
def test_each_test_is_one_of_three_things(before, now, differing, found, why):
    ran = {"t": {"outcome": now, "why": "what\nbroke" if now == "failed" else ""}} if now else {}
    (test,) = _compared({"t": {"outcome": before, "why": ""}}, ran, [{"id": "t", "differing": differing}])
    assert (test.found, test.before, test.now, test.why.replace("⏎", " ")) == (found, before, now, why)
    assert list(test.differing) == [one for one in differing if one["counts"]]


def test_all_sessions_of_a_test_count_together():
    passed = {"t": {"outcome": "passed", "why": ""}}
    (test,) = _compared(passed, passed, [{"id": "t", "differing": [COUNTS]}] * 2)
    assert len(test.differing) == 2


@pytest.mark.parametrize("word", ["--record-mode=all", "--vcr-record=none"])
def test_it_records_nothing(word):
    pytest.importorskip("vcr")
    with pytest.raises(UsageError, match="records nothing"):
        prove([word], Telling())


def test_the_settings_above_each_cassette_count_and_its_own_servers_are_told(tmp_path):
    for name, key in (("one", 'ignore = ["$.p"]'), ("two", "")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "onetake.toml").write_text(f"[key]\n{key}\n", encoding="utf-8")
        (folder / "t.json").write_text(json.dumps({"version": 1, "interactions": [interaction()]}), encoding="utf-8")
    entries = tmp_path / "entries"
    brought = _import(tmp_path, entries)
    assert (brought.cassettes, brought.there, brought.interactions) == (2, 0, {"imported": 2})
    assert brought.hosts == ("127.0.0.1:9",)
    assert json.loads((entries / HOSTS).read_bytes()) == ["127.0.0.1:9"]
    one, two = (json.loads(next((entries / name / "t").glob("*.json")).read_bytes()) for name in ("one", "two"))
    assert one["key"] != two["key"]
    assert [each["provenance"]["imported_from"]["path"] for each in (one, two)] == ["t.json", "t.json"]


def test_answers_that_only_a_word_of_keep_replays_are_told_as_long_as_the_settings_lack_it(tmp_path):
    bad = {"status": {"code": 429, "message": "x"}, "headers": {}, "body": {"string": "{}"}}
    found = {"version": 1, "interactions": [interaction() | {"response": bad}, interaction()]}
    tape, settings = tmp_path / "t.json", tmp_path / "onetake.toml"
    tape.write_text(json.dumps(found), encoding="utf-8")
    told = []
    for number, said in enumerate(["", 'keep = ["status:4xx"]']):
        settings.write_text(said, encoding="utf-8")
        told.append(_import(tmp_path, tmp_path / f"entries{number}").keep)
    settings.write_text("", encoding="utf-8")
    list(import_all(files_of([tape], None), Choices(keep=("status:429",))))
    there = _import(tmp_path, tmp_path / "entries2")
    assert (told, there.there, there.keep) == ([("status:429",), ()], 1, ("status:429",))


def interaction():
    headers = {"content-type": ["application/json"]}
    return {
        "request": {"method": "POST", "uri": "http://127.0.0.1:9/x", "body": '{"p": 1}', "headers": headers},
        "response": {"status": {"code": 200, "message": "OK"}, "headers": headers, "body": {"string": "{}"}},
    }
