"""Secrets outside the body: the URL, the headers, and what they tell of values to look for everywhere else."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote, unquote_plus

from onetake.key.credentials import credential_names
from onetake.model import Headers, Request
from onetake.scrub.finder import PLACEHOLDER
from onetake.scrub.shapes import (
    CREDENTIAL_HEADERS,
    QUERY_NAMES,
    SCHEME,
    STAND_INS,
    is_credential_header,
    is_secret_name,
)

_SHORTEST_VALUE = 8
_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#@\s]*)@")
_MAY_HOLD = re.compile("[@?#]")
_SIGNED = re.compile(r"(?:Credential|Signature)=([^/,\s]+)")
_COOKIE = re.compile(r"=\"?([^;,\s\"]+)")


def known_values(request: Request) -> list[str]:
    """Return the credentials that a request carries, to be found by value in its body and in the answer.

    At least 8 characters, none of the usual stand-ins for no key at all.
    """
    found: list[str] = []
    for name, value in request.headers:
        if is_credential_header(name):
            sure = name.lower() in CREDENTIAL_HEADERS
            found += (one for one in _header_values(name.lower(), value) if sure or _is_no_word(one))
    _, removed = without_credentials(request.url)
    found += (value for _, value in removed)
    return [value for value in dict.fromkeys(found) if _counts(value)]


def cookie_values(headers: Headers) -> list[str]:
    """Return the values of the cookies that a response sets, to be found in its body."""
    cookies = (value.partition(";")[0].partition("=")[2] for name, value in headers if name.lower() == "set-cookie")
    return [value for value in cookies if _counts(value)]


def without_credentials(url: str) -> tuple[str, list[tuple[str, str]]]:
    """Take user, password and every credential of the query (and of the fragment) out of a URL.

    Returns:
        The URL, spelled as it was but for them, and what was removed: (name, decoded value); user and password are
        called `userinfo`.
    """
    removed: list[tuple[str, str]] = []
    if not _MAY_HOLD.search(url):
        return url, removed
    user = _USER.match(url)
    if user:
        removed.append(("userinfo", unquote(user[2].rpartition(":")[2])))
        url = user[1] + url[user.end() :]
    rest, hash_mark, fragment = url.partition("#")
    path, mark, query = rest.partition("?")
    query_left, fragment_left = _left(path, query, removed), _left(path, fragment, removed)
    if (query_left, fragment_left) == (query, fragment):
        return url, removed
    kept = path + (mark + query_left if query_left else "")
    return kept + (hash_mark + fragment_left if fragment_left else ""), removed


class HeaderList:
    """A list of headers that are kept; a trailing `*` stands for any rest."""

    def __init__(self, names: Iterable[str]) -> None:
        lower = [name.lower() for name in names]
        self._exact = frozenset(lower)
        self._starts = tuple(name[:-1] for name in lower if name.endswith("*"))

    def keeps(self, name: str) -> bool:
        """Tell whether a header of this name (in any case) is kept; one that carries credentials never is."""
        low = name.lower()
        return low not in CREDENTIAL_HEADERS and (low in self._exact or low.startswith(self._starts))


def _left(place: str, query: str, removed: list[tuple[str, str]]) -> str:
    pieces = query.split("&")
    pairs = [(unquote_plus(name).lower(), unquote(value)) for name, _, value in (one.partition("=") for one in pieces)]
    gone = credential_names(place, pairs) | {name for name, _ in pairs if name in QUERY_NAMES or is_secret_name(name)}
    removed += (pair for pair in pairs if pair[0] in gone)
    return "&".join(piece for (name, _), piece in zip(pairs, pieces, strict=True) if name not in gone)


def _header_values(name: str, value: str) -> Iterator[str]:
    if name == "cookie":
        yield from _COOKIE.findall(value)
        return
    if value.startswith("AWS4-"):
        yield from _SIGNED.findall(value)
        return
    scheme = SCHEME.match(value)
    secret = value[scheme.end() :] if scheme else value
    yield secret.strip()
    if scheme and scheme[0].lower().startswith("basic"):
        try:
            yield base64.b64decode(secret, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            return


def _counts(value: str) -> bool:
    return len(value) >= _SHORTEST_VALUE and value not in STAND_INS and not PLACEHOLDER.fullmatch(value)


def _is_no_word(value: str) -> bool:
    return len(value) >= 16 or any(char.isdigit() for char in value)
