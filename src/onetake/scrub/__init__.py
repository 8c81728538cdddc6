"""Remove secrets from requests and responses before anything is keyed or written.

The one choke point: nothing is written but what `Scrubbing` returned, and `scan` looks once more at the bytes
themselves where they are written. The list of what is a secret is data, in `shapes`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import quote, quote_plus

from onetake.errors import UsageError
from onetake.key.url import KEY_HEADERS
from onetake.model import Headers, Request, Response, header
from onetake.scrub.bodies import Chunk, chunk_edits, chunks, is_clear
from onetake.scrub.declared import declared_path, declared_pattern
from onetake.scrub.finder import Finder
from onetake.scrub.heads import HeaderList, cookie_values, known_values, without_credentials
from onetake.scrub.lanes import Edit, Search
from onetake.scrub.placeholders import Placeholders
from onetake.scrub.places import holds_a_named_secret
from onetake.scrub.scanning import Finding, scan
from onetake.scrub.shapes import (
    ACCOUNT_HEADERS,
    CREDENTIAL_HEADERS,
    KEPT_PREFIXES,
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    URL_HEADERS,
    is_credential_header,
)
from onetake.settings import ScrubRules

__all__ = ["SCRUBS", "Finding", "Scrubber", "Scrubbing", "may_hold_secret", "scan", "shown", "shown_data"]

SCRUBS = ("s1",)
"""The versions of the list and of the placeholders, newest first; every entry names its own.

s1: the first.
"""


def shown(text: str) -> str:
    """Return a message as it may be printed where no project's rules are known: without what the list knows."""
    return _plain().begin().text(text)


def shown_data(data: Any) -> Any:
    """Return JSON data as it may be printed: its texts and the names of its fields as `shown` returns them."""
    return _shown_data(data, _plain().begin().text)


