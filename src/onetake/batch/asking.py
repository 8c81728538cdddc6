"""From a record to the request that is sent for it, and from a bad reply to the one that asks for a better."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from onetake import strictjson
from onetake.batch.job import Ask
from onetake.errors import UsageError
from onetake.model import Entry, Request
from onetake.printable import one_line

_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_HEADERS = {
    "openai": (("content-type", "application/json"),),
    "anthropic": (("content-type", "application/json"), ("anthropic-version", "2023-06-01")),
}
_PATHS = {"openai": "/chat/completions", "anthropic": "/v1/messages"}
_MAX_TOKENS = 1024
"""What Anthropic's API must be told; `params.max_tokens` says another."""
_MOST = 10


class MissingFieldError(ValueError):
    """A record lacks a field that the prompt names; `args[0]` says which."""


class Template:
    """A text with places for fields of a record: `{name}`, `{user.name}`; `{{` and `}}` are braces.

    Args:
        text: The text.
        where: What messages call it.

    Raises:
        UsageError: A brace stands alone, or a place names no field.
    """

    def __init__(self, text: str, where: str) -> None:
        self._pieces: list[tuple[str, tuple[str, ...]]] = []
        start, plain = 0, ""
        for found in _PLACE.finditer(text):
            plain += text[start : found.start()]
            start = found.end()
            if found[0] in ("{{", "}}"):
                plain += found[0][0]
                continue
            if not (found[1] or "").strip():
                raise UsageError(f"{where}: {found[0]!r} names no field; a brace itself is written twice")
            self._pieces.append((plain, tuple(found[1].strip().split("."))))
            plain = ""
        self._end = plain + text[start:]

    @property
    def fields(self) -> frozenset[str]:
        """The fields that it has places for, as they are written: `user.name`."""
        return frozenset(".".join(path) for _, path in self._pieces)

    def fill(self, data: Mapping[str, Any]) -> str:
        """Return the text with a record's values: texts as they are, all else as JSON, numbers as they were written.

        Raises:
            MissingFieldError: The record lacks a field.
        """
        return "".join(plain + _written(_value(data, path)) for plain, path in self._pieces) + self._end


class Asking:
    """Makes the requests of a job.

    Args:
        ask: What the job asks.
        schema: The schema that is sent with each request; None for none.
        name: What the schema is called there.
        build: Makes the body of a record's request, in the place of *ask*'s prompt, system and params.

    Raises:
        UsageError: The prompt is wrong.
    """

    def __init__(
        self,
        ask: Ask,
        schema: Mapping[str, Any] | None = None,
        name: str = "answer",
        build: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> None:
        self._ask = ask
        self._build = build
        self._prompt = Template(ask.prompt, "ask.prompt")
        self._system = Template(ask.system, "ask.system")
        self.schema = schema
        """The schema that is sent; None for none."""
        self.name = name
        """What it is called there."""

    def request(self, data: Mapping[str, Any]) -> Request:
        """Return the request of a record, without any credential.

        Raises:
            MissingFieldError: The record lacks a field that the prompt names.
        """
        return self.of(*self.texts(data)) if self._build is None else self._of(self._build(data))

    @property
    def is_template(self) -> bool:
        """Whether all requests are one but for what `texts` gives."""
        return self._build is None

    @property
    def fields(self) -> frozenset[str]:
        """The fields of a record that its texts name."""
        return self._prompt.fields | self._system.fields

    @property
    def has_system(self) -> bool:
        """Whether the template has a text of the system."""
        return bool(self._ask.system)

    def texts(self, data: Mapping[str, Any]) -> tuple[str, str]:
        """Return what the user and the system say of a record.

        Raises:
            MissingFieldError: The record lacks a field that the prompt names.
        """
        return self._prompt.fill(data), self._system.fill(data)

    def of(self, prompt: str, system: str) -> Request:
        """Return the request of a template with these texts."""
        return self._made([{"role": "user", "content": prompt}], system)

    def repair(self, request: Request, entry: Entry) -> Request:
        """Return the request that asks again, with the bad reply and what is wrong with it.

        Args:
            request: The one that was answered badly.
            entry: The answer, its violations in it.
        """
        body = strictjson.loads(request.body)
        choice = entry.answer.choices[0] if entry.answer and entry.answer.choices else None
        wrong = "\n".join(f"- {one_line(str(one), 300)}" for one in entry.violations[:_MOST])
        said = {"role": "assistant", "content": (choice.text if choice else None) or ""}
        again = f"This answer is not valid:\n{wrong}\nAnswer again, with nothing but the corrected JSON."
        body["messages"] = [*body["messages"], said, {"role": "user", "content": again}]
        return Request(request.method, request.url, request.headers, _bytes(body))

    def _made(self, messages: list[dict[str, str]], system: str) -> Request:
        ask = self._ask
        body: dict[str, Any] = {"model": ask.model}
        if ask.api == "anthropic":
            body |= {"max_tokens": _MAX_TOKENS, **({"system": system} if system else {}), "messages": messages}
        else:
            body["messages"] = [*([{"role": "system", "content": system}] if system else []), *messages]
        return self._of({**body, **ask.params})

    def _of(self, body: Mapping[str, Any]) -> Request:
        ask = self._ask
        if self.schema is not None and ask.structured:
            body = {**body, **_structured(ask.api, self.name, self.schema)}
        return Request("POST", ask.base_url + _PATHS[ask.api], _HEADERS[ask.api], _bytes(body))


def _structured(api: str, name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members that have a provider keep to a schema.

    Source: OpenAI, structured outputs (`response_format`); Anthropic, structured outputs (`output_format`).
    """
    if api == "anthropic":
        return {"output_format": {"type": "json_schema", "schema": schema}}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}}


def _value(data: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    whole = ".".join(path)
    if whole in data:  # a field whose own name has dots in it
        return data[whole]
    found: Any = data
    for name in path:
        if not isinstance(found, Mapping) or name not in found:
            raise MissingFieldError(f"the record has no field {whole!r}")
        found = found[name]
    return found


def _written(value: Any) -> str:
    return value if isinstance(value, str) else _dumped(value, ensure_ascii=False)


def _bytes(body: Mapping[str, Any]) -> bytes:
    # A lone surrogate of a record has no UTF-8, so that body is written in escapes.
    text = _dumped(body, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _dumped(body, separators=(",", ":")).encode()


def _dumped(value: Any, **how: Any) -> str:
    """Write JSON, numbers of a record as they were written."""
    if not strictjson.has_number(value):
        return json.dumps(value, **how)
    item: str = how.get("separators", (", ", ": "))[0]
    if isinstance(value, Mapping):
        names = (json.dumps({name: 0}, **how)[1:-2] for name in value)  # with the colon
        return "{" + item.join(name + _dumped(value[at], **how) for name, at in zip(names, value, strict=True)) + "}"
    if isinstance(value, strictjson.Number):
        return value.text
    return f"[{item.join(_dumped(one, **how) for one in value)}]"
