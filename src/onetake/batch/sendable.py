"""What a client of HTTP refuses by errors of its own, which quote what is secret: told before it is given to it."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any
from urllib.request import getproxies

from onetake.errors import UsageError
from onetake.model import Headers

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(rb"(?:[^\x00-\x20\x7f]+(?:[ \t]+[^\x00-\x20\x7f]+)*)?")
"""Source: RFC 9110, sections 5.5 (field values) and 5.6.2 (token)."""
_SCHEMES = ("http", "https", "all")
"""What clients know proxies for; others have variables that look alike, `NO_PROXY` among them."""


class UnsendableError(ValueError):
    """A header cannot be sent; `args[0]` says which and why, and quotes no value."""


def raw(headers: Headers) -> list[tuple[bytes, bytes]]:
    """Return headers as they go over the wire: a value's bytes as whoever made it meant them, white space around off.

    Raises:
        UnsendableError: A name is none, or a value holds what no header may.
    """
    return [(_raw_name(name), _raw_value(name, value)) for name, value in headers]


def check_address(httpx: ModuleType, base_url: str) -> None:
    """See that requests may go to an endpoint, as far as its address tells.

    Raises:
        UsageError: The client does not take it: its host is no name by the rules of today, say.
    """
    try:
        known = httpx.URL(base_url).host
    except (httpx.InvalidURL, ValueError):
        known = ""
    if not known:
        raise UsageError(f"base_url: {base_url!r} is no address that can be asked: its host is none (IDNA 2008)")


def has_proxy(httpx: ModuleType, verify: Any) -> bool:
    """Tell whether the environment names a proxy, for whatever host.

    Args:
        httpx: The client.
        verify: The certificates that it trusts.

    Raises:
        UsageError: What it names is no proxy, or one that the client cannot speak to. It is not quoted: it may hold a
            password.
    """
    named = {scheme: said for scheme in _SCHEMES if (said := getproxies().get(scheme))}
    for scheme, said in named.items():
        _check_proxy(httpx, verify, f"{scheme.upper()}_PROXY", said if "://" in said else f"http://{said}")
    if not named:
        return False
    try:
        httpx.AsyncClient(verify=verify)
    except (httpx.InvalidURL, ValueError):
        raise UsageError("NO_PROXY names what is no host: name hosts, with commas between them") from None
    return True


def _check_proxy(httpx: ModuleType, verify: Any, variable: str, said: str) -> None:
    try:
        proxy = httpx.Proxy(said)
        port = proxy.url.port
        is_right = bool(proxy.url.host.encode("idna")) and (port is None or 0 < port < 1 << 16)
        httpx.AsyncHTTPTransport(proxy=proxy, verify=verify)
    except ImportError:
        raise UsageError(
            f"{variable} names a SOCKS proxy, which needs a package that is not installed: pip install socksio"
        ) from None
    except (httpx.InvalidURL, ValueError):
        is_right = False
    if not is_right:
        raise UsageError(f"{variable} names no proxy that can be asked, as http://host:port is one")


def _raw_name(name: str) -> bytes:
    made = name.encode("utf-8", "surrogatepass")
    if not _NAME.fullmatch(made):
        raise UnsendableError("the name of a header is none")
    return made


def _raw_value(name: str, value: str) -> bytes:
    try:
        made = value.encode("latin-1").strip(b" \t")
    except UnicodeEncodeError:
        raise UnsendableError(f"the header {name} holds a character that no header can hold") from None
    if not _VALUE.fullmatch(made):
        raise UnsendableError(f"the header {name} holds a line break, or another control character")
    return made
