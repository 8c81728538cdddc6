"""What became of a batch."""

from __future__ import annotations

import json

import pytest

from onetake.batch.failures import Failure
from onetake.batch.reporting import FIXES, failed_data, failures, standing
from onetake.batch.running import run
from onetake.contract import Contract
from onetake.testing.provider import openai_chat, openai_error


def answered(request):
    said = request.json()["messages"][-1]["content"]
    if "down" in said:
        return openai_error(503, message="later")
    if "refused" in said:
        return openai_error(400, message="too odd")
    return openai_chat(json={"x": 1 if "bad" in said else "fine"})


@pytest.fixture
def batch(filling):
    """A batch that was run: three answers, of two requests; four failures of three classes."""
    filling.contract = Contract({"type": "object", "properties": {"x": {"type": "string"}}}, name="x")
    filling.provider.script(answered)
    records = [{"m": "a"}, {"m": "bad 1"}, "", {"m": "a"}, {"m": "refused"}, {"m": "bad 2"}, {"m": "b"}, {"m": "down"}]
    filling.write(*records)
    run(filling.opened(filling.job(max_attempts=1)), filling.folder / "rows.jsonl")
    filling.write(*records, {"m": "new"})
    found = filling.opened(filling.job())
    yield found
    found.close()


def test_rows_are_counted_and_failures_told_by_class_the_most_frequent_first(batch):
    found = standing(batch)
    assert (found.records, found.answered, found.failed, found.waiting) == (9, 3, 4, 2)
    assert [(one.failure, one.count, one.line) for one in found.classes] == [
        ("invalid", 2, 2),
        ("bad-line", 1, 3),
        ("refused", 1, 5),
    ]
    assert [one.fix for one in found.classes] == [FIXES[one.failure] for one in found.classes]
    assert found.classes[2].message == "the provider answered 400: too odd"


def test_every_class_has_a_likely_fix():
    assert set(FIXES) == set(Failure)


def test_failures_come_in_order_with_the_reply_behind_them(batch):
    found = [failed_data(one) for one in failures(batch)]
    assert [(one["line"], one["class"]) for one in found] == [
        (2, "invalid"),
        (3, "bad-line"),
        (5, "refused"),
        (6, "invalid"),
        (8, "gave-up"),
    ], "line 9 was never asked: it is missing"
    assert json.loads(found[0]["reply"]) == {"x": 1}
    assert "too odd" in found[2]["reply"]
    assert (found[1]["reply"], found[1]["key"], found[4]["reply"]) == (None, None, None)
    assert all(len(found[n]["key"]) == 64 for n in (0, 2, 3, 4))


def test_failures_of_a_class_alone(batch):
    assert [one.line for one in failures(batch, {Failure.INVALID, Failure.GAVE_UP})] == [2, 6, 8]
