"""Drift: a sample that is asked again."""

from __future__ import annotations

import asyncio

import pytest

from onetake.batch.drifting import drift, labels, sample
from onetake.batch.retrying import Fault, Kind
from onetake.batch.running import run
from onetake.contract import Contract
from onetake.jsonpath import parse
from onetake.model import Response
from onetake.testing.provider import openai_chat


@pytest.fixture
def batch(filling):
    """A batch of eight stored replies, all `{"x": "old", "n": …}`."""
    filling.contract = Contract({"type": "object", "properties": {"x": {"type": "string"}, "n": {}}}, name="x")
    filling.provider.script(lambda request: openai_chat(json={"x": "old", "n": request.number}))
    filling.write(*({"m": str(number)} for number in range(8)))
    opened = filling.opened(filling.job(label_paths=("$.x",)))
    run(opened, filling.folder / "rows.jsonl")
    yield opened
    opened.close()


def test_the_sample_is_the_same_each_time_and_grows_by_more(batch):
    three = sample(batch, 3)
    assert [entry.key for entry in three] == sorted(entry.key for entry in sample(batch, 100))[:3]
    assert len(sample(batch, 100)) == 8


def ask(batch, size, *answers):
    """Ask a sample again; each request gets the next of the answers."""
    rest = iter(answers)
    asked = []

    async def send(request):
        asked.append(request)
        said = next(rest)
        return said if isinstance(said, Fault) else Response(200, HEADERS, openai_chat(json=said).body)

    entries = sample(batch, size)
    found = asyncio.run(drift(batch, entries, send))
    assert asked == [entry.request for entry in entries], "as they are stored"
    return found


HEADERS = (("content-type", "application/json"),)


def test_only_labels_count_and_nothing_is_stored(batch):
    before = set(batch.store.names())
    found = ask(batch, 3, {"x": "old", "n": 99}, {"x": "new", "n": 1}, {"x": "old", "n": 0})
    assert [case.changed for case in found.cases] == [False, True, False]
    assert (found.compared, found.changed, found.inconclusive, found.label_paths) == (3, 1, 0, ("$.x",))
    assert found.cases[1].why == '$[0][0]: was "old", is "new"'
    assert found.low < 1 / 3 < found.high
    assert set(batch.store.names()) == before


def test_br_179_what_could_not_be_asked_is_neither_changed_nor_the_same(batch):
    found = ask(batch, 2, Fault(Kind.AGAIN, "connection", "refused"), {"x": "old", "n": 0})
    assert [case.changed for case in found.cases] == [None, False]
    assert (found.compared, found.changed, found.inconclusive) == (1, 0, 1)
    assert found.cases[0].why == "connection: refused"


def test_an_answer_that_breaks_the_contract_today_is_changed(batch):
    found = ask(batch, 1, {"x": 5, "n": 0})
    assert found.cases[0].changed is True
    assert "today's answer is no good: $.x" in found.cases[0].why


def test_br_180_the_report_names_its_baseline_and_models(batch):
    first = ask(batch, 2, {"x": "old", "n": 0}, {"x": "old", "n": 0})
    again = ask(batch, 2, {"x": "new", "n": 0}, {"x": "new", "n": 0})
    assert first.baseline == again.baseline != ask(batch, 1, {"x": "old", "n": 0}).baseline
    assert len(first.baseline) == 64
    assert first.models_then == first.models_now != ()


def test_labels_are_what_stands_at_each_of_the_paths():
    paths = [parse(path) for path in ("$.a[1].b", "$.a[*]", "$.none")]
    assert labels({"a": [1, {"b": 2}]}, paths) == [[2], [[1], [{"b": 2}]], []]


def test_without_paths_all_of_it_is_compared():
    assert labels({"a": 1}, []) == {"a": 1}
