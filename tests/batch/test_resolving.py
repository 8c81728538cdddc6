"""What becomes of a record."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake.batch.failures import Failure
from onetake.batch.records import Record
from onetake.batch.resolving import Needed, Resolver, Row
from onetake.contract import Contract
from onetake.decide import Found
from onetake.format import dump_entry
from onetake.model import Answer, Choice, Request
from onetake.stores import open_store

BAD, GOOD = '{"label": 1}', '{"label": "a"}'


RECORD = Record(1, 0, {"message": "one"})


def resolved(replied, message="one"):
    return replied.resolver().resolve(Record(1, 0, {"message": message}))


def test_a_record_without_a_reply_needs_one(replied):
    found = resolved(replied)
    assert isinstance(found, Needed)
    assert found.request == replied.asking.request({"message": "one"})
    assert (found.reply.found, found.reply.why, found.repairs, found.keys) == (Found.ABSENT, "", 0, ())


@pytest.mark.parametrize(
    ("finish", "status", "text", "said", "failure", "message"),
    [
        ("length", 200, '{"la', {}, Failure.TRUNCATED, "the answer was cut by the token limit"),
        ("stop", 200, None, {"refusal": "I will not.\x1b[31m"}, Failure.REFUSAL, "I will not."),
        ("content_filter", 200, "", {}, Failure.FILTERED, "a content filter stopped the answer"),
        ("stop", 422, "no such field", {}, Failure.REFUSED, "the provider answered 422: no such field"),
        ("stop", 200, BAD, {}, Failure.INVALID, "$.label: expected string, found 1"),
    ],
)
def test_a_bad_reply_is_a_row_of_its_class(replied, finish, status, text, said, failure, message):
    entry = replied.reply("one", text, finish=finish, status=status, **said)
    assert resolved(replied) == Row(1, None, failure, message, keys=(entry.key,))


def test_br_158_a_refused_row_keeps_its_reply_and_needs_no_other(replied):
    replied.reply("one", BAD)
    assert [resolved(replied).failure for _ in range(2)] == [Failure.INVALID] * 2


def test_a_chain_of_repairs_is_followed_in_order(replied):
    replied.repairs = 2
    first = replied.reply("one", BAD)
    second_request = replied.asking.repair(first.request, first)
    needed = resolved(replied)
    assert (needed.request, needed.repairs, needed.keys) == (second_request, 1, (first.key,))
    second = replied.answer(second_request, '{"label": 2}')
    third = replied.answer(replied.asking.repair(second.request, second), GOOD)
    assert resolved(replied) == Row(1, {"label": "a"}, keys=(first.key, second.key, third.key))
    replied.repairs = 1
    assert resolved(replied) == Row(
        1, None, Failure.INVALID, "$.label: expected string, found 2", keys=(first.key, second.key)
    )


def test_a_repair_carries_the_bad_reply_and_what_is_wrong_with_it(replied):
    entry = replied.reply("one", BAD)
    said = [one["content"] for one in json.loads(replied.asking.repair(entry.request, entry).body)["messages"]]
    assert said[1] == BAD
    assert "- $.label: expected string, found 1" in said[2]


def test_a_reply_that_breaks_todays_contract_is_stale(replied):
    replied.reply("one", GOOD)
    replied.contract = Contract({**replied.schema, "required": ["label", "why"]}, name="label")
    found = resolved(replied)
    assert found.reply.found is Found.STALE
    assert "why" in found.reply.why
    assert replied.resolver().gave_up(found).failure is Failure.GAVE_UP


def test_a_reply_under_another_version_is_stale_and_one_that_fits_is_not(replied):
    replied.reply("one", GOOD)
    replied.contract = Contract(replied.schema, name="label", schema_version=2)
    assert resolved(replied).reply.found is Found.STALE
    replied.contract = Contract({**replied.schema, "description": "a label", "minProperties": 1}, name="other")
    assert resolved(replied).answer == {"label": "a"}


def test_text_is_text_without_a_contract(replied):
    replied.contract = None
    for message, text in (("one", "Fine.\nYes."), ("two", ""), ("three", GOOD), ("four", '"x"')):
        replied.reply(message, text)
        assert resolved(replied, message).answer == text


def test_arguments_of_a_tool_are_the_answer(replied):
    calls = [{"id": "1", "type": "function", "function": {"name": "label", "arguments": GOOD}}]
    replied.contract = None
    replied.reply("one", None, finish="tool_calls", tool_calls=calls)
    replied.reply("two", None, finish="tool_calls", tool_calls=calls * 2)
    assert resolved(replied).answer == {"label": "a"}
    assert resolved(replied, "two").answer == [{"label": "a"}, {"label": "a"}]


def test_a_good_reply_that_holds_no_answer_is_a_row_that_says_so(replied):
    replied.contract = None
    entry = replied.reply("one", GOOD)
    for answer, message in ((None, "the reply holds no answer"), (Answer((Choice("Fine."),)), "the answer is no JSON")):
        replied.store.replace(entry.key, 0, dump_entry(replace(entry, answer=answer))[0])
        found = Resolver(replied.asking, replied.replies, repairs=0, parses=True).resolve(RECORD)
        assert (found.failure, found.message) == (Failure.INVALID, message)


@pytest.mark.parametrize("name", ["calls.db", "calls"])
def test_both_kinds_of_stores_give_the_same_rows(replied, name):
    replied.store = open_store(replied.folder / name)
    answers = [GOOD, '{\n  "label": "1.10 \u00e4 \\u00e4 \\nx"\n}', BAD, '{"label": "{\\"a\\": [1]}"}']
    for number, text in enumerate(answers):
        replied.reply(str(number), text)
    found = [resolved(replied, str(number)) for number in range(4)]
    assert [row.answer for row in found] == [
        json.loads(answers[0]),
        json.loads(answers[1]),
        None,
        json.loads(answers[3]),
    ]
    assert found[2].failure is Failure.INVALID


def test_a_request_that_is_asked_by_code_is_found_too(replied):
    entry = replied.answer(Request("POST", "http://127.0.0.1:9/v1/chat/completions", body=b'{"n": 1}'), GOOD)
    assert replied.replies.find(entry.request).entry == entry


def test_records_whose_replies_are_read_together_become_the_same_rows(replied):
    for message in ("one", "x" * 300_000, "two"):
        replied.reply(message, json.dumps({"label": message[:9]}))
    bad = replied.reply("bad", BAD)
    lost = replied.reply("lost", GOOD)
    replied.store.replace(lost.key, 0, replied.store.get(lost.key, 0)[:-20])
    said = ["one", "none", "two", "one", "x" * 300_000, "bad", "lost", *["one"] * 300]
    replied.write(b"\n", {"text": 1}, *({"message": message} for message in said))
    one_by_one, together = replied.resolver(), replied.resolver()
    found = [(record, together.resolve(record)) for record in together.ahead(replied.records())]
    singly = [(record, one_by_one.resolve(record)) for record in replied.records()]
    for pair, (record, wanted) in zip(found, singly, strict=True):
        is_needed = isinstance(wanted, Needed)
        assert (pair[0], pair[1].request if is_needed else pair[1]) == (record, wanted.request if is_needed else wanted)
    assert found[7][1].keys == (bad.key,)
    assert found[8][1].reply.found is Found.UNREADABLE
    assert len(found) == len(said) + 2


def test_what_was_read_ahead_counts_once_and_for_its_own_record(replied):
    entry = replied.reply("one", GOOD)
    replied.write({"message": "one"})
    resolver = replied.resolver()
    (record,) = resolver.ahead(replied.records())
    assert isinstance(resolver.resolve(Record(1, 0, {"message": "two"})), Needed)
    (record,) = resolver.ahead(replied.records())
    replied.store.delete(entry.key, 0)
    assert [type(resolver.resolve(record)) for _ in range(2)] == [Row, Needed]


def test_a_store_that_gives_one_by_one_reads_nothing_ahead(replied):
    replied.store = open_store(replied.folder / "calls")
    replied.reply("one", GOOD)
    replied.write({"message": "one"})
    resolver = replied.resolver()
    assert [resolver.resolve(record).answer for record in resolver.ahead(replied.records())] == [{"label": "a"}]


def enum(*words):
    return Contract({"type": "object", "properties": {"label": {"enum": list(words)}}, "required": ["label"]}, name="e")


def test_what_a_contract_refused_is_judged_by_todays(replied):
    replied.contract = enum("y")
    entry = replied.reply("one", '{"label": "x"}')
    assert resolved(replied).failure is Failure.INVALID
    replied.contract = enum("x", "y")
    assert resolved(replied) == Row(1, {"label": "x"}, keys=(entry.key,)), "today's contract accepts it, for no call"
    replied.contract = None
    assert resolved(replied) == Row(1, '{"label": "x"}', keys=(entry.key,)), "a job without a schema refuses nothing"
    replied.contract = enum("z")
    assert (resolved(replied).failure, '"z"' in resolved(replied).message) == (Failure.INVALID, True)
    assert '"y"' not in resolved(replied).message, "it is today's contract that it breaks"


def test_what_was_refused_under_another_version_is_asked_anew(replied):
    replied.reply("one", BAD)
    replied.contract = Contract(replied.schema, name="label", schema_version=2)
    found = resolved(replied)
    assert (found.reply.found, found.repairs) == (Found.STALE, 0)
    assert "schema_version 1" in found.reply.why


def test_a_repair_quotes_what_todays_contract_finds(replied):
    replied.repairs, replied.contract = 1, enum("y")
    replied.reply("one", '{"label": "x"}')
    replied.contract = enum("z")
    assert '\\"z\\"' in resolved(replied).request.body.decode()


def test_a_type_whose_code_breaks_on_a_refused_answer_is_not_asked_again(replied):
    class Odd:
        digest, schema_version, is_type = "0" * 64, 1, True

        def selects(self, request, on):
            raise ZeroDivisionError("my own fault")

    replied.reply("one", BAD)
    replied.contract = Odd()
    found = resolved(replied)
    assert found.reply.found is Found.UNKEPT
    assert "my own fault" in found.reply.why
