"""What `onetake demo` asks about: log lines of our own, the question, and the contract of its answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

LINES: tuple[tuple[str, str], ...] = (
    ("07:58:03 web-2 GET /health 200 in 3 ms", "info"),
    ("07:58:11 db-1 connection pool at 92 % (46 of 50), 3 clients waiting", "warning"),
    ("07:58:12 web-2 POST /orders 503 in 30004 ms: upstream timed out", "error"),
    ("07:58:40 cron nightly backup done: 18 GB in 214 s", "info"),
    ("07:59:02 auth login failed for mika, attempt 6 of 6, locked", "warning"),
    ("07:59:30 mail queue 12 messages, oldest waits 4 s", "info"),
    ("08:00:00 db-1 replica is 41 s behind its primary", "warning"),
    ("08:00:17 disk /var/lib/db 98 % full, 1.2 GB left", "error"),
    ("08:00:18 db-1 PANIC: cannot write log: no space left on device", "error"),
    ("08:00:19 web-1 lost connection to db-1, retry in 1 s", "error"),
    ("08:00:20 web-1 GET /cart 500 in 12 ms: database is gone", "error"),
    ("08:01:05 db-1 started, recovery replays 311 log segments", "info"),
)
"""Each line with the level that the scripted provider gives it; the real model says its own."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"level": {"enum": ["info", "warning", "error"]}, "host": {"type": "string", "maxLength": 12}},
    "required": ["level", "host"],
    "additionalProperties": False,
}

_EXAMPLES = (
    ("09:12:01 web-7 GET /about 200 in 9 ms", {"level": "info", "host": "web-7"}),
    ("09:12:02 db-3 slow query: 9 s", {"level": "warning", "host": "db-3"}),
    ("09:12:03 gate crashed: out of memory", {"level": "error", "host": "gate"}),
)
"""A model of 135 million parameters needs to see how it is done."""


def question(line: str, model: str, max_tokens: int = 48) -> dict[str, Any]:
    """Return the arguments of the chat call that asks about a log line."""
    messages = [{"role": "system", "content": "Say the level and the host of a log line, as JSON."}]
    for example, answer in _EXAMPLES:
        messages.append({"role": "user", "content": example})
        messages.append({"role": "assistant", "content": json.dumps(answer, indent=2)})
    return {
        "model": model,
        "messages": [*messages, {"role": "user", "content": line}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "triage", "strict": True, "schema": SCHEMA}},
        "temperature": 0,
        "max_tokens": max_tokens,
    }


def scripted_answer(line: str) -> dict[str, str]:
    """Return what the scripted provider says about a log line."""
    return {"level": dict(LINES)[line], "host": line.split()[1]}
