"""What it takes to go through all entries of a project: `onetake check` and `onetake status`, as a user starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from bench.bodies import REQUEST_HEADERS, RESPONSE_HEADERS, URL, asked, entry_of
from bench.timing import timed
from onetake import dialects
from onetake.contract import Contract
from onetake.format import dump_entry
from onetake.model import Entry, Request, Response
from onetake.stores.naming import entry_name

COMMANDS = ("check", "status")
ENTRIES = 10_000
SIZE = 2_000

_IN_A_CASSETTE = 100
_ITEMS = {
    "type": "object",
    "properties": {
        "label": {"enum": ["delivery", "billing", "other"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "confidence": {"type": "number"},
    },
    "required": ["label", "tags", "confidence"],
}
_SAID = json.dumps({"label": "delivery", "tags": ["late", "gate"], "confidence": 0.9})
_SETTINGS = '[contracts.items]\nschema = "items.json"\n'


def measure(folder: Path, *, count: int, entries: int | None = None) -> list[dict[str, Any]]:
    """Run each command *count* times, three at most, over projects of *entries*, after once to warm the disk.

    One has a hundred entries in each cassette, the other has all of them in one.
    """
    number = ENTRIES if entries is None else entries
    found = []
    for each in (min(number, _IN_A_CASSETTE), number):
        project = folder / f"upkeep-{number}-{each}"
        _write(project, number, each)
        what = {"entries": number, "cassettes": -(-number // each)}
        found += [{"command": command, **what, "seconds": _seconds(project, command, count)} for command in COMMANDS]
    return found


def _seconds(project: Path, command: str, count: int) -> float:
    words = [sys.executable, "-m", "onetake", command, "--json"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ONETAKE_")}

    def run() -> None:
        done = subprocess.run(words, cwd=project, env=environment, capture_output=True, check=True)
        assert "error" not in json.loads(done.stdout)

    run()
    return round(median(timed(run) for _ in range(min(count, 3))), 2)


def _write(project: Path, entries: int, in_a_cassette: int) -> None:
    """Write a project whose entries are all as they should be, as recording would, without its fsyncs."""
    project.mkdir(parents=True)
    (project / "onetake.toml").write_text(_SETTINGS, encoding="utf-8")
    (project / "items.json").write_text(json.dumps(_ITEMS), encoding="utf-8")
    contract = Contract(_ITEMS, name="items")
    for number in range(entries):
        folder = project / "cassettes" / f"test_{number // in_a_cassette}"
        (folder / "_raw").mkdir(parents=True, exist_ok=True)
        entry = _entry(number, contract)
        data, sides = dump_entry(entry)
        (folder / entry_name(entry.key, 0, "chat-gpt-4.1-mini")).write_bytes(data)
        for name, side in sides.items():
            (folder / name).write_bytes(side)


def _entry(number: int, contract: Contract) -> Entry:
    """Make an entry: of ten, seven whole answers under the contract, one streamed, one tool call, one long talk."""
    kind = {7: "streamed", 8: "called", 9: "talk"}.get(number % 10, "whole")
    body = asked(number, SIZE, "many" if kind == "talk" else "long")
    sent = _dumped(body | ({"stream": True} if kind == "streamed" else {}))
    entry = entry_of(Request("POST", URL, REQUEST_HEADERS, sent))
    response = _streamed() if kind == "streamed" else Response(200, RESPONSE_HEADERS, _dumped(_answer(kind)))
    dialect = dialects.find("POST", URL)
    assert dialect is not None
    answer = dialect.read(entry.request, response).answer
    judged = None if kind in ("called", "talk") else contract.ref()
    return replace(entry, response=response, answer=answer, contract=judged)


def _answer(kind: str) -> dict[str, Any]:
    function = {"name": "find", "arguments": '{"parcel": 4711, "where": "gate"}'}
    calls = {"tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
    message: dict[str, Any] = {"role": "assistant", "content": None if kind == "called" else _SAID}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764500000,
        "model": "gpt-4.1-mini-2025-04-14",
        "choices": [
            {
                "index": 0,
                "message": message | (calls if kind == "called" else {}),
                "logprobs": None,
                "finish_reason": "tool_calls" if kind == "called" else "stop",
            }
        ],
        "usage": {"prompt_tokens": 412, "completion_tokens": 21, "total_tokens": 433},
    }


def _streamed() -> Response:
    """Return a stream that says one word an event."""
    said = [{"content": piece} for piece in _SAID.replace(" ", " \0").split("\0")]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in said]
    choices += [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    events = [b"data: " + _dumped({"model": "gpt-4.1-mini-2025-04-14", "choices": [choice]}) for choice in choices]
    body = b"\n\n".join([*events, b"data: [DONE]", b""])
    return Response(200, (("Content-Type", "text/event-stream"),), body)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
