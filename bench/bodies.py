"""What is asked and answered: chat bodies of a given size, and the entries that hold them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from onetake import key_specs
from onetake.format import dump_entry
from onetake.key import Keyer
from onetake.model import Answer, Choice, Entry, Request, Response
from onetake.stores.naming import entry_name

URL = "https://api.openai.com/v1/chat/completions"
REQUEST_HEADERS = (("Accept", "*/*"), ("Content-Type", "application/json"))
RESPONSE_HEADERS = (("Content-Type", "application/json"),)

_SENTENCE = 'The parcel was left at the gate; the neighbour said "not today" and closed the door. '
_SYSTEM = "You sort complaints.\nAnswer with one word.\nNever explain.\n"


def asked(number: int, size: int, shape: str = "long") -> dict[str, Any]:
    """Make the body of a chat request.

    Args:
        number: Tells the request from all others, 0 or more.
        size: Bytes of its JSON, about; 500 or more.
        shape: `long` (a system prompt and one long question) or `many` (many small messages, the hard case).
    """
    if shape == "many":
        turns = [
            {"role": ("user", "assistant")[turn % 2], "content": f"turn {turn} of talk {number}"}
            for turn in range(size // 60)
        ]
    else:
        text = f"complaint {number}: " + _SENTENCE * (size // len(_SENTENCE))
        turns = [{"role": "user", "content": text[: size - 250]}]
    return {
        "model": "gpt-4.1-mini",
        "temperature": 0,
        "messages": [{"role": "system", "content": _SYSTEM}, *turns],
    }


def sent(number: int, size: int, shape: str = "long") -> bytes:
    """Return the bytes of a request's body as httpx spells them."""
    return json.dumps(asked(number, size, shape), ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


@cache
def answered() -> bytes:
    """Return the one response body that every request gets, so that the bare client returns the same."""
    message = {"role": "assistant", "content": "delivery"}
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1764500000,
            "model": "gpt-4.1-mini-2025-04-14",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 412, "completion_tokens": 1, "total_tokens": 413},
        },
        separators=(",", ":"),
    ).encode()


def write_entries(folder: Path, entries: int, size: int, shape: str = "long") -> None:
    """Write a cassette as recording would, without its fsyncs."""
    folder.mkdir(parents=True)
    for number in range(entries):
        entry = entry_of(Request("POST", URL, REQUEST_HEADERS, sent(number, size, shape)))
        data, _ = dump_entry(entry)
        (folder / entry_name(entry.key, 0, "chat-gpt-4.1-mini")).write_bytes(data)


def entry_of(request: Request) -> Entry:
    """Make the entry of a request that was answered with `answered`."""
    return Entry(
        verdict="good",
        request=request,
        response=Response(200, RESPONSE_HEADERS, answered()),
        key=Keyer().key(request),
        ordinal=0,
        key_spec=key_specs.current({}),
        provenance={
            "recorded_at": "2026-11-30T10:15:00Z",
            "commit": "3f1c2b4a5d6e7f8091a2b3c4d5e6f708192a3b4c",
            "test": "tests/test_triage.py::test_labels",
            "client": "httpx 0.28.1",
            "model_asked": "gpt-4.1-mini",
            "model_served": "gpt-4.1-mini-2025-04-14",
        },
        dialect="openai-chat/1",
        answer=Answer((Choice(text="delivery", finish="stop"),)),
        metrics={"latency_ms": 812, "first_byte_ms": 640, "input_tokens": 412, "output_tokens": 1},
    )
