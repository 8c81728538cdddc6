"""The request key against the least that any such key costs: parse, dump with sorted keys, SHA-256."""

from __future__ import annotations

import json
from functools import partial
from hashlib import sha256
from statistics import median
from typing import Any

from bench.bodies import REQUEST_HEADERS, URL, sent
from bench.timing import ratio, rounds, timed
from onetake.key import Keyer
from onetake.model import Request

CASES = ((4_000, "long"), (200_000, "long"), (4_000, "many"), (200_000, "many"))


def measure(*, calls: int, count: int) -> list[dict[str, Any]]:
    """Measure every size and shape; *calls* a figure, in *count* rounds."""
    return [_measured(size, shape, calls // count + 1, count) for size, shape in CASES]


def _measured(size: int, shape: str, calls: int, count: int) -> dict[str, Any]:
    requests = [Request("POST", URL, REQUEST_HEADERS, sent(number, size, shape)) for number in range(calls)]
    keyer = Keyer()
    found = rounds(
        {
            "least": lambda: [timed(partial(_least, request.body)) for request in requests],
            "key": lambda: [timed(partial(keyer.key, request)) for request in requests],
        },
        count,
    )
    micros = {name: round(median(seconds) * 1e6, 1) for name, seconds in found.items()}
    return {"body": size, "shape": shape, "us": micros, "times_least": round(ratio(found, "key", "least"), 2)}


def _least(body: bytes) -> str:
    return sha256(json.dumps(json.loads(body), sort_keys=True).encode()).hexdigest()