def _shown_data(data: Any, scrub: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return scrub(data)
    if isinstance(data, dict):
        return {scrub(name): _shown_data(value, scrub) for name, value in data.items()}
    return [_shown_data(item, scrub) for item in data] if isinstance(data, list | tuple) else data


def may_hold_secret(text: str) -> bool:
    """Tell quickly whether a message, or a JSON text, may hold a secret that the list knows; False is certain."""
    # Thousands of keys, each another: what is a digest and nothing besides needs no look.
    return _plain().finder.suspects(_DIGEST.sub('""', text))


@lru_cache(1)
def _plain() -> Scrubber:
    """Return a scrubber without rules of a project."""
    return Scrubber()


_DIGEST = re.compile('"[0-9a-f]{64}"')
_SPELL: dict[str, Callable[[str], str]] = {
    "text": lambda placeholder: placeholder,
    "number": lambda placeholder: f'"{placeholder}"',
    "form": quote_plus,
    "url": lambda placeholder: quote(placeholder, safe=""),
}


_PREFIXES = [f"{prefix}*" for prefix in KEPT_PREFIXES]


@lru_cache(maxsize=64)
def request_headers(of_key: tuple[str, ...]) -> HeaderList:
    """Return which headers of requests entries keep.

    Args:
        of_key: Those that count in their key besides the built-in ones.
    """
    return HeaderList([*REQUEST_HEADERS, *KEY_HEADERS, *of_key, *_PREFIXES])


class Scrubber:
    """The rules of a project, checked once; immutable.

    Args:
        rules: What is scrubbed or kept besides the built-in list.
        key_headers: Request headers that count in the key besides the built-in ones (`key.headers`): they are kept, as
            a stored request must give the key it is stored under.

    Raises:
        UsageError: A path or a pattern is wrong, or a header carries credentials; names the rule.
    """

    def __init__(self, rules: ScrubRules = ScrubRules(), *, key_headers: Iterable[str] = ()) -> None:  # noqa: B008
        self.declared = tuple(declared_path(path) for path in rules.paths)
        self.patterns = tuple(declared_pattern(pattern) for pattern in rules.patterns)
        self.finder = Finder((), self.patterns)
        for name in rules.keep_headers:
            if name.lower() in CREDENTIAL_HEADERS:
                raise UsageError(f"scrub.keep_headers: {name!r} carries credentials, which never reach an entry")
        self.request_headers = request_headers(tuple(key_headers))
        self.response_headers = HeaderList([*RESPONSE_HEADERS, *rules.keep_headers, *_PREFIXES])

    def begin(self) -> Scrubbing:
        """Begin one interaction: its request and its response share the numbers of their placeholders."""
        return Scrubbing(self)

    def clears(self, request: Request, response: Response, rest: str) -> bool:
        """Tell quickly that scrubbing would find nothing; True is certain, False says only that it must look.

        Args:
            request: Of one interaction.
            response: Its own.
            rest: JSON text of whatever else is stored with them.
        """
        url, headers = request.url, (*request.headers, *response.headers)
        if self.declared or self.patterns or without_credentials(url)[1] or any(map(_needs_a_look, headers)):
            return False
        texts = [Chunk(0, len(rest), rest, "application/json")]
        for side in (request, response):
            texts += chunks(side.body, (header(side.headers, "content-type") or "").lower())
        # No word goes over the end of a line, so all of them are looked through at the cost of one.
        lines = [url, *(value for _, value in headers), *(chunk.text for chunk in texts)]
        return not self.finder.suspects("\n".join(lines)) and all(is_clear(chunk, self.finder) for chunk in texts)

    def clear_together(self, interactions: Sequence[tuple[Request, Response]], rest: str) -> list[bool]:
        """Tell of which interactions scrubbing would find nothing, in one look at all of them; True is certain.

        What costs most of a look is to begin it. Only those are looked at whose bodies are JSON objects, or empty.

        Args:
            interactions: Many.
            rest: JSON text of whatever else is stored with them.
        """
        found = [_plain_text(request, response) for request, response in interactions]
        if self.declared or self.patterns:
            return [False] * len(found)
        text = "\n\n".join([rest, *filter(None, found)])  # no event, and no frame, ends in an empty line
        is_clear = not (self.finder.suspects(text) or "}\n{" in text or "}\r\n{" in text or holds_a_named_secret(text))
        return [is_clear and one is not None for one in found]


class Scrubbing:
    """One interaction being scrubbed: first `request`, then `response`."""

    def __init__(self, scrubber: Scrubber) -> None:
        self._scrubber = scrubber
        self._known: list[str] = []
        self._finder = scrubber.finder
        self._names = Placeholders()
        self._spans: dict[str, None] = {}

    @property
    def spans(self) -> tuple[str, ...]:
        """Where secrets were: `request.headers.authorization`, `request.url?key`, `request.body$.input[0].content`."""
        return tuple(self._spans)

    def request(self, request: Request) -> Request:
        """Return the request without its secrets; the same object if nothing had to change."""
        self._known = known_values(request)
        self._finder = Finder(self._known, self._scrubber.patterns)
        self._names.watch(request.url, request.body, *(value for _, value in request.headers))
        url = self._url(request.url, "request.url")
        headers = self._headers(request.headers, self._scrubber.request_headers, "request")
        kind = (header(request.headers, "content-type") or "").lower()
        body = self._body(request.body, kind, "request", is_call=request.method == "CALL")
        if (url, headers, body) == (request.url, request.headers, request.body):
            return request
        return replace(request, url=url, headers=headers, body=body)

    def response(self, response: Response) -> Response:
        """Return the response without secrets, the request's own too; the same object if nothing had to change."""
        self._finder = Finder([*self._known, *cookie_values(response.headers)], self._scrubber.patterns)
        self._names.watch(response.body, *(value for _, value in response.headers))
        headers = self._headers(response.headers, self._scrubber.response_headers, "response")
        kind = (header(response.headers, "content-type") or "").lower()
        body = self._body(response.body, kind, "response")
        headers = _restated(headers, len(body) - len(response.body))
        if (headers, body) == (response.headers, response.body):
            return response
        return replace(response, headers=headers, body=body)

    def text(self, text: str) -> str:
        """Return a text (a message, a log line, a file name) without secrets."""
        self._names.watch(text)
        return self._found_and_rewritten(text, "")

    def data(self, data: Any, where: str) -> Any:
        """Return JSON data (a provenance, say) without secrets, wherever in it; the same object if there is none.

        Args:
            data: Null, a boolean, number, text, list or mapping of such.
            where: What its places are told under: `provenance`.
        """
        text = json.dumps(data, ensure_ascii=False)
        self._names.watch(text)
        edits = chunk_edits(Chunk(0, len(text), text, "application/json"), Search(self._finder))
        return json.loads(self._rewritten(text, edits, where)) if edits else data

    def _url(self, url: str, where: str) -> str:
        url, removed = without_credentials(url)
        self._note(f"{where}?{name}" if name != "userinfo" else f"{where}@" for name, _ in removed)
        return self._found_and_rewritten(url, where, "url")

    def _headers(self, headers: Headers, keep: HeaderList, side: str) -> Headers:
        kept: list[tuple[str, str]] = []
        for name, value in headers:
            where = f"{side}.headers.{name.lower()}"
            if not keep.keeps(name):
                self._note([where] if is_credential_header(name) or name.lower() in ACCOUNT_HEADERS else [])
                continue
            scrub = self._url if name.lower() in URL_HEADERS else self._found_and_rewritten
            kept.append((name, scrub(value, where)))
        return headers if len(kept) == len(headers) and tuple(kept) == headers else tuple(kept)

    def _body(self, body: bytes, content_type: str, side: str, *, is_call: bool = False) -> bytes:
        search = Search(self._finder, self._scrubber.declared, arguments_are_envelope=is_call)
        parts: list[bytes] = []
        last = 0
        for chunk in chunks(body, content_type):
            edits = chunk_edits(chunk, search)
            if edits:
                text = self._rewritten(chunk.text, edits, f"{side}.body")
                parts += (body[last : chunk.start], chunk.encoded(text))
                last = chunk.end
        return b"".join([*parts, body[last:]]) if parts else body

    def _found_and_rewritten(self, text: str, where: str, style: str = "text") -> str:
        hits = self._finder.find(text)
        return self._rewritten(text, [Edit(hit.start, hit.end, "", hit, style) for hit in hits], where)

    def _rewritten(self, text: str, edits: list[Edit], where: str) -> str:
        parts: list[str] = []
        last = 0
        for edit in edits:
            placeholder = _SPELL[edit.style](self._names.name(edit.hit)) if edit.hit else ""
            parts += (text[last : edit.start], placeholder)
            last = edit.end
        if where:
            self._note(where + edit.where for edit in edits)
        return "".join([*parts, text[last:]])

    def _note(self, spans: Iterable[str]) -> None:
        self._spans.update(dict.fromkeys(spans))


def _plain_text(request: Request, response: Response) -> str | None:
    """Return what may hold a secret of an interaction, each on lines of its own; None where it takes a closer look."""
    headers = _plain_headers(request.headers), _plain_headers(response.headers)
    bodies = request.body, response.body
    is_object = all(body[:1] in (b"{", b"") and b"\0" not in body for body in bodies)
    if None in headers or not is_object or without_credentials(request.url)[1]:
        return None
    try:
        return "\n\n".join([request.url, *map(str, headers), *(body.decode() for body in bodies)])
    except UnicodeDecodeError:
        return None


@lru_cache(256)  # entries of one client have the same ones, but for what differs with every answer
def _plain_headers(headers: Headers) -> str | None:
    """Return the values of headers; None where one may be a secret by its name, or says that a body is no object."""
    kind = (header(headers, "content-type") or "").lower()
    if kind.startswith(("application/x-www-form-urlencoded", "text/event-stream")) or any(map(_needs_a_look, headers)):
        return None
    return "\n".join([value for _, value in headers])


def _needs_a_look(pair: tuple[str, str]) -> bool:
    """Tell whether the name of a header says that its value is, holds or makes known a secret, or may be one itself."""
    return _tells(pair[0])


@lru_cache(1024)
def _tells(name: str) -> bool:
    low = name.lower()
    is_telling = is_credential_header(low) or low in ACCOUNT_HEADERS or low in URL_HEADERS or low == "set-cookie"
    return is_telling or may_hold_secret(name)


def _restated(headers: Headers, longer: int) -> Headers:
    """Let content-length say what it said, *longer* bytes later: a body that was cut off stays as short of it."""
    if not longer:
        return headers
    return tuple(
        (name, str(max(0, int(value) + longer)))
        if name.lower() == "content-length" and value.strip().isdecimal()
        else (name, value)
        for name, value in headers
    )
