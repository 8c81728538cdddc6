"""Replies of the shape of Ollama's own API: chat and generate, whole and streamed, errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Unpack

from onetake.testing.provider_http import Reply
from onetake.testing.provider_said import Ending, Said, json_reply, spelled, tokens, until, words


def ollama_message(
    text: str | None = None, *, thought: str | None = None, generate: bool = False, **said: Unpack[Said]
) -> Reply:
    """Make a whole response.

    Args:
        text: The answer.
        thought: What the model thought before.
        generate: In the shape of `/api/generate`; else in that of `/api/chat`.
        **said: See `Said`.
    """
    spoken = spelled(said["json"]) if "json" in said else text or ""
    calls = said.get("tool_calls", ())
    return json_reply(_line(spoken, thought, calls, said, generate=generate, done=True))


def ollama_stream(
    text: str | None = None,
    *,
    thought: str | None = None,
    generate: bool = False,
    ending: Ending = "done",
    **said: Unpack[Said],
) -> Reply:
    """Make a streamed response, one piece for each line.

    Args:
        text: The answer, a word a line.
        thought: What the model thought before, a word a line.
        generate: See `ollama_message`.
        ending: How the stream ends.
        **said: See `Said`.
    """
    spoken = spelled(said["json"]) if "json" in said else text or ""
    lines = [_line("", word, (), said, generate=generate) for word in words(thought or "")]
    lines += [_line(word, None, (), said, generate=generate) for word in words(spoken)]
    lines += [_line("", None, [call], said, generate=generate) for call in said.get("tool_calls", ())]
    lines.append({**_line("", None, (), said, generate=generate), **_end(spoken, said)})
    error = _spelled({"error": "an error was encountered while running the model: unexpected EOF"})
    pieces = until([_spelled(line) for line in lines], ending, error)
    return Reply(200, (("content-type", "application/x-ndjson"),), tuple(pieces), "chunked")


def ollama_error(status: int = 500, message: str = "model runner has unexpectedly stopped") -> Reply:
    """Make an error reply; under status 200 it is an error object that only looks like an answer."""
    return json_reply({"error": message}, status)


def _spelled(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _line(
    spoken: str,
    thought: str | None,
    calls: Sequence[tuple[str, Any]],
    said: Said,
    *,
    generate: bool,
    done: bool = False,
) -> dict[str, Any]:
    model, now = said.get("model", "llama3.2:1b"), datetime.now(UTC).isoformat().replace("+00:00", "Z")
    line: dict[str, Any] = {"model": model, "created_at": now}
    thinking = {} if thought is None else {"thinking": thought}
    if generate:
        line |= {"response": spoken, **thinking}
    else:
        functions = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
        line["message"] = {"role": "assistant", "content": spoken, **thinking}
        line["message"] |= {"tool_calls": functions} if functions else {}
    return line | (_end(spoken, said) if done else {"done": False})


def _end(spoken: str, said: Said) -> dict[str, Any]:
    return {
        "done": True,
        "done_reason": said.get("finish", "stop"),
        "total_duration": 200_000_000,
        "load_duration": 10_000_000,
        "prompt_eval_count": tokens(said.get("prompt", "")),
        "prompt_eval_duration": 90_000_000,
        "eval_count": tokens(spoken),
        "eval_duration": 100_000_000,
        **said.get("usage", {}),
    }
