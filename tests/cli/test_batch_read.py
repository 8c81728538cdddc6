"""`onetake batch status`, `report`, `failures`, `explain`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from onetake.testing.provider import openai_chat, openai_error


@pytest.fixture
def ran(run, batch, provider):
    """A batch that was run: an answer, a bad line, a request that the provider refused."""
    provider.script([openai_chat("fine"), openai_error(400, message="too \x1b[31modd")])
    words = ("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    assert run(*words, "--concurrency", "1")[0] == 7
    return batch


@pytest.mark.parametrize("target", [(), ("rows.jsonl",), ("job.toml",)])
def test_status_by_output_by_job_and_of_the_last_run(run, ran, target):
    found = json.loads(run("batch", "status", *target, "--json")[1])
    counts = [found[name] for name in ("records", "answered", "failed", "waiting", "may_have_been_billed")]
    assert (counts, found["state"]) == ([3, 1, 2, 0, 0], "ended")
    assert run("batch", "status", *target)[1].splitlines()[3] == "records   3: 1 answered, 2 failed, 0 missing"


def test_what_is_missing_since_is_said(run, ran):
    with (ran / "in.jsonl").open("ab") as file:
        file.write(b'{"message": "three"}\n')
    out = run("batch", "status")[1]
    assert "records   4: 1 answered, 2 failed, 1 missing" in out
    assert out.splitlines()[-1] == "to go on: onetake batch run in.jsonl -c job.toml -o rows.jsonl"


def test_report_counts_attempts_and_says_the_likely_fix(run, ran):
    found = json.loads(run("batch", "report", "--json")[1])
    assert (found["attempts"], found["stored"], found["runs"]) == (2, 2, 1)
    assert found["outcomes"] == {"ok": 1, "refused": 1}
    assert {one["failure"] for one in found["classes"]} == {"bad-line", "refused"}
    out = run("batch", "report")[1]
    assert "ask again: onetake batch retry rows.jsonl --class refused" in out
    assert "\x1b" not in out


def test_failures_is_a_list(run, ran):
    found = json.loads(run("batch", "failures", "--json")[1])
    assert [(one["line"], one["class"]) for one in found] == [(2, "bad-line"), (3, "refused")]
    assert set(found[0]) == {"line", "class", "message", "reply", "key"}
    assert [one["line"] for one in json.loads(run("batch", "failures", "--class", "refused", "--json")[1])] == [3]
    out = run("batch", "failures")[1]
    assert "\x1b" not in out
    assert out.splitlines()[2].startswith("3     refused")


def test_explain_a_row_its_reply_and_its_request(run, ran):
    found = json.loads(run("batch", "explain", "1", "--json")[1])
    assert (found["record"], found["row"]) == ({"message": "one"}, {"answer": "fine"})
    assert (found["replies"][0]["verdict"], found["replies"][0]["said"]) == ("good", "fine")
    assert found["request"]["body"]["json"]["messages"][0]["content"] == "Label one"
    assert json.loads(run("batch", "explain", "2", "--json")[1])["row"]["error"]["class"] == "bad-line"
    with (ran / "in.jsonl").open("ab") as file:
        file.write(b'{"message": "three"}\n')
    missing = json.loads(run("batch", "explain", "4", "rows.jsonl", "--json")[1])
    assert (missing["missing"], missing["replies"]) == ("not asked before", [])
    assert "missing  not asked before" in run("batch", "explain", "4")[1]
    assert run("batch", "explain", "5")[0] == 2


@pytest.mark.parametrize("command", ["status", "report", "failures", "explain"])
def test_where_nothing_ran_it_says_what_to_name(run, project, command):
    words = ("batch", command, *(["1"] if command == "explain" else []))
    code, _, err = run(*words)
    assert (code, "no batch has run in this folder" in err) == (2, True)
    code, _, err = run(*words, "rows.jsonl")
    assert (code, "no run of it is known" in err) == (2, True)


def test_an_input_from_standard_input_must_be_named_again(shell, run, batch):
    # A file in its place: what counts is what the run was told.

    words = [
        sys.executable,
        "-m",
        "onetake",
        "batch",
        "run",
        "-",
        "-c",
        "job.toml",
        "-o",
        "rows.jsonl",
        "--progress",
        "none",
    ]
    done = subprocess.run(words, input=(batch / "in.jsonl").read_bytes(), cwd=batch, capture_output=True, timeout=60)
    assert done.returncode == 7, done.stderr
    code, _, err = run("batch", "failures")
    assert (code, "name a file that holds it with --input" in err) == (2, True)
    assert len(json.loads(run("batch", "failures", "--input", "in.jsonl", "--json")[1])) == 1
    assert run("batch", "verify", "rows.jsonl")[0] == 2
    assert run("batch", "verify", "rows.jsonl", "--input", "in.jsonl")[0] == 0


def test_a_prompt_that_was_edited_is_named_as_the_cause(run, ran):
    job = ran / "job.toml"
    job.write_text(job.read_text("utf-8").replace("Label", "Name"), "utf-8")
    told = {"what": "job", "why": "it asks something else than the rows were made from", "line": None}
    for command in ("status", "report"):
        assert json.loads(run("batch", command, "--json")[1])["differences"] == [told]
        out = run("batch", command)[1]
        assert f"rows.jsonl was made before something changed:\n  job: {told['why']}\n" in out
    found = json.loads(run("batch", "failures", "--json")[1])
    assert [one["class"] for one in found] == ["bad-line"], "what nobody asked did not fail"


def test_a_manifest_that_cannot_be_read_is_told(run, ran):
    (ran / "rows.jsonl.manifest.json").write_text("{}", "utf-8")
    (found,) = json.loads(run("batch", "status", "--json")[1])["differences"]
    assert found["what"] == "manifest"


def test_a_run_that_was_killed_before_its_first_call_is_not_told_as_done(run, batch):
    words = ("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl")
    assert run(*words, "--offline")[0] == 6
    assert "none of its runs came so far as to send anything" in run("batch", "status")[1]
