"""Runs that fill a store, against a provider that misbehaves in every row of the retry table."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import threading
import time
from collections import Counter
from dataclasses import replace
from email.utils import formatdate
from itertools import pairwise

import pytest

from onetake.batch.retrying import Fault, Kind
from onetake.contract import Contract
from onetake.errors import NotStored, StoreError, UsageError
from onetake.model import Response
from onetake.store_users import asked_keys
from onetake.testing.provider import (
    bytes_reply,
    json_reply,
    openai_chat,
    openai_error,
    openai_stream,
    text_reply,
)

LABEL = {"type": "object", "properties": {"label": {"enum": ["a", "b"]}}, "required": ["label"]}


def prompt_of(received):
    return received.json()["messages"][-1]["content"]


def error(status, message="no", code=None, **headers):
    body = {"error": {"message": message, "type": "x", "code": code}}
    return json_reply(body, status, tuple((name.replace("_", "-"), value) for name, value in headers.items()))


def test_every_record_is_asked_once_and_a_second_run_asks_nobody(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(20)))
    outcome, totals = filling.fill(least=4, most=8)
    assert (outcome.why, outcome.exit_code, provider.count) == ("", 0, 20)
    assert Counter(map(prompt_of, provider.requests)) == Counter(f"Say r{n}" for n in range(20))
    assert (totals.attempts, totals.stored, totals.classes) == (20, 20, {"ok": 20})
    for number, answer in enumerate(filling.rows()):
        assert answer.endswith(f" to: Say r{number}")
    outcome, totals = filling.fill(least=4, most=8)
    assert (outcome.tally.cached, outcome.tally.asked, totals.attempts, provider.count) == (20, 0, 0, 20)


def test_a_folder_of_files_will_do_as_a_store(filling, provider):
    store = filling.folder / "calls"
    filling.write(*({"m": f"r{n}"} for n in range(6)))
    filling.fill(least=4, most=4, store=store)
    outcome, _ = filling.fill(least=4, most=4, store=store)
    assert (outcome.tally.cached, provider.count, len(list(store.glob("*.json")))) == (6, 6, 6)
    assert len(set(filling.rows(store=store))) == 6


def test_br_157_equal_records_are_asked_once_whether_together_or_later(filling, provider):
    filling.write(*[{"m": "same"}] * 30, {"m": "other"}, {"m": "same"})
    outcome, _ = filling.fill(least=4, most=8)
    assert provider.count == 2
    assert outcome.tally.done == 32
    assert len(set(filling.rows())) == 2


def test_bad_lines_and_missing_fields_ask_nobody(filling, provider):
    filling.write("{", "", {"n": 1}, {"m": "good"})
    outcome, _ = filling.fill()
    assert provider.count == 1
    assert outcome.tally.failed == {"bad-line": 2, "missing-field": 1}


def test_an_empty_input_asks_nobody(filling, provider):
    filling.write()
    outcome, _ = filling.fill()
    assert (outcome.why, outcome.exit_code, outcome.tally.done) == ("", 0, 0)


NEVER_STORED = {
    "408": error(408),
    "409": error(409),
    "500": error(500),
    "503": error(503),
    "529": error(529),
    "reset before the body": replace(openai_chat("half"), cut_after=0, reset=True),
    "reset in the body": replace(openai_chat("half"), cut_after=30, reset=True),
    "short content-length": replace(openai_chat("half"), cut_after=30),
    "closed in the body": replace(openai_chat("half"), pieces=(openai_chat("half").body[:40],), framing="close"),
    "200 with HTML": text_reply("<html>please log in</html>"),
    "200 with HTML that says JSON": bytes_reply(b"<html></html>", "application/json"),
    "200 with nothing": bytes_reply(b"", "application/json"),
    "200 with another object": json_reply({"ok": True}),
    "200 without choices": json_reply({"object": "chat.completion", "choices": []}),
    "200 with an error": openai_error(200),
    "NaN": bytes_reply(openai_chat("half").body[:-1] + b',"x":NaN}', "application/json"),
    "duplicate keys": bytes_reply(openai_chat("half").body[:-1] + b',"id":"y"}', "application/json"),
    "stream cut": openai_stream("half of it", ending="cut"),
    "stream with an error": openai_stream("half of it", ending="error"),
    "keep-alives only": replace(openai_stream("half"), pieces=(b": keep-alive\n\n",) * 3),
}


@pytest.mark.parametrize("name", NEVER_STORED)
def test_what_is_no_answer_is_asked_again_and_never_stored(filling, provider, name):
    filling.write({"m": "r"})
    provider.script([NEVER_STORED[name], NEVER_STORED[name], openai_chat("whole")])
    outcome, totals = filling.fill()
    assert provider.count == 3 and (outcome.why, outcome.tally.again) == ("", 2)
    assert filling.rows() == ["whole"]
    assert (totals.attempts, totals.stored, totals.classes["ok"]) == (3, 1, 1)
    assert filling.clock.rests == [0.5, 1.0]


def test_a_stalled_answer_is_asked_again_and_counts_as_one_attempt(filling, provider):
    filling.write({"m": "r"})
    never = threading.Event()
    provider.script([replace(openai_chat("late"), hold=never), openai_chat("in time")])
    _, totals = filling.fill(timeout=0.2)
    never.set()
    assert filling.rows() == ["in time"]
    assert totals.classes == {"ok": 1, "timeout": 1}
    assert (totals.lost, totals.unsettled) == (1, 0)  # it may have been billed


def test_a_record_is_given_up_after_its_attempts_and_asked_by_the_next_run(filling, provider):
    filling.write({"m": "bad"}, {"m": "good"}, {"m": "bad"})
    provider.script(lambda received: error(500) if "bad" in prompt_of(received) else None)
    outcome, _ = filling.fill(max_attempts=3)
    assert Counter(map(prompt_of, provider.requests)) == {"Say bad": 3, "Say good": 1}
    assert (outcome.why, outcome.exit_code, outcome.tally.failed) == ("", 0, {"gave-up": 1})
    assert filling.rows()[0] == "needed"
    provider.script([])
    filling.fill(max_attempts=3)
    assert provider.count == 5 and "needed" not in filling.rows()


FORMS = [
    ({"retry_after": "20"}, 20),
    ({"retry_after_ms": "1500"}, 1.5),
    ({"retry_after": "in 30"}, 30),
    ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1m2s"}, 62),
    ({}, 0.5),
]


@pytest.mark.parametrize(("headers", "seconds"), FORMS)
def test_a_429_in_every_form_is_waited_for(filling, provider, headers, seconds):
    filling.write({"m": "r"}, {"m": "s"})
    came = []

    if headers.get("retry_after") == "in 30":  # a date counts from the provider's own, which is to the second
        headers = {"retry_after": formatdate(time.time() + 30, usegmt=True)}

    def answer(received):
        came.append(filling.clock.time)
        return error(429, "slow down", **headers) if received.number == 1 else None

    provider.script(answer)
    filling.fill()
    assert came[1] - came[0] == pytest.approx(seconds, abs=2 if seconds == 30 else 1e-6)
    assert provider.count == 3


def test_a_storm_of_429_uses_up_no_attempts_and_spaces_the_calls(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(6)))
    came = []

    def answer(received):
        came.append(filling.clock.time)
        return error(429, retry_after="10") if len(came) <= 9 else None

    provider.script(answer)
    outcome, totals = filling.fill(max_attempts=2)
    assert (outcome.why, outcome.tally.asked) == ("", 6)
    assert totals.classes == {"429": 9, "ok": 6}
    waits = [later - sooner for sooner, later in pairwise(came)]
    assert waits == [10.0] * 5 + [16.0, 32.0, 60.0, 60.0] + [0.0] * 5


def test_a_429_that_asks_for_a_day_stops_the_run(filling, provider):
    filling.write({"m": "r"}, {"m": "s"})
    provider.script(lambda received: error(429, "daily limit", retry_after="86400"))
    outcome, _ = filling.fill()
    assert (outcome.exit_code, provider.count, filling.clock.rests) == (75, 1, [])
    assert outcome.why.startswith("provider: ") and "daily limit" in outcome.why


def test_a_request_that_is_too_large_for_the_limit_does_not_hold_the_run_for_ever(filling, provider):
    filling.write({"m": "large"}, *({"m": f"r{n}"} for n in range(40)))
    provider.script(lambda received: error(429, "Request too large") if "large" in prompt_of(received) else None)
    outcome, _ = filling.fill(least=2, most=2)
    assert (outcome.why, outcome.tally.asked, outcome.tally.failed) == ("", 41, {"gave-up": 1})


@pytest.mark.parametrize("reply", [error(429, code="insufficient_quota"), error(402, "Insufficient Balance")])
def test_no_call_follows_when_the_money_is_gone(filling, provider, reply):
    filling.write(*({"m": f"r{n}"} for n in range(20)))
    provider.script(lambda received: None if received.number < 4 else reply)
    outcome, _ = filling.fill()
    assert (outcome.exit_code, provider.count) == (75, 4)
    assert outcome.why.startswith("provider: ")
    provider.script([])
    outcome, _ = filling.fill()
    assert (outcome.exit_code, outcome.tally.cached, provider.count) == (0, 3, 21)


@pytest.mark.parametrize(
    ("records", "reply"), [(1, error(401)), (20, error(403)), (20, error(404, code="model_not_found"))]
)
def test_three_refusals_of_access_stop_the_run(filling, provider, records, reply):
    filling.write(*({"m": f"r{n}"} for n in range(records)))
    provider.script(lambda received: reply)
    outcome, totals = filling.fill()
    assert (outcome.exit_code, provider.count, totals.stored) == (75, 3, 0)


def test_access_that_fails_for_the_last_record_alone_is_told_too(filling, provider):
    filling.write({"m": "r"})
    provider.script(lambda received: error(401, "bad key"))
    outcome, _ = filling.fill(max_attempts=1)
    assert (outcome.exit_code, outcome.why) == (75, "provider: 401: bad key")


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_br_158_a_refused_record_is_stored_and_never_asked_again(filling, provider, status):
    filling.write({"m": "bad"}, {"m": "good"})
    provider.script(lambda received: error(status, "too long") if "bad" in prompt_of(received) else None)
    outcome, totals = filling.fill()
    assert (outcome.exit_code, outcome.tally.failed, totals.stored) == (0, {"refused": 1}, 2)
    filling.fill()
    assert provider.count == 2


def test_twenty_refused_at_the_start_stop_the_run(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(60)))
    provider.script(lambda received: error(400, "unknown field"))
    outcome, _ = filling.fill()
    assert (outcome.exit_code, provider.count) == (75, 20)


def test_a_provider_that_only_fails_is_not_asked_for_ever(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(60)))
    provider.script(lambda received: error(503))
    outcome, _ = filling.fill()
    assert (outcome.exit_code, provider.count) == (75, 20)


def labels(*replies):
    """Answer the first question, and each repair of it, with the next of some replies."""
    return lambda received: replies[(len(received.json()["messages"]) - 1) // 2]


def test_a_bad_answer_is_repaired_and_the_chain_is_replayed(filling, provider):
    filling.contract = Contract(LABEL, name="label")
    filling.write({"m": "r"})
    provider.script(labels(openai_chat('{"label": "z"}'), openai_chat("no json"), openai_chat('{"label": "a"}')))
    outcome, totals = filling.fill(repairs=2)
    assert (outcome.tally.repaired, provider.count, filling.rows(repairs=2)) == (1, 3, [{"label": "a"}])
    assert totals.classes == {"invalid": 2, "ok": 1}
    assert "z" in provider.requests[1].json()["messages"][1]["content"]
    filling.fill(repairs=2)
    assert provider.count == 3


def test_always_bad_ends_in_a_dead_letter(filling, provider):
    filling.contract = Contract(LABEL, name="label")
    filling.write({"m": "r"}, {"m": "r"})
    provider.script(labels(openai_chat('{"label": "z"}'), openai_chat('{"label": "y"}')))
    outcome, _ = filling.fill(repairs=1)
    assert (outcome.tally.failed["invalid"], provider.count) == (1, 2)
    assert filling.rows(repairs=1) == ["invalid", "invalid"]
    filling.fill(repairs=1)
    assert provider.count == 2


DEAD = {
    "truncated": openai_chat("half", finish="length"),
    "refusal": openai_chat(None, refusal="I cannot help with that."),
    "filtered": openai_chat("", finish="content_filter"),
}


@pytest.mark.parametrize("name", DEAD)
def test_what_no_repetition_helps_is_stored_as_a_dead_letter(filling, provider, name):
    filling.write({"m": "r"})
    provider.script([DEAD[name]])
    filling.fill(repairs=3)
    filling.fill(repairs=3)
    assert (provider.count, filling.rows(repairs=3)) == (1, [name])


PRICES = {"input": 10.0, "output": 20.0}


def priced(text, asked, answered):
    return openai_chat(text, usage={"prompt_tokens": asked, "completion_tokens": answered})


def test_spending_includes_every_answer_that_was_paid_for(filling, provider):
    filling.contract = Contract(LABEL, name="label")
    filling.write({"m": "r"})
    broken = priced("x", 7, 5)
    provider.script(
        [
            replace(broken, pieces=(broken.body[:-1] + b',"id":1}',)),
            priced('{"label": "z"}', 100, 3),
            priced('{"label": "a"}', 200, 4),
        ]
    )
    _, totals = filling.fill(repairs=1, prices=PRICES)
    assert (totals.input, totals.output) == (300, 7)
    assert str(totals.cost.normalize()) == "0.00314"


def test_a_budget_is_never_overspent_and_another_run_goes_on(filling, provider):
    filling.ask = {"params": {"max_tokens": 50}}
    filling.write(*({"m": f"r{n}"} for n in range(30)))
    provider.script(lambda received: priced("x", 40, 50))
    # A call costs 0.0014; as many bytes as it has could cost a little more.
    outcome, totals = filling.fill(least=4, most=4, prices=PRICES, max_cost=0.02)
    assert (outcome.why, outcome.exit_code) == ("budget", 4)
    assert 0.015 < totals.cost <= 0.02
    first = provider.count
    assert first == totals.attempts == totals.stored
    outcome, _ = filling.fill(least=4, most=4, prices=PRICES, max_cost=5.0)
    assert (outcome.why, provider.count) == ("", 30)


def test_a_deadline_ends_a_wait_and_leaves_the_rest_for_later(filling, provider):
    filling.write({"m": "r"}, {"m": "s"})
    provider.script(lambda received: error(429, retry_after="300") if received.number == 2 else None)
    outcome, _ = filling.fill(deadline=100.0)
    assert (outcome.why, outcome.exit_code, provider.count) == ("deadline", 4, 2)
    assert filling.clock.rests == [100.0]


def test_requests_a_minute_are_kept(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(10)))
    came = []

    def answer(received):
        came.append(filling.clock.time)

    provider.script(answer)
    filling.fill(rpm=30.0)
    assert [round(at - came[0], 3) for at in came] == [2.0 * n for n in range(10)]


def test_a_key_that_another_runner_asks_is_waited_for_and_not_asked(filling, provider):
    filling.write({"m": "r"})
    other = asked_keys(filling.folder / "calls.db")
    batch = filling.opened()
    key = batch.resolver.resolve(next(batch.records())).reply.asked.key
    assert other.take(key)
    polls = []

    async def rest(seconds, unless):
        polls.append(seconds)
        if len(polls) == 3:  # the other runner has its reply, and lets go
            filling.folder.joinpath("other").mkdir()
            other.free(key)

    filling.clock.rest = rest
    outcome, _ = filling.fill()
    assert (len(polls), provider.count, outcome.tally.done) == (3, 1, 1)


class Stored:
    """Sends nothing itself: by the time it is asked, another runner would have stored the reply."""

    client = "test 1"

    def __init__(self, came):
        self.came = list(came)
        self.asked = []
        self.closed = False

    async def send(self, request):
        self.asked.append(json.loads(request.body))
        return self.came.pop(0)

    async def close(self):
        self.closed = True


def test_any_sender_will_do_and_it_is_closed(filling, provider):
    filling.write({"m": "r"})
    sends = Stored(
        [Fault(Kind.AGAIN, "odd"), Fault(Kind.RATE, "busy"), Fault(Kind.ACCESS, "no"), Fault(Kind.AGAIN, "x")]
    )
    outcome, totals = filling.fill(sends=sends, max_attempts=3)
    assert (len(sends.asked), sends.closed, provider.count) == (4, True, 0)
    assert (outcome.tally.failed, totals.attempts, totals.cost) == ({"gave-up": 1}, 4, 0)


def test_an_answer_with_a_secret_that_cannot_be_taken_out_is_asked_for_once(filling):
    filling.write({"m": "r"})
    plain = openai_chat("it is sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2)
    headers = (*plain.headers, ("content-encoding", "gzip"))  # as a client leaves it that does not decode
    sends = Stored([Response(200, headers, gzip.compress(plain.body))])
    outcome, totals = filling.fill(sends=sends)
    assert (outcome.tally.failed, totals.classes, totals.stored) == ({"invalid": 1}, {"secret": 1}, 1)
    filling.fill(sends=sends)
    assert (len(sends.asked), filling.rows()) == (1, ["invalid"])


def test_a_full_disk_ends_the_run_with_what_the_store_says(filling, provider, monkeypatch):
    filling.write(*({"m": f"r{n}"} for n in range(20)))
    real = sqlite3.connect

    def connect(*given, **named):
        connection = real(*given, **named)
        if "calls.db?" not in given[0] and "calls.db" in given[0] and "intents" not in given[0]:
            connection.execute("PRAGMA max_page_count = 6")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect)
    with pytest.raises(StoreError, match=r"calls\.db.*full"):
        filling.fill(least=4, most=4)
    monkeypatch.undo()
    monkeypatch.chdir(filling.folder)
    asked = provider.count
    outcome, _ = filling.fill(least=4, most=4)
    assert outcome.why == "" and "needed" not in filling.rows()
    assert provider.count <= asked + 20


def test_a_damaged_reply_is_named_and_nobody_is_asked(filling, provider):
    filling.write({"m": "r"})
    filling.fill()
    with sqlite3.connect(filling.folder / "calls.db") as connection:
        connection.execute("UPDATE entry SET body = x'00'")
    connection.close()
    with pytest.raises(StoreError, match=r"line 1: .*calls\.db.*damaged"):
        filling.fill()
    assert provider.count == 1


def test_a_reply_that_breaks_a_newer_contract_is_asked_anew_and_replaced(filling, provider):
    filling.contract = Contract(LABEL, name="label")
    filling.write({"m": "r"})
    provider.script([openai_chat('{"label": "b"}'), openai_chat('{"label": "a"}')])
    filling.fill()
    filling.contract = Contract({**LABEL, "properties": {"label": {"const": "a"}}}, name="label", schema_version=2)
    filling.fill()
    assert (provider.count, filling.rows()) == (2, [{"label": "a"}])


def test_an_error_of_the_input_ends_the_run(filling, provider):
    filling.write({"m": "r"})
    batch = filling.opened()

    def records():
        yield from batch.records()
        raise UsageError("the input cannot be read")

    batch.close()
    filling.opened = lambda job=None: _with_records(type(batch)(filling.job(), batch.source), records)
    with pytest.raises(UsageError, match="cannot be read"):
        filling.fill()
    assert provider.count == 1


def _with_records(batch, records):
    batch.records = records
    return batch


def test_what_judges_and_breaks_ends_the_run_and_the_answer_is_counted(filling, provider):
    def breaks(request):
        raise RuntimeError("a bug of the project")

    filling.contract = Contract(LABEL, name="label", on=breaks)
    filling.write({"m": "r"})
    with pytest.raises(NotStored, match="a bug of the project"):
        filling.fill()
    assert filling.opened().ledger().totals().classes == {"unjudged": 1}


class Shown:
    """Notes what it is shown."""

    every = 0.0

    def __init__(self):
        self.said = []
        self.closed = False

    def show(self, said):
        self.said.append(said)

    def close(self):
        self.closed = True


def test_progress_is_shown_while_it_goes_on_and_at_the_end(filling, provider):
    filling.write(*({"m": f"r{n}"} for n in range(5)))
    shows = Shown()
    filling.fill(shows=shows)
    assert len(shows.said) > 1 and shows.closed
    done = [said["done"] for said in shows.said]
    assert done == sorted(done) and done[-1] == 5
    assert (shows.said[-1]["in_flight"], shows.said[-1]["limit"]) == (0, "")


def test_the_view_is_closed_and_connections_too_where_a_run_breaks(filling, provider):
    filling.write({"m": "r"})
    shows, sends = Shown(), Stored([])
    with pytest.raises(IndexError):
        filling.fill(shows=shows, sends=sends)
    assert shows.closed and sends.closed


@pytest.mark.parametrize("words", [1, 20_000])
def test_a_reply_that_is_stored_is_asked_by_no_later_run_however_large_it_is(filling, provider, words):
    said = " ".join(os.urandom(4).hex() for _ in range(words))
    provider.script([openai_chat(said)])
    filling.write({"m": "a"})
    filling.run = {"rpm": 1, "max_cost": 1.0, "prices": {"input": 1.0, "output": 1.0}}
    for run in range(4):
        outcome, _ = filling.fill(ahead=True)
        assert (outcome.why, provider.count) == ("", 1)
        assert run == 0 or filling.clock.rests == [], "what is stored takes nothing of any limit"
    assert filling.rows() == [said]


def test_only_a_later_ordinal_that_is_stored_is_no_reply(filling, provider):
    filling.write({"m": "a"})
    filling.fill()
    batch = filling.opened()
    ((key, ordinal),) = batch.store.names()
    data = batch.store.get(key + "0" * 48, ordinal)
    batch.store.delete(key + "0" * 48, 0)
    batch.store.add(key + "0" * 48, 1, data)
    batch.close()
    assert filling.fill(ahead=True)[0].why == ""
    assert provider.count == 2
