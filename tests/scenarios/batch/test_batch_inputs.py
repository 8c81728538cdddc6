"""Inputs of every kind, changed between runs, and torn files: rows = lines, and no call that was made before."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import closing

import pytest

from onetake.batch.rows import encode, rows
from onetake.stores import open_store

IS_WHOLE = os.environ.get("ONETAKE_SWEEP") == "whole"
ODD = (
    b'{"message": "one"}',
    b'{"message": "one"}',
    b"",
    b"   ",
    b'{"message": "cr"}\r',
    b'{"message": "nul\x00"}',
    b'{"message": "an escaped \\u0000"}',
    '{"message": "line\u2028separator\u2029 and \x85"}'.encode(),
    b'{"message": "no utf-8 \xff"}',
    b'{"message": "cut',
    b'{"message": 1, "message": 2}',
    b'{"message": NaN}',
    b'{"other": "field"}',
    b"[1, 2]",
    b"null",
    b'{"message": "a lone \\ud800 surrogate"}',
    b'{"message": ' + b"9" * 5000 + b"}",
    b'{"message": "' + b"x" * (10_000_000 if IS_WHOLE else 1_000_000) + b'"}',
)


def test_odd_lines_have_a_row_each(trial):
    (trial.folder / "in.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\n".join(ODD) + b"\n")
    code, said = trial.run("--max-failures", "100%")
    assert code == 0, said
    answered = [row["line"] for row in trial.rows() if "answer" in row]
    assert answered[:3] == [1, 2, 5]
    assert {row["error"]["class"] for row in trial.rows() if "error" in row} == {"bad-line", "missing-field"}
    offsets = [row["error"]["offset"] for row in trial.rows() if "offset" in row.get("error", {})]
    assert offsets == sorted(offsets)
    trial.check()


def test_an_empty_input_is_an_empty_output(trial):
    trial.write()
    assert trial.run()[0] == 0
    assert (trial.out.read_bytes(), trial.calls()) == (b"", [])


def test_records_that_move_ask_nobody_and_new_ones_alone_are_asked(trial):
    trial.write("a", "b", "c", "d")
    assert trial.run()[0] == 0
    was = {number: row["answer"] for number, row in zip("abcd", trial.rows(), strict=True)}
    for order, calls in (("dcba", 4), ("abc", 4), ("aacd", 4), ("abxcd", 5)):
        trial.write(*order)
        assert trial.run()[0] == 0
        assert len(trial.calls()) == calls
        for name, row in zip(order, trial.rows(), strict=True):
            assert row["answer"] == was.setdefault(name, row["answer"])
    trial.write(*"abcde")
    before = trial.out.read_bytes()
    assert trial.run()[0] == 0
    assert trial.out.read_bytes() != before


def test_an_input_that_grows_gives_an_output_that_grows(trial):
    trial.write("a", "b")
    assert trial.run()[0] == 0
    before = trial.out.read_bytes()
    trial.write("a", "b", "c")
    assert trial.run()[0] == 0
    assert trial.out.read_bytes().startswith(before)
    trial.check()


def test_an_input_cut_at_any_byte_has_the_rows_of_its_whole_lines(trial):
    trial.write("a", "bé", "c")
    assert trial.run()[0] == 0
    whole = (trial.folder / "in.jsonl").read_bytes()
    out = trial.out.read_bytes().splitlines(keepends=True)
    for size in range(len(whole)):
        (trial.folder / "in.jsonl").write_bytes(whole[:size])
        with closing(trial.opened()) as batch:
            found = [encode(*pair) for pair in rows(batch.records(), batch.resolver)]
        full = whole[:size].count(b"\n")
        assert found[:full] == out[:full]
        assert len(found) == full + (size > 0 and whole[size - 1 : size] != b"\n")


@pytest.mark.parametrize("name", ["rows.jsonl.partial", "rows.jsonl.manifest.json.partial"])
def test_what_an_earlier_run_left_is_never_read(trial, name):
    trial.write("a", "b")
    (trial.folder / name).write_bytes(b'{"line":1,"answer":"old"}\n{"li')
    assert trial.run()[0] == 0
    trial.check()


def test_a_manifest_cut_at_any_byte_is_told_and_made_again(trial):
    trial.write("a")
    assert trial.run()[0] == 0
    sheet = trial.folder / "rows.jsonl.manifest.json"
    whole = sheet.read_bytes()
    for size in range(0, len(whole) - 2, 1 if IS_WHOLE else 211):
        sheet.write_bytes(whole[:size])
        code, said = trial.onetake("batch", "verify", "rows.jsonl")
        assert code == 5, said
        trial.figures["files that were cut"] += 1
    assert trial.run()[0] == 0
    assert sheet.read_bytes() == whole
    assert len(trial.calls()) == 1


@pytest.mark.parametrize("name", ["calls.db-wal", ".onetake/batch/calls.db.intents.db-wal"])
def test_a_log_of_a_killed_run_cut_at_any_byte_costs_what_was_cut_and_no_more(trial, name):
    trial.write(*(f"record {number}" for number in range(8)))
    trial.kill_at(6)
    killed = shutil.copytree(trial.folder, trial.folder.with_name(f"{trial.folder.name}-killed"))
    log = (killed / name).read_bytes()
    for size in range(0, len(log) + 1, 512 if IS_WHOLE else len(log) // 3):
        shutil.rmtree(trial.folder)
        shutil.copytree(killed, trial.folder)
        (trial.folder / name).write_bytes(log[:size])
        with closing(open_store(trial.folder / "calls.db", "calls.db")) as store:
            stored, called = len([*store.names()]), len(trial.calls())
        code, said = trial.run()
        assert code == 0, said
        assert len(trial.calls()) - called == 8 - stored
        assert [row["line"] for row in trial.rows()] == [*range(1, 9)]
        assert trial.onetake("batch", "verify", "rows.jsonl")[0] == 0
        assert trial.onetake("store", "fsck", "calls.db")[0] == 0
        trial.figures["files that were cut"] += 1


def test_a_prompt_edit_is_planned_before_it_is_paid_for(trial):
    trial.write("a", "b", "a")
    assert trial.run()[0] == 0
    job = trial.folder / "job.toml"
    job.write_text(job.read_text().replace("Label {message}", "Label  {message}"))
    code, said = trial.onetake("batch", "plan", "in.jsonl", "-c", "job.toml", "--json")
    plan = json.loads(said)
    assert (code, plan["records"], plan["hits"], plan["misses"]) == (0, 3, 0, 3)
    assert len(trial.calls()) == 2
