"""Entries for readers: what the model said, requests and responses, as text for people and as data for programs."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from onetake import strictjson
from onetake.errors import FormatError
from onetake.events import events
from onetake.format.forms import LONG_ARRAY, fold_text
from onetake.format.layout import print_tree
from onetake.model import Choice, Entry, Headers, Request, Response


def entry_data(entry: Entry) -> dict[str, Any]:
    """Return an entry as plain JSON data: its fields by their names, bodies as `{"text": …}` or `{"base64": …}`."""
    data = asdict(entry)
    data["request"]["body"] = _body_data(entry.request.body)
    data["response"]["body"] = _body_data(entry.response.body)
    return data


def answer_data(entry: Entry) -> Any:
    """Return what was answered, to be compared: status and choices; where no dialect finds any, status and body."""
    if entry.answer is None or not entry.answer.choices:
        return {"status": entry.response.status, "body": body_value(entry.response.body)}
    said: dict[str, Any] = asdict(entry.answer)
    return {"status": entry.response.status, **said}


def said(entry: Entry) -> str:
    """Return what the model said, for a reader; empty where the answer is of no known dialect."""
    choices = entry.answer.choices if entry.answer else ()
    lines: list[str] = []
    for number, choice in enumerate(choices, 1):
        if len(choices) > 1:
            lines.append(f"({number} of {len(choices)})")
        lines += _choice(choice)
    return "\n".join(lines)


def finishes(entry: Entry) -> str:
    """Return how the choices finished, in the provider's words."""
    return ", ".join(choice.finish for choice in entry.answer.choices if choice.finish) if entry.answer else ""


def request_text(request: Request) -> str:
    """Return a request for a reader: method and URL, headers, body."""
    return _message(f"{request.method} {request.url}", request.headers, request.body)


def response_text(response: Response) -> str:
    """Return a response for a reader: status, headers, body (of a stream its events' data); what was undone."""
    data = "\n".join(event.data for event in events(response)).encode("utf-8", "surrogateescape")
    notes = [f"decoded: {response.decoded}"] if response.decoded else []
    notes += [f"cut: {response.cut}"] if response.cut else []
    return _message(
        " ".join([str(response.status), *(f"({note})" for note in notes)]), response.headers, data or response.body
    )


def pretty(value: Any) -> str:
    """Return a JSON value laid out as entries are; what those keep beside themselves is told by its length.

    Raises:
        FormatError: It holds a number that is none to us (1e999), or is nested too deep.
    """
    try:
        return print_tree(_folded(value)).rstrip("\n")
    except RecursionError:
        raise FormatError("nested too deep to be laid out") from None


def _message(head: str, headers: Headers, body: bytes) -> str:
    lines = [head, *(f"{name}: {value}" for name, value in headers)]
    return "\n".join([*lines, "", _body_text(body)] if body else lines)


def _choice(choice: Choice) -> Iterator[str]:
    if choice.reasoning is not None:
        yield f"reasoning: {choice.reasoning}"
    if choice.text is not None:
        value = body_value(choice.text.encode("utf-8", "surrogatepass"))
        yield _laid_out(value, choice.text)
    for call in choice.tool_calls:
        yield f"calls {call.name} with {pretty(strictjson.finite(call.arguments))}"
    if choice.refusal is not None:
        yield f"refuses: {choice.refusal}"


def _body_text(body: bytes) -> str:
    """Return a body laid out where it is a JSON object or array, else as it came."""
    return _laid_out(body_value(body), body.decode("utf-8", "replace"))


def _laid_out(value: Any, text: str) -> str:
    """Return what a text says laid out where that is a JSON object or array that can be, else the text."""
    with suppress(FormatError):
        return pretty(value) if isinstance(value, (dict, list)) else text
    return text


def _folded(value: Any) -> Any:
    """Return a JSON value with the forms that entries have for long arrays and for texts: each line is short."""
    if isinstance(value, dict):
        return {name: _folded(member) for name, member in value.items()}
    if isinstance(value, list):
        if len(value) > LONG_ARRAY and all(type(member) in (int, float) for member in value):
            return {"$raw": f"{len(value)} numbers"}
        return [_folded(member) for member in value]
    if not isinstance(value, str):
        return value
    form = fold_text(value, {})
    return {**form, "$raw": f"{form['$raw']['bytes']} bytes"} if "$raw" in form and isinstance(form, dict) else form


def body_value(body: bytes) -> Any:
    """Return a body as a JSON value, else as text, else its length and digest."""
    try:
        return strictjson.loads(body)
    except (strictjson.NotStrictError, UnicodeDecodeError):
        pass
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"bytes": len(body), "sha256": sha256(body).hexdigest()}


def _body_data(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(body).decode()}
