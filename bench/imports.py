"""What importing costs: the wall time of a new interpreter, less that of one that imports nothing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import partial
from statistics import median
from typing import Any

from bench.timing import timed

STATEMENTS = {
    "nothing": "pass",
    "onetake": "import onetake",
    "onetake.use_cassette": "import onetake; onetake.use_cassette",
    "vcrpy": "import vcr",
    "cassetter": "import cassetter",
}


def measure(*, count: int) -> list[dict[str, Any]]:
    """Start *count* interpreters for each statement, in turns, after one to warm the disk."""
    modules = {"vcrpy": "vcr", "cassetter": "cassetter"}
    there = [name for name in STATEMENTS if importlib.util.find_spec(modules.get(name, "onetake"))]
    found: dict[str, list[float]] = {name: [] for name in there}
    for number in range(count + 1):
        for name in there:
            seconds = timed(partial(subprocess.run, [sys.executable, "-c", STATEMENTS[name]], check=True))
            if number:
                found[name].append(seconds)
    nothing = median(found.pop("nothing"))
    return [{"import": name, "ms": round((median(seconds) - nothing) * 1e3, 1)} for name, seconds in found.items()]
