"""Plans: what a run would find, and why the rest is missing."""

from __future__ import annotations

import json

import pytest

from onetake.batch.costs import Costs
from onetake.batch.planning import plan
from onetake.batch.remembering import Told, earlier, remember
from onetake.batch.running import run
from onetake.contract import Contract
from onetake.testing.provider import openai_chat

PRICES = {"input": 1.0, "output": 2.0}


@pytest.fixture
def planned(filling):
    """Return a function that plans the batch as its job is now."""

    def make(**said):
        batch = filling.opened(filling.job(**{"prices": PRICES, **said}))
        found = plan(batch, Costs(batch.job.ask, batch.job.run.prices), earlier(batch))
        batch.close()
        return found

    return make


def fill(filling, **said):
    batch = filling.opened(filling.job(**said))
    ended = run(batch, filling.folder / "rows.jsonl")
    batch.close()
    return ended


def test_every_record_is_counted_once_and_nobody_is_asked(filling, planned):
    filling.write({"m": "a"}, {"m": "b"}, "", {"n": 1}, {"m": "a"}, "no JSON")
    found = planned()
    assert (found.records, found.hits, found.misses, found.bad_lines, found.missing_fields) == (6, 0, 3, 2, 1)
    assert (found.keys, found.duplicates, found.calls, found.orphans) == (2, 1, 2, 0)
    assert [(one.reason, one.count, one.example) for one in found.reasons] == [("not asked before", 3, 1)]
    assert filling.provider.count == 0
    fill(filling)
    found = planned()
    assert (found.hits, found.misses, found.keys, found.duplicates, found.calls) == (3, 0, 2, 1, 0)
    assert (found.tokens, found.cost_low, found.cost_high, found.seconds, found.reasons) == (0, 0.0, 0.0, 0.0, ())


def test_rows_that_fail_are_stored_and_counted_by_class(filling, planned):
    filling.contract = Contract({"type": "object", "properties": {"x": {"type": "string"}}}, name="x")
    filling.provider.script([openai_chat(json={"x": "1"}), openai_chat(json={"x": 1})])
    filling.write({"m": "a"}, {"m": "b"})
    fill(filling)
    assert planned().failures == {"invalid": 1}
    assert planned(repairs=1).reasons[0].reason == "a bad reply is to be repaired"


def test_a_contract_of_today_makes_stored_replies_stale_and_says_so(filling, planned):
    filling.contract = Contract({"type": "object", "properties": {"x": {"type": "string"}}}, name="x")
    filling.provider.script([openai_chat(json={"x": "1"})])
    filling.write({"m": "a"})
    fill(filling)
    filling.contract = Contract({"type": "object", "properties": {"x": {"type": "integer"}}}, name="x")
    (reason,) = planned().reasons
    assert reason.reason.startswith("it breaks today's contract")
    assert planned().orphans == 0, "it is replaced, and nobody's orphan"


def test_an_edited_prompt_is_named_with_what_it_orphans(filling, planned):
    filling.write({"m": "a"}, {"m": "b"})
    (filling.folder / "job.toml").write_text("")
    batch = filling.opened(filling.job())
    object.__setattr__(batch.job, "path", filling.folder / "job.toml")
    told = Told(str(batch.job.path), "in.jsonl", "jsonl", None, str(filling.folder / "rows.jsonl"), False, 0, "")
    remember(batch, told)
    batch.close()
    fill(filling)
    filling.ask = {"prompt": "Say {m}\n"}
    filling.write({"m": "a"}, {"m": "b"}, {"m": "c"})
    found = planned()
    reasons = [(one.reason, one.count, one.example) for one in found.reasons]
    assert reasons == [("prompt differs by one trailing newline", 2, 1), ("not asked before", 1, 3)]
    assert (found.misses, found.calls, found.orphans) == (3, 3, 2)


def test_cost_lies_between_low_and_high_and_what_is_unknown_is_null(filling, planned):
    filling.write({"m": "a"})
    body = len(json.dumps({"model": "m", "messages": [{"role": "user", "content": "Say a"}]}, separators=(",", ":")))
    found = planned()
    assert found.cost_low == pytest.approx((round(body / 5) + 2) / 1e6)
    assert found.cost_high is None, "nothing says how long an answer may be"
    filling.ask = {"params": {"max_tokens": 10}}
    once, twice = planned(), planned(repairs=1)
    assert 0 < once.cost_low < once.cost_high < twice.cost_high
    assert planned(prices=None).cost_low is None, "no list has a model called m"


def test_limits_say_how_long_it_takes(filling, planned):
    filling.write(*({"m": str(number)} for number in range(10)))
    assert planned(rpm=2).seconds == 300
    assert planned().seconds is None


def test_reasons_are_bounded(filling, planned, monkeypatch):
    monkeypatch.setattr("onetake.batch.planning._REASONS", 2)
    monkeypatch.setattr(
        "onetake.batch.planning.Why.__call__", lambda self, record, needed: (f"because {record.line}", None)
    )
    filling.write(*({"m": str(number)} for number in range(5)))
    assert [(one.reason, one.count) for one in planned().reasons] == [
        ("other reasons", 3), ("because 1", 1), ("because 2", 1),
    ]  # fmt: skip


def test_the_highest_cost_is_at_least_the_lowest(planned, filling):
    filling.ask |= {"params": {"max_tokens": 1}}
    filling.write({"m": "a"})
    filling.provider.script([openai_chat("much more than one token was allowed", usage={
        "prompt_tokens": 10, "completion_tokens": 500, "total_tokens": 510})])  # fmt: skip
    filling.fill()
    filling.write({"m": "b"}, {"m": "c"})
    found = planned()
    assert 0 < found.cost_low <= found.cost_high


def test_a_great_many_repairs_are_no_great_work(planned, filling):
    filling.ask |= {"params": {"max_tokens": 10}}
    filling.write({"m": "a"})
    assert planned(repairs=2).cost_high < planned(repairs=10**9).cost_high
