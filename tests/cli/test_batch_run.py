"""`onetake batch run` and `retry`."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from importlib.util import find_spec

import pytest

from onetake.testing.provider import openai_chat, openai_error

RUN = ("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]}


@pytest.fixture
def judged(batch):
    """The same batch under a schema, and with prices."""
    (batch / "x.json").write_text(json.dumps(SCHEMA))
    with (batch / "job.toml").open("a") as job:
        job.write('schema = "x.json"\n[run]\nprices = { input = 1, output = 1 }\n')
    return batch


def test_rows_are_written_and_failures_told_with_the_command_that_asks_again(run, judged, provider):
    provider.script([openai_chat(json={"x": 1}), openai_chat(json={"x": "b"})])
    code, out, err = run(*RUN, "--concurrency", "1")
    assert (code, err) == (7, "")
    lines = out.splitlines()
    assert lines[0].startswith("2 calls sent: $0.0")
    assert lines[1] == "rows.jsonl: 3 rows, 2 failed"
    assert "ask again: onetake batch retry rows.jsonl --class invalid" in lines
    rows = [json.loads(line) for line in (judged / "rows.jsonl").read_text().splitlines()]
    assert [row.get("answer") for row in rows] == [None, None, {"x": "b"}]


def test_br_158_a_rejected_row_is_paid_for_once_and_retry_asks_again_for_its_class_alone(run, judged, provider):
    provider.script([openai_chat(json={"x": 1}), openai_chat(json={"x": "b"}), openai_chat(json={"x": "a"})])
    for _ in range(3):
        run(*RUN, "--concurrency", "1")
        rows = [json.loads(line) for line in (judged / "rows.jsonl").read_text().splitlines()]
        assert [row.get("error", {}).get("class") for row in rows] == ["invalid", "bad-line", None]
    assert provider.count == 2
    code, out, _ = run("batch", "retry", "--class", "invalid", "--progress", "none", "--max-failures", "1")
    assert (code, provider.count) == (0, 3)
    assert out.splitlines()[:2] == [
        "1 row to ask again, stored replies moved to the trash: 1",
        out.splitlines()[1],
    ]
    rows = [json.loads(line) for line in (judged / "rows.jsonl").read_text().splitlines()]
    assert [row.get("answer") for row in rows] == [{"x": "a"}, None, {"x": "b"}]


def test_json_says_how_it_ended(run, batch, provider):
    code, out, err = run(*RUN[:-2], "--json", "--max-failures", "50%", "--keep-input")
    said = json.loads(out)
    assert (code, err) == (0, "")
    assert (said["rows"], said["failures"], said["calls"], said["asked"], said["stopped"]) == (
        3,
        {"bad-line": 1},
        2,
        2,
        "",
    )
    assert (said["published"], said["output"], said["exit"]) == (True, "rows.jsonl", 0)
    assert json.loads((batch / "rows.jsonl").read_text().splitlines()[0])["input"] == {"message": "one"}
    again = json.loads(run(*RUN[:-2], "--json", "--max-failures", "1", "--keep-input")[1])
    assert (again["sha256"], again["calls"], provider.count) == (said["sha256"], 0, 2)


def test_offline_and_onetake_mode_none_send_nothing(run, batch, provider, monkeypatch):
    code, _, err = run(*RUN, "--offline")
    assert (code, "line 1: no reply that counts is stored" in err) == (6, True)
    monkeypatch.setenv("ONETAKE_MODE", "none")
    assert run(*RUN)[0] == 6
    assert (provider.count, (batch / "rows.jsonl").exists()) == (0, False)


def test_a_dry_run_is_the_plan(run, batch, provider):
    words = ("in.jsonl", "-c", "job.toml", "--json")
    assert run("batch", "run", *words, "-o", "rows.jsonl", "--dry-run")[1] == run("batch", "plan", *words)[1]
    assert (provider.count, (batch / "rows.jsonl").exists()) == (0, False)


def test_a_provider_that_says_stop_is_exit_code_75_and_writes_nothing(run, batch, provider):
    provider.script(lambda request: openai_error(402))
    code, out, _ = run(*RUN)
    assert (code, (batch / "rows.jsonl").exists()) == (75, False)
    assert out.splitlines()[-1].startswith("stopped: provider: ")
    assert out.splitlines()[-1].endswith("rows.jsonl was not written: run it again to go on")


def test_the_command_line_goes_before_the_job(run, batch, provider):
    code, _, _ = run(*RUN, "--limit", "1", "--store", "other.db", "--rpm", "600")
    assert (code, provider.count, (batch / "other.db").is_file(), (batch / "calls.db").exists()) == (0, 1, True, False)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--rpm", "0"), "[run].rpm: must be a number above 0"),
        (("--concurrency", "8-2"), "[run].concurrency: must be a number of calls or a range"),
        (("--max-cost", "1"), "a budget cannot be kept"),
        (("--text", "--csv"), "an input is one of them"),
        (("--store", "a.db", "-o", "nowhere/rows.jsonl"), "there is no such folder"),
    ],
)
def test_what_is_wrong_is_exit_code_2_and_nothing_is_sent(run, batch, provider, words, why):
    code, _, err = run(*RUN, *words)
    assert (code, why in err, provider.count) == (2, True, 0), err


def test_lines_of_text(shell, batch, provider):
    (batch / "job.toml").write_text((batch / "job.toml").read_text().replace("{message}", "{line}"))
    (batch / "log.txt").write_bytes(b"one\ntwo\n")
    done = shell("batch", "run", "log.txt", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none", cwd=batch)
    assert (done.returncode, provider.count) == (0, 2), done.stderr


@pytest.mark.parametrize(("answer", "asked"), [("y", 4), ("n", 2)])
def test_on_a_terminal_a_person_is_asked_before_an_edit_is_paid_for(run, batch, provider, monkeypatch, answer, asked):
    confirmed = []
    monkeypatch.setattr("onetake.cli.batch_run.is_person_there", lambda: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: confirmed.append(1) or answer == "y")
    run(*RUN)
    assert confirmed == [], "nothing was paid for before"
    (batch / "job.toml").write_text((batch / "job.toml").read_text().replace("Label", "Name"))
    assert 'prompt was "Label {message}", is "Name {message}"' in run(*RUN)[1]
    assert (confirmed, provider.count) == ([1], asked)
    run(*RUN, "--yes")
    assert (confirmed, provider.count) == ([1], 4)


@pytest.mark.parametrize(("out", "what"), [("in.jsonl", "input"), ("job.toml", "job"), ("calls.db", "store")])
def test_an_output_takes_the_place_of_nothing_that_the_batch_is_made_from(run, batch, provider, out, what):
    run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    before = (batch / out).read_bytes()
    for more in ([], ["--offline"]):
        code, _, error = run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", out, "--progress", "none", *more)
        assert (code, f"{out}: is the {what} of this batch" in error) == (2, True)
    assert (batch / out).read_bytes() == before


@pytest.mark.parametrize("lacks", ["credential", "mode"])
def test_retry_moves_nothing_where_nothing_can_be_asked(run, judged, provider, monkeypatch, lacks):
    job = (judged / "job.toml").read_text().replace("[run]", 'api_key_env = "THE_KEY"\n[run]')
    (judged / "job.toml").write_text(job)
    monkeypatch.setenv("THE_KEY", "one")
    provider.script(lambda request: openai_chat(json={"x": 1}))
    assert run(*RUN)[0] == 7
    with monkeypatch.context() as changed:
        _ = changed.delenv("THE_KEY") if lacks == "credential" else changed.setenv("ONETAKE_MODE", "none")
        code, out, err = run("batch", "retry", "--class", "invalid", "--progress", "none")
        assert (code, out, "THE_KEY is not set" in err or "lets nothing be asked" in err) == (2, "", True)
    assert provider.count == 2
    assert (run("batch", "verify", "rows.jsonl")[0], run(*RUN, "--offline")[0]) == (0, 7)


@pytest.mark.parametrize("as_json", [False, True])
def test_what_a_killed_run_left_is_told_at_once(run, batch, as_json):
    run(*RUN)
    (books,) = (batch / ".onetake/batch").glob("*.intents.db")
    with closing(sqlite3.connect(books)) as ledger, ledger:
        ledger.execute("UPDATE run SET ended = NULL, exit_code = NULL")
        ledger.execute("UPDATE attempt SET state = 0, key = zeroblob(32) WHERE id = 1")
    said = "an earlier run was killed: up to 1 call may have been billed without a stored reply\n"
    _, out, err = run(*RUN, *(["--json"] if as_json else []))
    assert (out.startswith(said), err) == ((False, said) if as_json else (True, ""))
    if as_json:
        assert json.loads(out)["may_have_been_billed"] == 1
    assert "was killed" not in run(*RUN)[1], "it is told once"


@pytest.mark.parametrize("value", ["socks4://u:word@h:1", "http://u:word@h:port", "socks5://u:word@h:1"])
def test_a_proxy_that_cannot_be_asked_is_told_and_no_run_begins(run, batch, provider, monkeypatch, value):
    if value.startswith("socks5") and find_spec("socksio"):
        pytest.skip("socksio is installed")
    _elsewhere(batch, "http://models.example/v1")
    monkeypatch.setenv("http_proxy", value)
    code, out, err = run(*RUN)
    assert (code, out, provider.count) == (2, "", 0)
    assert err.startswith("onetake: HTTP_PROXY names ") and err.count("\n") == 1 and "word" not in err
    monkeypatch.delenv("http_proxy")
    assert json.loads(run("batch", "report", "job.toml", "--input", "in.jsonl", "--json")[1])["runs"] == 0


def test_an_address_that_no_client_takes_is_told_and_no_run_begins(run, batch):
    _elsewhere(batch, "http://\u2603.example/v1")
    code, out, err = run(*RUN)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("onetake: base_url: ")


def _elsewhere(batch, base_url):
    job = (batch / "job.toml").read_text()
    (batch / "job.toml").write_text(re.sub('base_url = "[^"]*"', f'base_url = "{base_url}"', job), "utf-8")
