"""A request and a response in the shapes that functions written for vcrpy take and give.

Source: vcrpy 9.4, `vcr.request.Request` and the response mapping of its cassettes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import ParseResult, urlparse

from onetake.by_url import compared
from onetake.model import Headers, Request, Response

_NOT_KEPT = (
    ": the entry holds no such header; `headers` in the settings' `key` keeps one that was sent,"
    " once it is recorded or imported anew"
)


class VcrHeaders(MutableMapping[str, str]):
    """Headers by name, in any case; one value a name, as vcrpy has them.

    Args:
        pairs: In wire order; of a repeated name the first value counts.
        missing: What the error says of a header that is not there, behind its name.
    """

    def __init__(self, pairs: Iterable[tuple[str, Any]] = (), missing: str = "") -> None:
        self._pairs: dict[str, tuple[str, str]] = {}
        self._missing = missing
        for name, value in pairs:
            if name.lower() not in self._pairs:
                self[name] = value

    def __getitem__(self, name: str) -> str:
        if (found := self._pairs.get(name.lower())) is None:
            raise KeyError(name + self._missing)
        return found[1]

    def __setitem__(self, name: str, value: Any) -> None:
        one = value[0] if isinstance(value, list | tuple) else value
        old = self._pairs.get(name.lower())
        self._pairs[name.lower()] = (old[0] if old else name, one)

    def __delitem__(self, name: str) -> None:
        del self._pairs[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._pairs.values())

    def __len__(self) -> int:
        return len(self._pairs)

    def __repr__(self) -> str:
        return repr(dict(self))

    def copy(self) -> VcrHeaders:
        """Return headers of their own."""
        return VcrHeaders(self.items(), self._missing)


class VcrRequest:
    """A request as functions written for vcrpy see it; they may change it in place.

    Args:
        method: Upper case.
        uri: Absolute.
        body: Bytes or text; None for none.
        headers: By name.
    """

    def __init__(self, method: str, uri: str, body: Any, headers: Mapping[str, Any]) -> None:
        self.method = method
        self.uri = uri
        self.body = body
        self.headers = headers

    @property
    def uri(self) -> str:
        """The whole URL."""
        return self._uri

    @uri.setter
    def uri(self, uri: str) -> None:
        self._uri = uri
        self.parsed_uri: ParseResult = urlparse(uri)

    url = uri

    @property
    def body(self) -> Any:
        """The body: bytes, or what a function put there."""
        return self._body

    @body.setter
    def body(self, body: Any) -> None:
        self._body = body.encode() if isinstance(body, str) else body

    @property
    def headers(self) -> VcrHeaders:
        """The headers."""
        return self._headers

    @headers.setter
    def headers(self, headers: Mapping[str, Any]) -> None:
        self._headers = headers if isinstance(headers, VcrHeaders) else VcrHeaders(headers.items())

    @property
    def scheme(self) -> str:
        """`http` or `https`."""
        return self.parsed_uri.scheme

    protocol = scheme

    @property
    def host(self) -> str | None:
        """The host, without its port."""
        return self.parsed_uri.hostname

    @property
    def port(self) -> int | None:
        """The port, that of the scheme where none is said."""
        port: int | None = compared(self.uri)["port"]
        return port

    @property
    def path(self) -> str:
        """The path."""
        return self.parsed_uri.path

    @property
    def query(self) -> list[tuple[str, str]]:
        """Names and values of the query, sorted; without those that have no value."""
        return [*compared(self.uri)["query"]]

    def __repr__(self) -> str:
        return f"<Request ({self.method}) {self.uri}>"


def as_vcr(request: Request) -> VcrRequest:
    """Return a request in vcrpy's shape, which shares nothing with it."""
    return VcrRequest(request.method, request.url, request.body, VcrHeaders(request.headers))


def stored_as_vcr(request: Request) -> VcrRequest:
    """Return an entry's request in vcrpy's shape; of a header that is not there it says which setting keeps it."""
    return VcrRequest(request.method, request.url, request.body, VcrHeaders(request.headers, _NOT_KEPT))


def from_vcr(changed: VcrRequest, request: Request) -> Request:
    """Return what a function made of a request.

    Args:
        changed: What the function returned.
        request: What it was given; what did not change stays as it was, to the byte.
    """
    body = changed.body
    body = b"" if body is None else body if isinstance(body, bytes) else _bytes_of(body)
    before = VcrHeaders(request.headers)
    headers = request.headers if dict(before) == dict(changed.headers) else _changed(request.headers, changed.headers)
    return replace(request, method=changed.method, url=changed.uri, headers=headers, body=body)


def response_as_vcr(response: Response) -> dict[str, Any]:
    """Return a response as vcrpy's functions take it: decoded, its headers each with a list of values."""
    headers: dict[str, list[str]] = {}
    for name, value in response.headers:
        if not (response.decoded and name.lower() == "content-encoding"):
            headers.setdefault(name, []).append(value)
    try:
        message = HTTPStatus(response.status).phrase
    except ValueError:
        message = ""
    status = {"code": response.status, "message": message}
    return {"status": status, "headers": headers, "body": {"string": response.body}}


def response_from_vcr(changed: Mapping[str, Any], response: Response) -> Response:
    """Return what a function made of a response.

    Args:
        changed: What the function returned.
        response: What it was given; what did not change stays as it was.
    """
    before = response_as_vcr(response)
    headers = response.headers
    if dict(changed["headers"]) != before["headers"]:
        headers = tuple((name, each) for name, value in changed["headers"].items() for each in _listed(value))
    body = (changed.get("body") or {}).get("string") or b""
    status = int(changed["status"]["code"])
    return replace(response, status=status, headers=headers, body=_bytes_of(body))


def _changed(before: Headers, now: VcrHeaders) -> Headers:
    kept = tuple((name, now[name]) for name, _ in before if name in now)
    known = {name.lower() for name, _ in before}
    return kept + tuple((name, value) for name, value in now.items() if name.lower() not in known)


def _listed(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list | tuple) else [str(value)]


def _bytes_of(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)
