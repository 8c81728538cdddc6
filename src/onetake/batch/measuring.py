"""What stored replies took: by it what is still to be asked is estimated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from onetake.cassette import Cassette
from onetake.model import Entry
from onetake.picking import count
from onetake.stores import Store

_SAMPLE = 200
"""Stored replies by which tokens and time are estimated."""
_USUAL = (1 / 5, 1 / 4, 1 / 2)
"""Tokens in a byte of a request where nothing is stored to measure by: few, expected, many."""
SPREAD = 0.1
"""Share by which an average may be off."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What stored replies took.

    Args:
        per_byte: Tokens in a byte of a request: few, expected, many.
        answered: Tokens of an answer, on average; None where none is known.
        most: The most of them.
        seconds: Of a call, on average; None where none is known.
    """

    per_byte: tuple[float, float, float]
    answered: float | None
    most: int | None
    seconds: float | None


def measure(store: Store) -> Measured:
    """Measure a sample of what is stored."""
    asked = counted = 0
    lengths: list[int] = []
    timed: list[float] = []
    for entry in _sample(store):
        took = (count(entry.metrics.get(name)) for name in ("input_tokens", "output_tokens", "latency_ms"))
        input_tokens, output_tokens, latency_ms = took
        if input_tokens is not None:
            asked, counted = asked + len(entry.request.body), counted + input_tokens
        if output_tokens is not None:
            lengths.append(output_tokens)
        if latency_ms is not None:
            timed.append(latency_ms / 1000)
    rate = counted / asked if asked and counted else None
    return Measured(
        per_byte=(rate * (1 - SPREAD), rate, rate * (1 + SPREAD)) if rate else _USUAL,
        answered=sum(lengths) / len(lengths) if lengths else None,
        most=max(lengths, default=None),
        seconds=sum(timed) / len(timed) if timed else None,
    )


def _sample(store: Store) -> Iterator[Entry]:
    cassette = Cassette(store)
    found = (cassette.load(*slot) for slot in islice(store.names(), _SAMPLE))
    return (entry for entry in found if isinstance(entry, Entry))
