"""Signals: the first drains, the second stops, and `kill -9` loses nothing that was committed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from onetake.batch.ledger import Ledger
from onetake.batch.sending import Sender
from onetake.testing.provider import openai_chat

_PROGRAM = """
import asyncio, json, os, pathlib, sys
from onetake.store_users import asked_keys
from onetake.batch.costs import costs_of
from onetake.batch.job import Ask, Job, Run
from onetake.batch.opening import Opened, open_source
from onetake.batch.runner import Filler
from onetake.batch.sending import Sender

class Telling(Sender):  # says when an answer came, and when nobody waits for one any more
    async def send(self, request):
        try:
            came = await super().send(request)
        except asyncio.CancelledError:
            print("stopped", flush=True)
            raise
        print("came", flush=True)
        return came

url, calls = sys.argv[1], int(sys.argv[2])
job = Job(None, Ask(url + "/v1", "m", "Say {m}"), Run(pathlib.Path("calls.db").absolute(), least=calls, most=calls))
batch = Opened(job, open_source("in.jsonl"))
ledger = batch.ledger()
ledger.begin_run(job.digest(), "")
outcome = asyncio.run(Filler(
    job=job, records=batch.records(), replies=batch.replies, resolver=batch.resolver, ledger=ledger,
    claims=asked_keys(job.run.store), sends=Telling(job.ask, timeout=60, environ=os.environ), costs=costs_of(job),
).fill())
ledger.end_run(outcome.why, outcome.exit_code)
print(json.dumps([outcome.why, outcome.exit_code, outcome.tally.asked]))
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")


def start(filling, provider, calls=4):
    command = [sys.executable, "-c", _PROGRAM, provider.url, str(calls)]
    environ = {**os.environ, "ONETAKE_MODE": "off"}
    return subprocess.Popen(command, cwd=filling.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ)


def ended(process):
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    return json.loads(out.splitlines()[-1])


def said(process, word, times=1):
    """Wait until a process has said a word so often, and no other."""
    assert [process.stdout.readline().decode().strip() for _ in range(times)] == [word] * times


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_drains_what_is_in_flight(filling, provider, number, code):
    filling.write(*({"m": f"r{n}"} for n in range(30)))
    go = threading.Event()

    def answer(received):
        if received.number == 4:
            os.kill(os.getpid(), number)
            go.set()
        return replace(openai_chat("drained"), hold=go)

    before = signal.getsignal(number)
    provider.script(answer)
    outcome, totals = filling.fill(least=4, most=4)
    assert (outcome.why, outcome.exit_code, outcome.tally.asked) == ("interrupted", code, 4)
    assert (provider.count, totals.stored, totals.unsettled) == (4, 4, 0)
    assert Counter(filling.rows()) == {"drained": 4, "needed": 26}
    assert signal.getsignal(number) is before


def test_the_second_signal_stops_at_once_and_the_next_run_goes_on(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(8)))
    never = threading.Event()
    provider.script(lambda received: replace(openai_chat("late"), hold=never) if received.number > 2 else None)
    process = start(filling, provider)
    provider.wait_for(6)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)  # of one kind two that wait are one
    why, code, asked = ended(process)
    never.set()
    assert (why, code in (130, 143), asked) == ("interrupted", True, 2)
    provider.script([])
    outcome, _ = filling.fill(least=4, most=4)
    assert (outcome.why, outcome.tally.asked, provider.count) == ("", 6, 12)


def with_one_held(filling, provider):
    """Make a store, and twenty records to be asked, of which one is answered when the event that is returned is set."""
    filling.write({"m": "first"})
    filling.fill()  # makes the store
    filling.write(*({"m": f"r{n}"} for n in range(20)))
    never = threading.Event()
    provider.script(lambda received: replace(openai_chat("late"), hold=never) if received.number == 2 else None)
    return never


def test_what_came_before_the_second_signal_is_stored_and_counted(filling, provider):
    never = with_one_held(filling, provider)
    with stopped_while_it_stores(filling, provider, 7) as process:
        assert process.poll() is None
    why, code, asked = ended(process)
    never.set()
    assert (why, code in (130, 143), asked, provider.count) == ("interrupted", True, 7, 9)
    assert Counter(row == "needed" for row in filling.rows()) == {False: 7, True: 13}
    provider.script([])
    outcome, _ = filling.fill(least=4, most=4)
    assert (outcome.tally.cached, outcome.tally.asked) == (7, 13)


