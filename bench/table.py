"""The results as Markdown tables."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

NOT_MEASURED = "n/a"


def markdown(part: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the tables of one part, each under its heading."""
    tables = {"replay": _replay, "key": _key, "import": _import, "recording": _recording, "upkeep": _upkeep}
    tables |= {"batch": _batch, "batch-run": _batch_run, "import-vcr": _import_vcr}
    return tables[part](rows) + "\n"


def machine() -> dict[str, str]:
    """Return the facts that figures depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "machine": f"{cores} cores, {platform.system()} {platform.machine()}, {python}",
    }


def _replay(rows: Sequence[dict[str, Any]]) -> str:
    names = ("onetake", "vcrpy", "cassetter")
    head = ["entries", "body", "bare client, µs", *(f"{name}, × bare" for name in names)]
    calls = [
        [*_case(row), row["call_us"]["bare"], *(row["times_bare"].get(name, NOT_MEASURED) for name in names)]
        for row in rows
    ]
    opening = [[*_case(row), *(row["open_ms"].get(name, NOT_MEASURED) for name in names)] for row in rows]
    return "\n\n".join(
        [
            "### Replay of one call through httpx",
            _table(head, calls),
            "### Opening a cassette and the first call, ms",
            _table(["entries", "body", *names], opening),
        ]
    )


def _case(row: dict[str, Any]) -> list[Any]:
    return [f"{row['entries']:,}", f"{row['body'] // 1000} KB" + (", many messages" if row["shape"] == "many" else "")]


def _key(rows: Sequence[dict[str, Any]]) -> str:
    cells = [
        [f"{row['body'] // 1000} KB, {row['shape']}", row["us"]["least"], row["us"]["key"], row["times_least"]]
        for row in rows
    ]
    return "### The request key\n\n" + _table(["body", "parse, sorted dump, SHA-256, µs", "key, µs", "×"], cells)


def _import(rows: Sequence[dict[str, Any]]) -> str:
    return "### Importing, ms\n\n" + _table(["import", "ms"], [[row["import"], row["ms"]] for row in rows])


def _recording(rows: Sequence[dict[str, Any]]) -> str:
    cells = [
        [row["what"], row["live_us"], *(row["added_ms"].get(name, NOT_MEASURED) for name in ("memory", "disk"))]
        for row in rows
    ]
    head = ["until", "live, µs", "recording adds without a disk, ms", "with fsync, ms"]
    return "### Recording a call on loopback\n\n" + _table(head, cells)


def _batch(rows: Sequence[dict[str, Any]]) -> str:
    head = ["rows", "plain loop, µs a row", "replay, µs a row", "× plain loop", "rows/s"]
    cells = [
        [f"{row['rows']:,}", row["floor_us"], row["replay_us"], row["times_floor"], f"{row['rows_per_s']:,}"]
        for row in rows
    ]
    parts = [row["parts_us"].values() for row in rows]
    shares = [[f"{took} ({took / sum(each):.0%})" for took in each] for each in parts]
    return "\n\n".join(
        [
            "### Replay of a finished batch",
            _table(head, cells),
            "### Its parts, each alone, µs a row and share of their sum",
            _table(list(rows[0]["parts_us"]), shares),
        ]
    )


def _batch_run(rows: Sequence[dict[str, Any]]) -> str:
    *beside, resume = rows
    cells = [
        [
            row["what"],
            f"{row['records']:,}",
            *(f"{row['per_s'][name]:,}" for name in ("bare", "onetake")),
            row["times_bare"],
        ]
        for row in beside
    ]
    took = [f"{resume['records']:,}", resume["seconds"], resume["publish_s"], *resume["mb"].values()]
    return "\n\n".join(
        [
            "### A batch that asks",
            _table(["what", "records", "bare loop, a second", "onetake, a second", "time, × bare"], cells),
            "### A resume that finds everything",
            _table(["records", "scan, s", "publishing, s", "MB after 1,000", "MB at the end"], [took]),
        ]
    )


def _import_vcr(rows: Sequence[dict[str, Any]]) -> str:
    head = ["onetake import vcr", "cassettes", "MB", "s", "s of all processors", "MB of the largest process"]
    cells = [
        [row["what"], f"{row['cassettes']:,}", row["mb"], row["seconds"], row["cpu_s"], row["peak_mb"]] for row in rows
    ]
    return "### Importing cassettes of vcrpy\n\n" + _table(head, cells)


def _upkeep(rows: Sequence[dict[str, Any]]) -> str:
    cells = [
        [f"`onetake {row['command']}`", f"{row['entries']:,}", f"{row['cassettes']:,}", row["seconds"]] for row in rows
    ]
    return "### Going through all entries\n\n" + _table(["command", "entries", "cassettes", "s"], cells)


def _table(head: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
