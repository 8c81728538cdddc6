"""Which stored requests can be asked again as they are, and which hang on what is not in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote, unquote, urlsplit

from onetake import dialects
from onetake.imported import is_loose
from onetake.model import Cut, Entry, Request
from onetake.printable import one_line
from onetake.probing.state import state
from onetake.scrub.finder import PLACEHOLDER

_NO_ANSWERS = frozenset({"openai-files", "openai-batches"})
"""Dialects whose requests make something at the provider's, and bring no answer of a model."""
_NO_WHOLE_ANSWER = ("kept:status", "kept:cut", "left")


def why_not(entry: Entry) -> str:
    """Say why an entry cannot be asked again as it is, or what comes not be compared with it; empty where both can.

    Args:
        entry: It. What is wrong with its file, its key or a header of its request is not looked at.
    """
    request = entry.request
    if request.method == "CALL":
        return "a decorated function's answer: no request reaches it"
    if why := _no_baseline(entry):
        return why
    if is_loose(entry):
        return "it was imported without the body of its request"
    dialect = dialects.find(request.method, request.url)
    if dialect is None or dialect.name in _NO_ANSWERS:
        return "its request asks no model"
    if request.method != "POST":
        return "its request fetches what the provider keeps"
    return _scrubbed(entry) or state(request)


def _no_baseline(entry: Entry) -> str:
    """Say why nothing can be compared with an entry's answer; empty where something can.

    Its caller left it in the middle (`left:…`), the provider cut it or answered with an error (`kept:cut`,
    `kept:status:…`), or it is a reject or a redirect.
    """
    if entry.verdict.startswith("reject"):
        return "a reject: what was refused is no baseline"
    if entry.verdict.startswith(_NO_WHOLE_ANSWER) or entry.response.cut is not Cut.NO:
        return f"it holds no whole answer ({one_line(entry.verdict, 40)})"
    if not 200 <= entry.response.status < 300:
        return f"it holds no answer (status {entry.response.status})"
    return ""


def with_model(request: Request, model: str) -> Request | None:
    """Return a request that asks another model, and is the same in all else; None where it names its model elsewhere.

    Args:
        request: It. The model may be `model` of its JSON, or a part of its path.
        model: The other model's name.
    """
    dialect = dialects.find(request.method, request.url)
    asked = dialect.model_asked(request) if dialect else None
    if dialect is None or not asked:
        return None
    return next((one for one in _renamed(request, asked, model) if dialect.model_asked(one) == model), None)


def _renamed(request: Request, asked: str, model: str) -> Iterator[Request]:
    named = re.compile(rb'("model"\s*:\s*)' + re.escape(_json(asked)))
    if len(named.findall(request.body)) == 1:  # every other byte stays as it is stored
        yield replace(request, body=named.sub(lambda found: found[1] + _json(model), request.body))
    path = urlsplit(request.url).path
    for spelled in dict.fromkeys((quote(asked, safe=""), quote(asked, safe=":"), asked)):
        if path.count(f"/{spelled}") == 1:
            new = path.replace(f"/{spelled}", f"/{quote(model, safe=':')}")
            yield replace(request, url=request.url.replace(path, new, 1))


def _json(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _scrubbed(entry: Entry) -> str:
    """Say where a secret was taken out of what would be asked; a credential's own place is filled again."""
    texts = [unquote(entry.request.url), *(value for _, value in entry.request.headers)]
    if any(PLACEHOLDER.search(text) for text in texts):
        return "a secret was taken out of its address or of a header that counts"
    place = next((where for where in entry.scrubbed if where.startswith("request.body")), "")
    return f"a secret was taken out of what it asks, at {place.removeprefix('request.body')}" if place else ""
