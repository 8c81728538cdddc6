"""The parts of the request key outside the body: origin, path, query and the headers that change answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote_to_bytes

from onetake.errors import UsageError
from onetake.key.canonical import dumps
from onetake.key.credentials import credential_names
from onetake.model import Headers

KEY_HEADERS = (
    "anthropic-beta",
    "anthropic-version",
    "azureml-model-deployment",
    "cohere-version",
    "extra-parameters",
    "groq-model-version",
    "openai-beta",
    "prefer",
    "range",
    "x-amz-target",
    "x-amzn-bedrock-accept",
    "x-amzn-bedrock-guardrail*",
    "x-amzn-bedrock-performanceconfig-latency",
    "x-amzn-bedrock-service-tier",
    "x-amzn-bedrock-trace",
    "x-amzn-sagemaker-inference-component",
    "x-amzn-sagemaker-target*",
    "x-github-api-version",
    "x-http-method-override",
    "x-ms-oai-image-generation-deployment",
    "x-policy-id",
)
"""The headers that count in every key, because they choose the operation, the model, its rules or the answer's form."""

# fmt: off
_SECRET_HEADERS = frozenset(
    (
        "api-key", "authorization", "cookie", "ocp-apim-subscription-key", "proxy-authorization", "set-cookie",
        "x-amz-security-token", "x-api-key", "x-goog-api-key",
    )
)
# fmt: on
_DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443"}
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://(\[[0-9a-f:.]+\]|[^/?#@:\[\]\s*]+)(?::([0-9]+|\*))?")
_BODY_HEADERS = frozenset(("content-encoding", "content-type"))
_AUTHORITY = re.compile("[^/?]*")
_HEADER_NAME = re.compile(r"[a-z0-9!#$%&'+.^_`|~-]+\*?")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL, taken apart for the key."""

    scheme: str
    host: str
    """Lower case, without user and password; empty where the URL has no `//`."""
    port: str
    """Empty for the default one."""
    path: str
    """As sent; `/` where it is empty."""
    query: tuple[tuple[str, ...], ...]
    """(name, value), or (name,) where there is no `=`; decoded, sorted, without credentials."""

    @property
    def origin(self) -> str:
        """`https://host`, `http://host:8080`; `function:` for a decorated function."""
        if not self.host:
            return f"{self.scheme}:"
        return f"{self.scheme}://{self.host}" + (f":{self.port}" if self.port else "")


def split(url: str) -> Target:
    """Take a URL apart. Total: any text gives a target."""
    scheme, _, rest = url.partition("#")[0].partition(":")
    scheme = scheme.lower()
    if not rest.startswith("//"):
        return Target(scheme, "", "", rest, ())
    authority = _AUTHORITY.match(rest, 2)[0]  # type: ignore[index]  # it matches the empty text too
    host, port = _host_and_port(scheme, authority.rpartition("@")[2].lower())
    path, _, query = rest[2 + len(authority) :].partition("?")
    found = pairs(query.encode("utf-8", "surrogatepass"))
    left_out = credential_names(f"//{host}{path}", found)
    counted = tuple(sorted(pair for pair in found if pair[0].lower() not in left_out))
    return Target(scheme, host, port, path or "/", counted)


def pairs(data: bytes) -> list[tuple[str, ...]]:
    """Split and decode a query or a form body: (name, value), or (name,) where there is no `=`.

    `+` is a space; empty pieces are left out; bytes that are no UTF-8 become surrogate escapes, so nothing is lost.
    """
    return [tuple(_decoded(part) for part in piece.split(b"=", 1)) for piece in data.split(b"&") if piece]


class HeaderRule:
    """Which headers count: the built-in ones and those of `key.headers`; a trailing `*` stands for any rest.

    Raises:
        UsageError: A name is no header name, or it is a header that carries credentials.
    """

    def __init__(self, names: Iterable[str]) -> None:
        wanted = [*KEY_HEADERS, *(_checked_header(name) for name in names)]
        exact = frozenset(name for name in wanted if not name.endswith("*"))
        starts = tuple(name[:-1] for name in wanted if name.endswith("*"))

        def told(name: str) -> str:
            lower = name.lower()
            return lower if lower in exact or lower in _BODY_HEADERS or lower.startswith(starts) else ""

        self._told = lru_cache(maxsize=1024)(told)
        self.read = lru_cache(maxsize=256)(self._read)

    def _read(self, headers: Headers) -> tuple[str, str, str]:
        """Read the headers; as `read`, which remembers: one client sends the same ones again and again.

        Returns:
            The first content-type, all content-encodings joined by comma, and the headers that count as canonical
            JSON: names in lower case, values without white space around them, pairs sorted.
        """
        told = self._told
        found = [(lower, value.strip()) for name, value in headers if (lower := told(name))]
        content_type = next((value for name, value in found if name == "content-type"), "")
        encoding = ",".join([value for name, value in found if name == "content-encoding"])
        counted = sorted(pair for pair in found if pair[0] not in _BODY_HEADERS)
        return content_type, encoding, dumps(counted) if counted else "[]"


class OriginRule:
    """The words that stand for origins (`key.origins`); an exact port goes before `*`.

    Raises:
        UsageError: An origin is not `scheme://host`, `scheme://host:port` or `scheme://host:*`, or its word is empty.
    """

    def __init__(self, words: Mapping[str, str]) -> None:
        self._words = {_checked_origin(text): word for text, word in words.items()}
        for text, word in words.items():
            if not word:
                raise UsageError(f"key.origins: the word for {text!r} is empty; name what those requests share")

    def word(self, target: Target) -> str:
        """Return the word for a target's origin, or the origin itself."""
        exact = self._words.get((target.scheme, target.host, target.port))
        return exact or self._words.get((target.scheme, target.host, "*")) or target.origin


@lru_cache(maxsize=1024)
def url_text(url: str, rule: OriginRule) -> str:
    """Write the members of the keyed request that come from the URL, as canonical JSON without braces."""
    target = split(url)
    return f'"origin":{dumps(rule.word(target))},"path":{dumps(target.path)},"query":{dumps(target.query)}'


def _decoded(data: bytes) -> str:
    return unquote_to_bytes(data.replace(b"+", b" ")).decode("utf-8", "surrogateescape")


def _host_and_port(scheme: str, authority: str) -> tuple[str, str]:
    host, mark, port = authority.rpartition(":")
    if not mark or "]" in port:
        host, port = authority, ""
    port = port.lstrip("0")
    return host, "" if port == _DEFAULT_PORTS.get(scheme) else port


def _checked_header(name: str) -> str:
    lower = name.lower()
    if not _HEADER_NAME.fullmatch(lower):
        raise UsageError(f"key.headers: {name!r} is no header name; one trailing * is allowed")
    start = lower.removesuffix("*")
    if any(secret.startswith(start) if lower.endswith("*") else secret == lower for secret in _SECRET_HEADERS):
        raise UsageError(f"key.headers: {name!r} carries credentials, which never reach an entry or a key")
    return lower


def _checked_origin(text: str) -> tuple[str, str, str]:
    found = _ORIGIN.fullmatch(text.lower())
    if not found:
        raise UsageError(
            f"key.origins: {text!r} is no origin; write scheme://host, scheme://host:port or scheme://host:*"
        )
    scheme, host, port = found.groups(default="")
    return scheme, host, "" if port == _DEFAULT_PORTS.get(scheme) else port
