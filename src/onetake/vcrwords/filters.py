"""vcrpy's filters: what its configuration takes out of a request, or puts in the place of it.

Each is a function that takes a request in vcrpy's shape and returns it changed, or None to leave it out.
Source: vcrpy 9.4, `vcr.filters`, by what it does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import unquote_plus, urlencode, urlunparse

from onetake.vcrwords.requests import VcrHeaders, VcrRequest

Filter = Callable[[VcrRequest], VcrRequest | None]

LOCAL_HOSTS = frozenset({"localhost", "0.0.0.0", "127.0.0.1", "::1"})
_BOUNDARY = re.compile(r'boundary="?([^";]+)"?', re.IGNORECASE)
_NAME = re.compile(rb';\s*name="([^"]*)"')


def headers(said: Iterable[Any]) -> Filter:
    """Return the filter of `filter_headers`."""
    rules = _pairs(said)

    def apply(request: VcrRequest) -> VcrRequest:
        now = request.headers.copy()
        for name, rule in rules.items():
            if name in now and (value := _replaced(rule, name, now.pop(name), request)) is not None:
                now[name] = value
        request.headers = now
        return request

    return apply


def query(said: Iterable[Any]) -> Filter:
    """Return the filter of `filter_query_parameters`."""
    rules = _pairs(said)

    def apply(request: VcrRequest) -> VcrRequest:
        pairs = [(name, _of(rules, name, value, request)) for name, value in request.query]
        kept = [(name, value) for name, value in pairs if value is not None]
        if kept != request.query:
            request.uri = urlunparse(request.parsed_uri._replace(query=urlencode(kept)))
        return request

    return apply


def post_data(said: Iterable[Any], *, nested: bool) -> Filter:
    """Return the filter of `filter_post_data_parameters`: members of a JSON object, or fields of a form.

    Args:
        said: Names, or names with what takes their values' place.
        nested: Whether members count at any depth.
    """
    rules = _pairs(said)

    def apply(request: VcrRequest) -> VcrRequest:
        if request.method == "POST" and request.body:
            request.body = _body(request, rules, nested=nested)
        return request

    return apply


def sensitive(said: Any) -> Filter:
    """Return the filter of `filter_sensitive_data`: each value gives way to its placeholder, wherever it stands.

    Raises:
        TypeError: A value is a function of the response, which nobody has yet when a request is compared.
    """
    pairs = [(str(placeholder), value) for placeholder, value in dict(said).items()]
    if any(map(callable, (value for _, value in pairs))):
        raise TypeError
    rules = [(placeholder, str(value)) for placeholder, value in pairs if value]

    def apply(request: VcrRequest) -> VcrRequest:
        for placeholder, value in rules:
            request.uri = request.uri.replace(value, placeholder)
            named = ((name, text.replace(value, placeholder)) for name, text in request.headers.items())
            request.headers = VcrHeaders(named)
            if isinstance(request.body, bytes):
                request.body = request.body.replace(value.encode(), placeholder.encode())
        return request

    return apply


def hosts(said: Iterable[Any], *, local: bool) -> Filter:
    """Return the filter of `ignore_hosts` and `ignore_localhost`, which leaves requests to these hosts out.

    Args:
        said: Names, or compiled patterns for whole names.
        local: Whether this machine's own names are among them.
    """
    given = [said] if isinstance(said, str | re.Pattern) else list(said)
    patterns = [host for host in given if isinstance(host, re.Pattern)]
    names = {host for host in given if isinstance(host, str)} | (LOCAL_HOSTS if local else frozenset())

    def apply(request: VcrRequest) -> VcrRequest | None:
        host = request.host or ""
        return None if host in names or any(pattern.fullmatch(host) for pattern in patterns) else request

    return apply


def _pairs(said: Iterable[Any]) -> dict[str, Any]:
    listed = [said] if isinstance(said, str) else said
    return dict(one if isinstance(one, tuple) else (one, None) for one in listed)


def _replaced(rule: Any, name: str, value: Any, request: VcrRequest) -> Any:
    """Return what takes a value's place, None where it goes."""
    return rule(key=name, value=value, request=request) if callable(rule) else rule


def _of(rules: Mapping[str, Any], name: str, value: Any, request: VcrRequest) -> Any:
    return _replaced(rules[name], name, value, request) if name in rules else value


def _body(request: VcrRequest, rules: Mapping[str, Any], *, nested: bool) -> bytes:
    body = bytes(request.body)
    kind = request.headers.get("content-type", "").lower()
    if kind.partition(";")[0].strip() == "application/json":
        try:
            read = json.loads(body)
        except ValueError:
            return body
        now = _members(read, rules, request, nested=nested)
        return body if now == read else json.dumps(now).encode()
    if kind.startswith("multipart/form-data"):
        found = _BOUNDARY.search(request.headers["content-type"])
        return _parts(body, found[1].encode(), rules, request) if found else body
    return _fields(body, rules, request)


def _members(value: Any, rules: Mapping[str, Any], request: VcrRequest, *, nested: bool, top: bool = True) -> Any:
    if isinstance(value, dict) and (top or nested):
        left = {name: _of(rules, name, one, request) for name, one in value.items()}
        return {
            name: one if name in rules else _members(one, rules, request, nested=nested, top=False)
            for name, one in left.items()
            if one is not None or name not in rules
        }
    if isinstance(value, list) and nested:
        return [_members(one, rules, request, nested=nested, top=False) for one in value]
    return value


def _fields(body: bytes, rules: Mapping[str, Any], request: VcrRequest) -> bytes:
    kept = []
    for field in body.split(b"&"):
        name, equals, value = field.partition(b"=")
        try:
            known = unquote_plus(name.decode()) if equals else ""
            now = _of(rules, known, value.decode(), request) if known in rules else field
        except UnicodeDecodeError:
            return body  # no form
        if now is not None:
            kept.append(now if isinstance(now, bytes) else name + equals + now.encode())
    return b"&".join(kept)


def _parts(body: bytes, boundary: bytes, rules: Mapping[str, Any], request: VcrRequest) -> bytes:
    kept = []
    for part in body.split(b"--" + boundary):
        head, blank, content = part.partition(b"\r\n\r\n")
        found = _NAME.search(head)
        name = found[1].decode("utf-8", "replace") if found and blank else ""
        if name not in rules:
            kept.append(part)
        elif (now := _replaced(rules[name], name, content.removesuffix(b"\r\n").decode(), request)) is not None:
            kept.append(head + blank + str(now).encode() + b"\r\n")
    return (b"--" + boundary).join(kept)
