"""The other ends of connections: names, addresses, and which name an address was looked up by."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from onetake.loopback import is_here

_ADDRESSES_KEPT = 4096
_names: dict[str, str] = {}
"""Address to the name that it was last looked up by."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a connection: `host` as it was given, `port` None where it is not known yet."""

    host: str
    port: int | None
    also: str = ""
    """Another name of it: what a TLS client calls it."""

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, in the form that patterns have."""
        canonical = canonical_host(self.host)
        found = (canonical, _names.get(canonical, ""), canonical_host(self.also) if self.also else "")
        return tuple(dict.fromkeys(name for name in found if name))

    def __str__(self) -> str:
        name = self.also or _names.get(self.host, "") or self.host
        return f"{name}:{self.port}" if self.port else name


def resolved(host: Any, addresses: Iterable[str]) -> None:
    """Note which addresses a name has.

    Args:
        host: The name as it was given to a socket: text or bytes; an address, or None, is not noted.
        addresses: Its addresses, of IPv6 without brackets.
    """
    name = canonical_host(text_of(host))
    if not name or is_address(name):
        return
    for address in addresses:
        if len(_names) >= _ADDRESSES_KEPT:
            with suppress(KeyError, RuntimeError, StopIteration):  # another thread does the same
                del _names[next(iter(_names))]
        _names[canonical_host(address)] = name


@lru_cache(1024)
def canonical_host(host: str) -> str:
    """Return a host as patterns have it: lower case, in ASCII, an address in its usual spelling."""
    host = host.strip("[]").partition("%")[0].rstrip(".").lower()
    if not host.isascii():
        with suppress(UnicodeError):
            host = host.encode("idna").decode()
    if ":" in host:
        with suppress(OSError, ValueError):
            host = socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, host))
        return host.removeprefix("::ffff:") if "." in host else host
    if host[-1:].isalnum() and host[:1].isdigit():
        with suppress(OSError, ValueError):  # also `127.1` and `0x7f.1`, which the system takes for addresses
            return socket.inet_ntoa(socket.inet_aton(host))
    return host


@lru_cache(1024)
def is_address(host: str) -> bool:
    """Tell whether a host is an address, so that nobody is asked for it."""
    host = canonical_host(host)
    return ":" in host or re.fullmatch(r"\d+(\.\d+){3}", host) is not None


@lru_cache(1024)
def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine; an unspecified address is where it connects to."""
    host = canonical_host(host)
    return host in ("", "::", "0.0.0.0") or is_here(host) or host.endswith(".localhost")


def text_of(host: Any) -> str:
    """Return a host as it was given to a socket, as text; empty for one that names no host."""
    if isinstance(host, bytes | bytearray):
        return bytes(host).decode("ascii", "replace")
    return host if isinstance(host, str) else ""
