"""Prices: from the tokens an answer counts, at the host's list price; what is not known is never nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from types import ModuleType

import genai_prices
import pytest

from onetake import prices
from onetake.model import Entry, KeySpec, Request, Response

CLAUDE = {"url": "https://api.anthropic.com/v1/messages", "dialect": "anthropic-messages/1", "model": "claude-3-haiku"}
CHAT = "https://api.openai.com/v1/chat/completions"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)


def entry(
    url=CHAT, dialect="openai-chat/1", model="gpt-4o-mini", tokens=(1_000_000, 1_000_000), body=b"", headers=JSON
):
    metrics = dict(zip(("input_tokens", "output_tokens"), tokens, strict=False))
    provenance = {"recorded_at": "2026-11-01T00:00:00Z", **({"model_served": model} if model else {})}
    return Entry(
        "good",
        Request("POST", url),
        Response(200, headers, body),
        "0" * 64,
        0,
        KeySpec("k1", "s1"),
        provenance=provenance,
        dialect=dialect,
        metrics=metrics,
    )


def cost_of(answer):
    """Return what one live answer cost."""
    return prices.spent([answer])["cost_usd"]


@pytest.mark.parametrize(
    ("given", "cost"),
    [
        ({}, 0.75),
        ({"url": "http://127.0.0.1:4000/v1/chat/completions"}, 0.75),
        (CLAUDE, 1.5),
        ({"model": "no-such-model"}, None),
        ({"model": ""}, None),
        ({"tokens": ()}, None),
        ({"url": "http://127.0.0.1:11434/api/chat", "dialect": "ollama/1", "model": "gpt-4o-mini"}, None),
    ],
    ids=["openai", "by a gateway", "anthropic", "unknown model", "no model", "no tokens", "a model of one's own"],
)  # fmt: skip
def test_the_price_is_that_of_the_host_and_the_model(given, cost):
    assert cost_of(entry(**given)) == (None if cost is None else pytest.approx(cost))


def test_tokens_from_the_providers_cache_cost_less():
    usage = {"prompt_tokens": 1_000_000, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 1_000_000}}
    body = json.dumps({"model": "gpt-4o-mini", "usage": usage}).encode()
    assert cost_of(entry(tokens=(1_000_000, 0), body=body)) == pytest.approx(0.075)


def test_the_events_of_a_stream_count_together():
    start = {
        "type": "message_start",
        "message": {
            "model": "claude-3-haiku-20240307",
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 1_000_000},
        },
    }
    delta = {"type": "message_delta", "usage": {"output_tokens": 1_000_000}}
    body = b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in (start, delta))
    streamed = entry(
        "https://api.anthropic.com/v1/messages",
        "anthropic-messages/1",
        "claude-3-haiku-20240307",
        (4, 1_000_000),
        body,
        SSE,
    )
    assert cost_of(streamed) == pytest.approx(0.03 + 1.25, rel=0.01)


def test_what_is_not_known_is_said_and_sums_say_it_once_a_model():
    known, unknown = entry(tokens=(3000, 411)), entry(model="house\x1b[31m-model", tokens=(411, 401))
    one, other = prices.spent([known, unknown]), prices.spent([unknown, entry(model="", tokens=())])
    sums = prices.together([one, other])
    assert (sums["calls"], sums["input_tokens"], sums["output_tokens"]) == (4, 3822, 1213)
    assert prices.in_words(sums) == (
        "live: 4 calls, 3,822 + 1,213 tokens, $0.0007, cost unknown for 2 answers of model house-model"
    )
    assert prices.spent([unknown])["cost_usd"] is None
    assert prices.in_words(prices.spent([])) == ""
    assert "$0.7500" in prices.in_words(prices.spent([entry()]))
    assert "$7.50" in prices.in_words(prices.spent([entry()] * 10))
    assert prices.in_words(prices.spent([entry(tokens=(10, 1))])) == "live: 1 call, 10 + 1 tokens, under $0.0001"


def test_without_the_extra_tokens_are_counted_and_nothing_is_priced():
    program = (
        "import sys\nsys.modules['genai_prices'] = None\n"
        "from onetake import prices\nfrom onetake.model import Entry, KeySpec, Request, Response\n"
        f"one = Entry('good', Request('POST', {CHAT!r}), Response(200), '0' * 64, 0, KeySpec('k1', 's1'),\n"
        "    provenance={'model_served': 'gpt-4o-mini'}, dialect='openai-chat/1',\n"
        "    metrics={'input_tokens': 1200, 'output_tokens': 30})\n"
        "print(prices.in_words(prices.spent([one])))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "live: 1 call, 1,200 + 30 tokens\n"


def raising(*_, **__):
    raise RuntimeError("the table is being made over")


@pytest.mark.parametrize(
    "names",
    [{}, {"calc_price": raising}, {"calc_price": lambda *_, **__: None}, {"Usage": raising}],
    ids=["names that went", "an error", "another answer", "other tokens"],
)
def test_whatever_the_optional_package_does_no_run_ends_for_a_price(monkeypatch, names):
    changed = ModuleType("genai_prices")
    whole = {"Usage": genai_prices.Usage, "calc_price": genai_prices.calc_price}
    vars(changed).update({**whole, **names} if names else {})
    monkeypatch.setitem(sys.modules, "genai_prices", changed)
    spent = prices.spent([entry()])
    assert (spent["calls"], spent["cost_usd"], spent["unpriced"]) == (1, None, {"gpt-4o-mini": 1})


def test_the_window_is_that_of_the_model_at_that_host():
    found = [prices.window_of(entry(model=model)) for model in ("gpt-4o-mini", "no-such-model", "")]
    assert found == [128_000, None, None]
    assert prices.window_of(entry(url="http://127.0.0.1:4000/v1/chat/completions")) == 128_000
