"""Wall-clock times of calls, taken in rounds in which every candidate has its turn."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import Any


@contextmanager
def settled() -> Any:
    """Collect what earlier work left, so that nobody pays for it in the middle of a measurement."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def timed(call: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    began = perf_counter()
    call()
    return perf_counter() - began


def rounds(candidates: dict[str, Callable[[], Sequence[float]]], count: int) -> dict[str, list[float]]:
    """Run every candidate once a round, in turns, after a round to warm up.

    Args:
        candidates: Each runs its calls and returns their seconds.
        count: Rounds that count, 1 or more.

    Returns:
        The median seconds of a call in each round, by candidate.
    """
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for number in range(count + 1):
        for name, run in candidates.items():
            with settled():
                seconds = median(run())
            if number:
                found[name].append(seconds)
    return found


def ratio(found: dict[str, list[float]], name: str, floor: str) -> float:
    """Return how many times the floor a candidate takes: the median of the rounds' own ratios."""
    return median(ours / bare for ours, bare in zip(found[name], found[floor], strict=True))
