"""Whole runs: resumed, stopped, sealed, and published only when nothing is missing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace

import pytest

from onetake.batch.claims import making
from onetake.batch.manifest import load_manifest
from onetake.batch.opening import Opened, open_source
from onetake.batch.running import replay, run
from onetake.errors import InteractionNotFound, StoreError, UsageError
from onetake.testing.provider import openai_chat, openai_error


@pytest.fixture
def go(filling):
    """Return a function that runs the batch, or replays it."""

    def make(how=run, out="rows.jsonl", keep_input=False, **said):
        batch = filling.opened(filling.job(**said))
        try:
            return how(batch, filling.folder / out, keep_input=keep_input)
        finally:
            batch.close()

    return make


KILLED = """
import os, pathlib, signal, sys
from onetake.batch.ledger import Ledger
ledger = Ledger(pathlib.Path(sys.argv[1]))
ledger.begin_run("job", "input")
ledger.intend([("ab" * 32, 1)])[0]
os.kill(os.getpid(), signal.SIGKILL)
"""


def rows(filling, out="rows.jsonl"):
    return [json.loads(line) for line in (filling.folder / out).read_bytes().splitlines()]


def test_a_run_asks_once_publishes_and_a_second_one_asks_nobody(filling, go):
    filling.write({"m": "a"}, {"m": "b"}, {"m": "a"}, "")
    ended = go(max_failures=1)
    assert (ended.exit_code, ended.published.rows, ended.published.failures) == (0, 4, {"bad-line": 1})
    assert filling.provider.count == 2
    before = (filling.folder / "rows.jsonl").read_bytes()
    (filling.folder / "rows.jsonl").unlink()
    again = go(max_failures=1)
    assert again.outcome is None, "nothing was missing, so no run began"
    assert filling.provider.count == 2
    assert (filling.folder / "rows.jsonl").read_bytes() == before
    assert go(replay, max_failures=1).published.manifest == again.published.manifest


def test_rows_that_fail_are_published_and_exit_code_7_says_so(filling, go):
    filling.write("", {"m": "a"}, "", {"m": "b"})
    assert go().exit_code == 7
    assert go(max_failures=2).exit_code == 0
    assert go(max_failures=1).exit_code == 7
    assert go(max_failures=0.5).exit_code == 0
    assert go(max_failures=0.49).exit_code == 7
    assert len(rows(filling)) == 4


def test_an_empty_input_gives_an_empty_output(filling, go):
    filling.write()
    assert go().exit_code == 0
    assert (filling.folder / "rows.jsonl").read_bytes() == b""
    assert load_manifest(filling.folder / "rows.jsonl").rows == 0


def test_a_run_that_stops_before_its_end_leaves_what_was_published(filling, go):
    filling.write({"m": "a"})
    go()
    before = (filling.folder / "rows.jsonl").read_bytes()
    filling.provider.script(lambda request: openai_error(402))
    filling.write({"m": "a"}, {"m": "b"})
    ended = go()
    assert (ended.published, ended.exit_code) == (None, 75)
    assert ended.outcome.why.startswith("provider: ")
    assert (filling.folder / "rows.jsonl").read_bytes() == before
    assert sorted(path.name for path in filling.folder.iterdir() if "partial" in path.name) == []
    filling.provider.script([openai_chat("b")])
    assert go().exit_code == 0
    assert [row["line"] for row in rows(filling)] == [1, 2]


def test_the_rows_so_far_may_be_looked_at_while_others_are_asked(filling, go):
    filling.write({"m": "a"})
    go()
    partial, seen = filling.folder / "rows.jsonl.partial", []

    def answer(request):
        said = request.json()["messages"][0]["content"]
        if said == "Say c":  # b's row is there in the end, and only then c has an answer
            until = time.monotonic() + 20
            while partial.read_bytes().count(b"\n") < 3 and time.monotonic() < until:
                threading.Event().wait(0.01)
        seen.append((said, partial.read_bytes()))
        return openai_chat(said)

    filling.provider.script(answer)
    filling.write({"m": "a"}, "", {"m": "b"}, {"m": "c"}, {"m": "d"})
    partial.write_bytes(b'{"line":1,"answer":"old"}\n{"li')
    assert go(max_failures=1).published.rows == 5
    whole = (filling.folder / "rows.jsonl").read_bytes()
    assert [said for said, _ in seen] == ["Say b", "Say c", "Say d"]
    assert all(whole.startswith(rows) for _, rows in seen)
    assert seen[1][1].count(b"\n") == 3
    assert not partial.exists()


@pytest.mark.parametrize("form", ["", "csv"])
def test_records_in_front_of_the_first_missing_reply_are_counted_and_not_looked_up_again(filling, form):
    names = ["a", "", "b", "c"]
    for some in (names[:3], names):
        (filling.folder / "in.csv").write_text("m,n\n" + "".join(f"{name},1\n" for name in some))
        filling.write(*({"m": name} if name else "" for name in some))
        source = open_source(str(filling.folder / ("in.csv" if form else "in.jsonl")), limit=len(some))
        with closing(Opened(filling.job(), source)) as batch:
            told = run(batch, filling.folder / "rows.jsonl").outcome.tally
    assert (told.done, told.cached, told.asked) == (4, 3, 1)
    assert dict(told.failed) == ({} if form else {"bad-line": 1})


def test_offline_a_missing_reply_is_a_miss_and_nothing_is_written(filling, go):
    filling.write({"m": "a"}, {"m": "b"})
    with pytest.raises(InteractionNotFound, match=r"line 1: no reply that counts is stored") as caught:
        go(replay)
    assert caught.value.exit_code == 6
    assert not (filling.folder / "rows.jsonl").exists()
    assert filling.provider.count == 0


def test_br_157_equal_records_have_a_row_each_also_after_a_stop(filling, go):
    filling.write({"m": "a"})
    go()
    filling.write({"m": "a"}, {"m": "a"}, {"m": "a"})
    ended = go()
    assert (ended.published.rows, filling.provider.count) == (3, 1)
    assert len({json.dumps(row["answer"]) for row in rows(filling)}) == 1


def test_br_162_another_spelling_of_a_record_is_the_same_request(filling, go):
    filling.write('{"m": "a", "n": 1}')
    go()
    filling.write('{ "n":1.0,   "m":"\\u0061" }')
    go()
    assert filling.provider.count == 1


def test_br_162_one_row_of_another_type_is_that_row_alone(filling, go):
    # A number is a text in the prompt; what has no field at all is said in its row.
    filling.write({"m": "a"}, {"m": 7}, {"m": {"x": [1]}}, {"m": None}, ["m"], {"m": "b"})
    filling.provider.script(lambda request: openai_chat(request.json()["messages"][0]["content"]))
    ended = go(max_failures=1)
    assert (ended.exit_code, ended.published.failures) == (0, {"bad-line": 1})
    assert [row.get("answer") for row in rows(filling)] == [
        "Say a",
        "Say 7",
        'Say {"x": [1]}',
        "Say null",
        None,
        "Say b",
    ]
    assert rows(filling)[4]["error"]["message"] == "no JSON object, but a list"


def test_the_same_output_is_made_by_one_run_at_a_time(filling, go):
    filling.write({"m": "a"})
    with making(filling.folder / "rows.jsonl"):
        with pytest.raises(UsageError, match="another run"):
            go()
        assert go(out="other.jsonl").exit_code == 0
    assert filling.provider.count == 1


def test_what_a_killed_run_had_in_flight_is_told_once(filling, go):
    filling.write({"m": "a"})
    go()
    (path,) = (filling.folder / ".onetake/batch").glob("*.intents.db")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert go().settled.lost == 1
    assert go().settled.lost == 0


def test_a_damaged_reply_is_named_and_nobody_is_asked(filling, go):
    filling.write({"m": "a"})
    go(store=filling.folder / "calls")
    (entry,) = (filling.folder / "calls").glob("*.json")
    entry.write_bytes(entry.read_bytes()[:-20])
    with pytest.raises(StoreError, match=entry.name[:20]):
        go(store=filling.folder / "calls")
    assert filling.provider.count == 1


def test_a_missing_credential_is_told_before_a_run_begins(filling, go, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    filling.ask = {"api_key_env": "NO_SUCH_KEY"}
    filling.write({"m": "a"})
    with pytest.raises(UsageError, match="NO_SUCH_KEY is not set"):
        go()
    batch = filling.opened()
    assert list(batch.ledger().runs()) == []
    batch.close()


def test_where_a_loop_runs_already_as_in_a_notebook(filling, go):
    filling.write({"m": "a"})

    async def cell():
        return go()

    assert asyncio.run(cell()).exit_code == 0
    assert filling.provider.count == 1


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_in_a_notebook_drains_the_run(filling, go):
    filling.write(*({"m": f"r{n}"} for n in range(2000)))

    def answer(received):
        if received.number == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return openai_chat("drained")

    async def cell():
        return go()

    before = signal.getsignal(signal.SIGINT)
    filling.provider.script(answer)
    ended = asyncio.run(cell())
    assert (ended.published, ended.outcome.why, ended.exit_code) == (None, "interrupted", 130)
    assert 2 <= ended.outcome.tally.asked == filling.provider.count < 2000
    assert ended.outcome.tally.asked == sum(row != "needed" for row in filling.rows())
    assert signal.getsignal(signal.SIGINT) is not None and before is signal.getsignal(signal.SIGINT)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_twice_in_a_notebook_stops_it_at_once(filling, go):
    filling.write({"m": "a"})
    never = threading.Event()

    def answer(received):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)  # of one kind two that wait are one
        return replace(openai_chat("late"), hold=never)

    async def cell():
        return go()

    filling.provider.script(answer)
    ended = asyncio.run(cell())
    never.set()
    assert (ended.published, ended.outcome.why, ended.outcome.tally.asked) == (None, "interrupted", 0)


def test_nothing_is_shown_where_nothing_is_asked(filling):
    filling.write({"m": "a"})
    shown = []
    for _ in range(2):
        batch = filling.opened()
        run(batch, filling.folder / "rows.jsonl", shows=lambda: shown.append(1))
        batch.close()
    assert shown == [1]
