"""What is kept of one attempt."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import ExitStack, closing
from decimal import Decimal

import pytest

from onetake.batch import storing
from onetake.batch.costs import costs_of
from onetake.batch.retrying import Fault, Kind
from onetake.batch.storing import Came, Keeper
from onetake.contract import Contract
from onetake.decide import Action
from onetake.errors import NotStored, StoreError
from onetake.model import Cut, Response
from onetake.steps import Flow, Live
from onetake.stores.naming import number
from onetake.testing.provider import openai_chat
from onetake.writing import SecretLeftError

SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2


def said(text, status=200, finish="stop", headers=(), **usage):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    body = {
        "id": "c",
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 30, "completion_tokens": 4, **usage},
    }
    return Response(status, (("content-type", "application/json"), *headers), json.dumps(body).encode())


@pytest.fixture
def keep(filling):
    """Keep what came for the one record of a batch; returns what it came to, and what the ledger says."""
    filling.write({"m": "r"})
    job = filling.job(prices={"input": 10.0, "output": 20.0})
    batch = filling.opened(job)
    ledger = batch.ledger()
    ledger.begin_run(job.digest(), "")
    keeper = Keeper(batch.replies, ledger, costs_of(job))

    def kept(came):
        needed = batch.resolver.resolve(next(batch.records()))
        attempt = ledger.intend([(needed.reply.asked.key, 1)])[0]
        live = Live(needed.reply.asked, Action.RECORD, 0, Flow(None), "test 1", shared=True)
        (found,) = keeper.keep([Came(live, came, attempt)])
        ledger.flush()
        return found, ledger.totals()

    yield kept
    ledger.close()
    batch.close()


@pytest.mark.parametrize(
    ("came", "word", "row", "cost"),
    [
        (said("hi"), "ok", "hi", "0.00038"),
        (said("hi", finish="length"), "truncated", "truncated", "0.00038"),
        (said("", finish="content_filter"), "refusal", "filtered", "0.00038"),
        (Response(400, (), b'{"error": {"message": "too long"}}'), "refused", "refused", "0"),
    ],
)
def test_what_is_an_answer_or_a_refusal_is_stored(filling, keep, came, word, row, cost):
    _, totals = keep(came)
    assert (totals.classes, totals.stored, totals.cost) == ({word: 1}, 1, Decimal(cost))
    assert filling.rows() == [row]


@pytest.mark.parametrize(
    ("came", "word", "cost"),
    [
        (Fault(Kind.AGAIN, "connection"), "connection", "0"),
        (Fault(Kind.AGAIN, "timeout"), "timeout", "0"),
        (Response(500, (), b""), "500", "0"),
        (Response(400, (), b'{"err', cut=Cut.PROVIDER), "cut", "0"),
        (said("half", finish="error"), "200 with an error", "0.00038"),
    ],
)
def test_what_is_none_is_counted_and_not_stored(filling, keep, came, word, cost):
    kept, totals = keep(came)
    assert kept.fault.kind is Kind.AGAIN
    assert (totals.classes, totals.stored, totals.cost) == ({word: 1}, 0, Decimal(cost))
    assert filling.rows() == ["needed"]


@pytest.mark.parametrize(
    ("came", "lost"),
    [
        (Response(200, (), b"<html>please log in</html>"), 1),
        (Fault(Kind.AGAIN, "timeout"), 1),
        (Fault(Kind.AGAIN, "cut"), 1),
        (Response(200, (), b'{"id": "c", "cho', cut=Cut.PROVIDER), 1),
        (Fault(Kind.AGAIN, "connection"), 0),
        (Fault(Kind.ACCESS, "address"), 0),
        (Response(500, (), b""), 0),
        (said("half", finish="error"), 0),
    ],
)
def test_what_was_sent_and_not_counted_may_have_been_billed(keep, came, lost):
    kept, totals = keep(came)
    assert (kept.fault is not None, totals.lost, totals.unsettled) == (True, lost, 0)


def test_nobody_knows_what_a_call_cost_of_which_a_part_had_left(keep):
    assert keep(Fault(Kind.AGAIN, "timeout"))[0].spent.cost is None
    assert keep(Fault(Kind.AGAIN, "connection"))[0].spent.cost == 0


def test_an_answer_with_a_secret_that_cannot_be_taken_out_is_paid_for_and_a_dead_letter(filling, keep):
    plain = said(f"it is {SECRET}", headers=(("content-encoding", "gzip"),))
    kept, totals = keep(Response(200, plain.headers, gzip.compress(plain.body)))
    assert kept.fault is None
    assert (totals.classes, totals.stored, totals.cost) == ({"secret": 1}, 1, Decimal("0.00038"))
    assert filling.rows() == ["invalid"]


def test_an_answer_whose_secret_can_be_taken_out_is_the_records(filling, keep):
    keep(said(f"it is {SECRET}"))
    assert filling.rows() == ["it is [openai key 1]"]


def test_nothing_is_stored_where_the_request_holds_the_secret(filling, keep, monkeypatch):
    def refused(*args, **options):
        raise SecretLeftError([])

    monkeypatch.setattr(storing, "prepared", refused)
    kept, totals = keep(said("hi"))
    assert kept.fault.kind is Kind.SECRET
    assert (totals.stored, totals.cost) == (0, Decimal("0.00038"))
    assert filling.rows() == ["needed"]


def test_the_first_reply_of_two_stays(filling, keep):
    keep(said("first"))
    batch = filling.opened()
    assert filling.rows() == ["first"]
    batch.close()


def test_a_usage_beyond_every_number_is_no_usage(filling):
    filling.write({"m": "a"}, {"m": "b"})
    filling.provider.script([openai_chat("fine", usage={"prompt_tokens": 10**30, "completion_tokens": 3})])
    assert filling.fill()[1].input < 10**9
    assert not filling.fill()[1].attempts


@pytest.fixture
def several(filling):
    """Return what keeps what came for four records of a batch together."""
    filling.write(*({"m": f"r{number}"} for number in range(4)))
    with ExitStack() as stack:

        def begun():
            batch = filling.opened()
            ledger = batch.ledger()
            stack.callback(batch.close)
            stack.callback(ledger.close)
            ledger.begin_run(batch.job.digest(), "")
            keeper = Keeper(batch.replies, ledger, costs_of(batch.job))

            def kept(*came, action=Action.RECORD):
                asked = [batch.replies.find(batch.asking.request(record.data)).asked for record in batch.records()]
                attempts = ledger.intend([(one.key, line) for line, one in enumerate(asked, 1)])
                lives = [Live(one, action, 0, Flow(None), "test 1", shared=True) for one in asked]
                found = keeper.keep(list(map(Came, lives, came, attempts)))
                ledger.flush()
                return found, ledger.totals()

            return kept

        yield begun


def test_what_came_together_is_kept_each_as_its_own(filling, several):
    found, totals = several()(said("a"), Fault(Kind.AGAIN, "timeout"), said("b", finish="length"), said("c"))
    assert [one.fault and one.fault.label for one in found] == [None, "timeout", None, None]
    assert (totals.stored, totals.lost, totals.classes) == (3, 1, {"ok": 2, "timeout": 1, "truncated": 1})
    assert filling.rows() == ["a", "needed", "truncated", "c"]


def test_what_takes_the_place_of_another_reply_may_come_with_others(filling, several):
    kept = several()
    kept(*map(said, "abcd"))
    _, totals = kept(*map(said, "efgh"), action=Action.REPLACE)
    assert (totals.stored, filling.rows()) == (8, list("efgh"))


def test_what_breaks_on_one_answer_or_keeps_it_from_the_disk_keeps_no_other(filling, several):
    filling.contract = Contract({}, name="any", on=lambda request: 1 // (b"r1" not in request.body))
    kept = several()
    kept(said("1"), *[Fault(Kind.AGAIN, "odd")] * 3)
    batch = filling.opened()
    full = list(batch.records())[2]
    key = number(batch.resolver.resolve(full).reply.asked.key)
    batch.close()
    with closing(sqlite3.connect(filling.folder / "calls.db")) as store, store:
        store.execute(
            f"CREATE TRIGGER t BEFORE INSERT ON entry WHEN NEW.key = {key} BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    (first, second, third, fourth), totals = kept(*map(said, "1234"))
    assert (first.fault, fourth.fault, totals.stored) == (None, None, 3)
    assert isinstance(second, NotStored) and isinstance(third, StoreError)
    assert filling.rows() == [1, "needed", "needed", 4]
