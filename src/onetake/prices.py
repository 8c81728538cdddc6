"""What live answers cost: by the tokens that each answer counts, at the list prices of the optional genai-prices.

Prices come from the table in that package, as of the day of the recording; nothing is asked over the network.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from onetake import picking
from onetake.events import events
from onetake.model import Entry, Response
from onetake.printable import counted, one_line

_FLAVORS = {"openai-chat": "chat", "openai-responses": "responses", "openai-embeddings": "embeddings"}
"""Dialect to what genai-prices calls the shape of its usage; `default` where this says nothing."""
_PROVIDERS = {
    "openai-chat": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "gemini": "google",
    "cohere-chat": "cohere",
    "cohere-v1": "cohere",
    "bedrock-converse": "aws",
    "bedrock-invoke": "aws",
}
"""Dialect to the one provider whose it is, where a host (a gateway, a proxy) names none."""
_USAGES = ("usage", "usageMetadata")
_MODELS = ("model", "modelVersion")


def cost_of(entry: Entry) -> float | None:
    """Return what a live answer cost.

    Args:
        entry: It, recorded or refused.

    Returns:
        US dollars at list price; None where that is not known: genai-prices is not installed or does not know the
        model at that host, or the answer counts no tokens.
    """
    model = _model_of(entry)
    tokens = {name: entry.metrics[name] for name in ("input_tokens", "output_tokens") if name in entry.metrics}
    if not model or not tokens:
        return None
    try:
        price = float(_priced(entry, model, tokens).total_price)
    except Exception:  # noqa: BLE001 - the package is optional and not ours: whatever it raises, no run ends for a price
        return None
    # Of a price that counts something else (images, seconds) the part for tokens is nothing, which is no price.
    return price if price > 0 and math.isfinite(price) else None


def window_of(entry: Entry) -> int | None:
    """Return how many tokens the model that is asked takes in and says at most, both together.

    Args:
        entry: Of a live answer; of its answer nothing is looked at.

    Returns:
        None where it is not known, as for `cost_of`.
    """
    try:
        window = _priced(entry, _model_of(entry), {"input_tokens": 1}).model.context_window
    except Exception:  # noqa: BLE001 - as for `cost_of`
        return None
    return window if isinstance(window, int) and window > 0 else None


def depends_on(entry: Entry) -> tuple[object, ...]:
    """Return all that the price of a live answer depends on: answers with the same of it have the same price."""
    counts = {
        name: value
        for name, value in _counted(entry.response).items()
        if isinstance(value, dict) or name in _MODELS  # the shapes of usage that genai-prices reads, and the model
    }
    tokens = entry.metrics.get("input_tokens"), entry.metrics.get("output_tokens")
    minute = str(entry.provenance.get("recorded_at", ""))[:16]
    return (entry.request.url, entry.dialect, _model_of(entry), tokens, json.dumps(counts), minute)


def _priced(entry: Entry, model: str, tokens: dict[str, int]) -> Any:
    """Ask genai-prices, which may raise anything: it may be absent, of another version, or not know the model."""
    from genai_prices import Usage, calc_price
    from genai_prices.data_snapshot import get_snapshot

    dialect = (entry.dialect or "").partition("/")[0]
    try:
        provider = get_snapshot().find_provider(None, None, entry.request.url)
    except LookupError:  # a gateway: what it charges is its own, but the list price is the best that is known
        provider = get_snapshot().find_provider(None, _PROVIDERS[dialect], None)
    usage: Any = Usage(**tokens)
    with suppress(ValueError, LookupError, TypeError):  # the answer counts in a way of its own
        flavor = _FLAVORS.get(dialect, "default")
        known = [extractor.api_flavor for extractor in provider.extractors or ()]
        usage = provider.extract_usage(_counted(entry.response), api_flavor=flavor if flavor in known else "default")[1]
    return calc_price(usage, model, provider_id=provider.id, genai_request_timestamp=_when(entry))


def spent(entries: Iterable[Entry]) -> dict[str, Any]:
    """Sum up what live answers took.

    Args:
        entries: Recorded or refused.

    Returns:
        `calls`, `input_tokens`, `output_tokens` (as far as answers count them), `cost_usd` (of those whose price is
        known; None where none is), and `unpriced`: model to how many of its answers have no known price.
    """
    sums = together(())
    for entry in entries:
        cost, model = cost_of(entry), _model_of(entry)
        one = {
            "calls": 1,
            "input_tokens": entry.metrics.get("input_tokens", 0),
            "output_tokens": entry.metrics.get("output_tokens", 0),
            "cost_usd": cost,
            "unpriced": {one_line(model, 80): 1} if cost is None and model else {},
        }
        sums = together((sums, one))
    return sums


def together(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Add up what `spent` returned for several tests."""
    sums: dict[str, Any] = {"calls": 0, "input_tokens": 0, "output_tokens": 0, "cost_usd": None, "unpriced": {}}
    for part in parts:
        for name in ("calls", "input_tokens", "output_tokens"):
            sums[name] += part[name]
        if part["cost_usd"] is not None:
            sums["cost_usd"] = (sums["cost_usd"] or 0.0) + part["cost_usd"]
        for model, count in part["unpriced"].items():
            sums["unpriced"][model] = sums["unpriced"].get(model, 0) + count
    return sums


def in_words(sums: dict[str, Any]) -> str:
    """Say what live answers took, in one line: `live: 12 calls, 3,411 + 812 tokens, $0.0123`; empty without a call."""
    if not sums["calls"]:
        return ""
    facts = [f"live: {counted(sums['calls'], 'call')}"]
    if sums["input_tokens"] or sums["output_tokens"]:
        facts.append(f"{sums['input_tokens']:,} + {sums['output_tokens']:,} tokens")
    if sums["cost_usd"] is not None:
        facts.append(_dollars(sums["cost_usd"]))
    if sums["unpriced"] and is_installed():
        facts.append("cost unknown for " + ", ".join(_answers(*pair) for pair in sorted(sums["unpriced"].items())))
    return ", ".join(facts)


def is_installed() -> bool:
    """Tell whether genai-prices is there; without it tokens are counted and nothing is priced."""
    from importlib.util import find_spec

    return find_spec("genai_prices") is not None


def _model_of(entry: Entry) -> str:
    """Return the model that answered, else the one that was asked; empty where neither is known."""
    return str(entry.provenance.get("model_served") or entry.provenance.get("model_asked") or "")


def _answers(model: str, count: int) -> str:
    return f"{counted(count, 'answer')} of model {model}"


def _dollars(cost: float) -> str:
    return "under $0.0001" if cost < 0.0001 else f"${cost:,.4f}" if cost < 1 else f"${cost:,.2f}"


def _when(entry: Entry) -> datetime:
    with suppress(ValueError):
        return datetime.fromisoformat(str(entry.provenance.get("recorded_at", "")))
    return datetime.now(UTC)


def _counted(response: Response) -> dict[str, Any]:
    """Return a response as one document with its usage; a stream may count in several of its events."""
    whole = picking.document(response.body)
    if whole:
        return whole
    found: dict[str, Any] = {}
    for part in _parts(response):
        for name in _USAGES:
            counted = {key: value for key, value in picking.mapping(part.get(name)).items() if value is not None}
            if counted:
                found[name] = {**found.get(name, {}), **counted}
        found |= {name: part[name] for name in _MODELS if isinstance(part.get(name), str)}
    return found


def _parts(response: Response) -> Iterator[dict[str, Any]]:
    for event in events(response):
        document = picking.document(event.data)
        yield document
        yield picking.mapping(document.get("message"))
        yield picking.mapping(document.get("response"))
