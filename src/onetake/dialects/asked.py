"""What many APIs share in their requests: where they name their model, and the schemas that they carry.

Source: the types of the openai SDK 3.57 and of the mistralai SDK 3.7.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from onetake.dialects import Promise
from onetake.key import multipart
from onetake.model import Request, header
from onetake.picking import document, mapping, text

_DEPLOYMENT = re.compile(r"/deployments/(?P<model>[^/]+)/")


def model_asked(request: Request) -> str | None:
    """Return the model that a request names: `model` of its JSON, or of its form, else the deployment in its path."""
    kind = header(request.headers, "content-type") or ""
    if kind.lower().startswith("multipart/"):
        named = _form_field(request.body, kind, "model")
    else:
        named = text(document(request.body).get("model"))
    return named or path_model(request.url, _DEPLOYMENT)


def _form_field(body: bytes, content_type: str, name: str) -> str:
    parts = multipart.split(body, content_type) or []
    return next((part.body.decode("utf-8", "replace") for part in parts if part.name == name and part.is_text), "")


def path_model(url: str, pattern: re.Pattern[str]) -> str | None:
    """Return the model in a URL's path: the group `model` of the pattern, None where that finds nothing."""
    found = pattern.search(urlsplit(url).path)
    return unquote(found["model"]) if found else None


def vertex_path(*publishers: str) -> re.Pattern[str]:
    """Return a pattern for the paths under which Vertex passes publishers' own bodies on; its group is `model`.

    Source: the Vertex clients of the anthropic SDK 2.14 and of the mistralai SDK 3.7.
    """
    # Anthropic counts tokens under the name of a model that there is not.
    names = "|".join(map(re.escape, publishers))
    model, colon = "(?P<model>[^/]+)", "(?::|%3[Aa])"
    return re.compile(rf"/publishers/(?:{names})/models/(?!count-tokens{colon}){model}{colon}(?:r|streamR)awPredict$")


def text_promise(name: Any, schema: Any, strict: Any) -> Iterator[Promise]:
    """Yield the schema that a request asks of the text, if there is one; enforced only where *strict* is true."""
    if isinstance(schema, dict):
        yield Promise("text", text(name), schema, enforced=strict is True)


def format_promise(wanted: Any) -> Iterator[Promise]:
    """Yield the schema of a `response_format` of type `json_schema`; enforced only where `strict` is true."""
    if mapping(wanted).get("type") == "json_schema":
        named = mapping(mapping(wanted).get("json_schema"))
        yield from text_promise(named.get("name"), named.get("schema"), named.get("strict"))


def tool_promise(name: Any, schema: Any, strict: Any) -> Iterator[Promise]:
    """Yield the schema of a tool's arguments, if it has a name and one; enforced only where *strict* is true."""
    if isinstance(schema, dict) and text(name):
        yield Promise(f"tool:{name}", name, schema, enforced=strict is True)


def function_promises(functions: list[dict[str, Any]]) -> Iterator[Promise]:
    """Yield the schemas of functions in OpenAI's shape: `name`, `parameters`, `strict`."""
    for function in functions:
        yield from tool_promise(function.get("name"), function.get("parameters"), function.get("strict"))
