"""What calls cost, and a budget."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from onetake import prices
from onetake.batch.attempts import Spent
from onetake.batch.costs import Budget, Costs, costs_of
from onetake.batch.job import Ask, Job, Run
from onetake.errors import UsageError
from onetake.model import Entry, KeySpec, Request, Response

LISTED = Ask("https://api.openai.com/v1", "gpt-4o-mini", "{line}")
LOCAL = Ask("http://127.0.0.1:8000/v1", "our-own-model", "{line}")


def reply(ask, metrics, body=b"{}"):
    return Entry(
        verdict="good",
        request=Request("POST", f"{ask.base_url}/chat/completions"),
        response=Response(200, (("content-type", "application/json"),), body),
        key="",
        ordinal=0,
        key_spec=KeySpec("k1", "s1"),
        dialect="openai-chat/1",
        provenance={"model_asked": ask.model},
        metrics=metrics,
    )


@pytest.fixture
def without_list(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "genai_prices", None)
    monkeypatch.setattr(prices, "is_installed", lambda: False)


def test_the_jobs_own_prices_are_exact():
    costs = Costs(LOCAL, {"input": 0.15, "output": 0.6})
    assert costs.of_tokens(1, 0) == Decimal("0.00000015")
    assert costs.of_tokens(1000, 10) == Decimal("0.000156")
    assert sum((costs.of_tokens(7, 3) for _ in range(1000)), Decimal(0)) == Decimal("0.00285")
    assert (costs.is_known, costs.why_unknown) == (True, "")


def test_a_free_model_has_a_known_price():
    costs = Costs(LOCAL, {"input": 0.0, "output": 0.0})
    assert (costs.is_known, costs.of_tokens(5, 5), costs.of_tokens(None, None)) == (True, Decimal(0), None)


def test_the_jobs_own_prices_hold_also_for_a_model_that_is_listed():
    spent = Costs(LISTED, {"input": 1, "output": 2}).of(reply(LISTED, {"input_tokens": 10, "output_tokens": 3}))
    assert spent == Spent(10, 3, Decimal("0.000016"))


def test_a_listed_model_is_priced_by_the_list():
    costs = Costs(LISTED)
    assert costs.is_known
    assert costs.of_tokens(2000, 0) + costs.of_tokens(0, 500) == costs.of_tokens(2000, 500) == Decimal("0.0006")
    metrics = {"input_tokens": 2000, "output_tokens": 500}
    assert costs.of(reply(LISTED, metrics)) == Spent(2000, 500, Decimal("0.0006"))


def test_what_was_read_from_a_prompt_cache_is_cheaper():
    body = b"""{"model": "gpt-4o-mini", "usage": {"prompt_tokens": 2000, "completion_tokens": 500,
        "total_tokens": 2500, "prompt_tokens_details": {"cached_tokens": 1000}}}"""
    spent = Costs(LISTED).of(reply(LISTED, {"input_tokens": 2000, "output_tokens": 500}, body))
    assert spent == Spent(2000, 500, Decimal("0.000525"))


def test_the_list_is_asked_once_for_replies_that_count_alike(monkeypatch):
    asked = []
    monkeypatch.setattr(prices, "cost_of", lambda entry: asked.append(entry.metrics["input_tokens"]) or 0.5)
    costs, counted = Costs(LISTED), {"input_tokens": 10, "output_tokens": 3}
    asked.clear()
    for text in ("a", "b"):
        assert costs.of(reply(LISTED, counted, f'{{"id": "{text}", "usage": {{"x": 1}}}}'.encode())).cost == Decimal(
            "0.5"
        )
    assert asked == [10]
    costs.of(reply(LISTED, counted, b'{"id": "a", "usage": {"x": 2}}'))
    costs.of(reply(LISTED, {"input_tokens": 11, "output_tokens": 3}, b'{"id": "a", "usage": {"x": 1}}'))
    assert asked == [10, 10, 11]


def test_a_reply_that_counts_nothing_has_no_cost():
    for costs in (Costs(LISTED), Costs(LOCAL, {"input": 1, "output": 1})):
        assert costs.of(reply(LISTED, {})) == Spent()


def test_an_unknown_price_is_said():
    costs = Costs(LOCAL)
    assert (costs.is_known, costs.of_tokens(1000, 1000)) == (False, None)
    assert costs.of(reply(LOCAL, {"input_tokens": 4, "output_tokens": 2})) == Spent(4, 2, None)
    assert costs.why_unknown == (
        "the price of our-own-model is not known (genai-prices lists none): say `prices` under [run]"
    )


def test_a_list_that_is_not_installed_is_said(without_list):
    assert "(genai-prices is not installed)" in Costs(LISTED).why_unknown


def test_a_budget_needs_a_price():
    run = Run(store=Path("calls.db"), max_cost=1.0)
    with pytest.raises(UsageError, match=r"a budget cannot be kept: the price of our-own-model is not known"):
        costs_of(Job(None, LOCAL, run))
    assert costs_of(Job(None, LISTED, run)).is_known
    assert costs_of(Job(None, LOCAL, replace(run, prices={"input": 1.0, "output": 1.0}))).is_known
    assert not costs_of(Job(None, LOCAL, replace(run, max_cost=None))).is_known


def test_a_budget_is_never_passed_whatever_is_in_flight():
    budget = Budget(0.3)
    assert [budget.reserve(Decimal("0.1")) for _ in range(4)] == [True, True, True, False]
    budget.settle(Decimal("0.1"), Decimal("0.04"))
    assert [budget.reserve(Decimal(most)) for most in ("0.07", "0.06", "0.0001")] == [False, True, False]


def test_a_call_of_which_nobody_knows_the_cost_counts_as_dear_as_it_can_be():
    budget = Budget(1.0)
    assert budget.reserve(Decimal("0.6"))
    budget.settle(Decimal("0.6"), None)
    assert [budget.reserve(Decimal(most)) for most in ("0.41", "0.4")] == [False, True]


def test_without_a_limit_all_is_within_it():
    budget = Budget(None)
    assert budget.reserve(Decimal(10**6))
    budget.settle(Decimal(10**6), Decimal(10**9))
    assert budget.reserve(Decimal(10**6))