def test_what_came_before_a_third_signal_is_stored(filling, provider):
    never = with_one_held(filling, provider)
    with stopped_while_it_stores(filling, provider, 7) as process:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    never.set()
    assert (process.returncode != 0, provider.count) == (True, 9)
    assert Counter(row == "needed" for row in filling.rows()) == {False: 7, True: 13}


@contextmanager
def stopped_while_it_stores(filling, provider, calls):
    """Start a run, and stop it by two signals when so many answers came; none is stored before the block ends."""
    with closing(sqlite3.connect(filling.folder / "calls.db", isolation_level=None)) as store:
        store.execute("BEGIN IMMEDIATE")
        process = start(filling, provider, calls=calls + 1)
        said(process, "came", calls)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        said(process, "stopped")
        yield process
        store.execute("ROLLBACK")


def test_what_was_not_sent_before_the_second_signal_is_no_call(filling, provider, monkeypatch):
    filling.write(*({"m": f"r{n}"} for n in range(3)))
    never, stopped = threading.Event(), threading.Event()
    provider.script(lambda received: replace(openai_chat("late"), hold=never) if "r1" in str(received.json()) else None)
    intend, intended = Ledger.intend, []

    def slowly(self, asked):
        intended.append(len(asked))
        if len(intended) == 2:
            for number in (signal.SIGINT, signal.SIGTERM):
                os.kill(os.getpid(), number)
            assert stopped.wait(10)
        return intend(self, asked)

    class Told(Sender):
        async def send(self, request):
            try:
                return await super().send(request)
            except asyncio.CancelledError:
                stopped.set()
                raise

    monkeypatch.setattr(Ledger, "intend", slowly)
    sender = Told(filling.job().ask, timeout=60, environ={})
    outcome, totals = filling.fill(sends=sender, least=2, most=2)
    never.set()
    assert intended == [2, 1]
    assert (outcome.why, outcome.tally.calls, provider.count) == ("interrupted", 2, 2)
    assert (totals.attempts, totals.stored, totals.unsettled) == (2, 1, 1)


def test_br_163_a_run_that_is_killed_early_hides_nothing_of_a_fuller_one(filling, provider):
    # At 60 %, and the next one when it has sent 5 % more.
    prompts = [f"Say r{n}" for n in range(40)]
    filling.write(*({"m": f"r{n}"} for n in range(40)))
    settled = {}
    for kill_at in (24, 26):
        killed_at(kill_at, filling, provider)
        asked, rows = asked_for(provider), filling.rows()
        stored = {prompt for prompt, row in zip(prompts, rows, strict=True) if row != "needed"}
        assert set(settled) <= stored, "nothing is deleted"
        assert len(set(asked) - stored) <= 4, "no more than were in flight"
        settled |= {prompt: asked[prompt] for prompt in stored - set(settled)}
    outcome, _ = filling.fill(least=4, most=4)
    asked = asked_for(provider)
    assert (outcome.why, outcome.tally.cached) == ("", len(settled))
    assert {prompt: asked[prompt] for prompt in settled} == settled
    assert len(set(filling.rows())) == 40
    assert provider.count <= 40 + 2 * 4


def test_br_165_a_killed_run_is_gone_on_with(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(12)))
    killed_at(6, filling, provider)
    ledger = Ledger(filling.folder / ".onetake/batch/calls.db.intents.db")
    (run,) = ledger.runs()
    assert (run.ended, ledger.is_under_way(run)) == (None, False)
    ledger.close()
    outcome, totals = filling.fill(least=4, most=4)
    assert (outcome.why, outcome.tally.done) == ("", 12)
    assert "needed" not in filling.rows()
    assert totals.attempts == outcome.tally.asked == 12 - outcome.tally.cached
    assert provider.count <= 12 + 4


def killed_at(calls, filling, provider):
    """Start a run, and kill it when so many calls have come of all runs."""
    process = start(filling, provider)
    provider.wait_for(calls)
    process.kill()
    process.communicate()


def asked_for(provider):
    """How often each prompt was asked."""
    return Counter(one.json()["messages"][-1]["content"] for one in provider.requests)


def test_two_runners_of_one_store_ask_each_key_once(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(30)))
    first, second = start(filling, provider), start(filling, provider)
    assert ended(first)[:2] == ended(second)[:2] == ["", 0]
    assert provider.count == 30
    assert len(set(filling.rows())) == 30
