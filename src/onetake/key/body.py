"""The body's part of the keyed request: one kind for each content type, `bytes` for whatever is not as it says."""

from __future__ import annotations

import hashlib
from typing import Any

from onetake.codings import undo
from onetake.key import canonical, multipart
from onetake.key.media import media_type
from onetake.key.rules import NO_RULES, BodyRules
from onetake.key.url import pairs
from onetake.strictjson import NotStrictError


def body_text(body: bytes, content_type: str, encoding: str, rules: BodyRules) -> str:
    """Write the keyed body as canonical JSON.

    Args:
        body: As it lies on the wire.
        content_type: The header's value, empty where there is none.
        encoding: The value of `content-encoding`, empty where there is none.
        rules: The rules in force.

    Returns:
        An object with `kind`: `none`, `json`, `form`, `multipart` or `bytes`, and what belongs to it.
    """
    media = content_type.partition(";")[0].strip().lower()
    plain = undo(body, encoding) if encoding else body
    if plain is None:
        return _bytes(body, content_type)
    if not plain:
        return '{"kind":"none"}'
    found = None
    if media == "application/json" or media.endswith("+json") or (not media and plain.lstrip()[:1] in (b"{", b"[")):
        found = _json(plain, rules)
    elif media == "application/x-www-form-urlencoded":
        found = _form(plain, rules)
    elif media.startswith("multipart/"):
        found = _multipart(plain, content_type, media, rules)
    elif media.startswith("text/"):
        plain = _replaced(plain, rules)
    return found or _bytes(plain, content_type)


def _json(body: bytes, rules: BodyRules) -> str | None:
    try:
        if rules is NO_RULES:
            return f'{{"json":{canonical.rewrite(body)},"kind":"json"}}'
        value = canonical.loads(body)
    except NotStrictError:
        return None
    text = canonical.dumps(rules.json(value), plain=not rules.touch_text and canonical.is_plain(body))
    return f'{{"json":{text},"kind":"json"}}'


def _form(body: bytes, rules: BodyRules) -> str:
    found = pairs(body)
    if rules.touch_text:
        found = [(pair[0], *map(rules.text, pair[1:])) for pair in found]
    return canonical.dumps({"kind": "form", "pairs": sorted(found)})


def _multipart(body: bytes, content_type: str, media: str, rules: BodyRules) -> str | None:
    parts = multipart.split(body, content_type)
    if parts is None:
        return None
    return canonical.dumps({"kind": "multipart", "parts": [_part(part, rules) for part in parts], "type": media})


def _part(part: multipart.Part, rules: BodyRules) -> dict[str, Any]:
    body = _replaced(part.body, rules) if part.is_text else part.body
    keyed: dict[str, Any] = {"filename": part.filename, "name": part.name, "sha256": _sha256(body), "type": part.type}
    return keyed | {"headers": part.headers} if part.headers else keyed


def _bytes(body: bytes, content_type: str) -> str:
    return canonical.dumps({"kind": "bytes", "sha256": _sha256(body), "type": media_type(content_type)})


def _replaced(body: bytes, rules: BodyRules) -> bytes:
    """Apply the rules for strings to a text; one that is no UTF-8 stays as it is."""
    if not rules.touch_text:
        return body
    try:
        return rules.text(body.decode()).encode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return body


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
