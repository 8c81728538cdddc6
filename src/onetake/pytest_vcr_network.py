"""`block_network`: for a test that must not reach the network, whether it has a cassette or not.

Source: pytest-recording 0.14, by what it does; loopback is blocked too, unless it is allowed.
"""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_pairing = threading.local()
"""Whether this thread makes a pair of sockets, for which Windows connects to itself."""


@contextmanager
def blocked(allowed: Sequence[str]) -> Iterator[None]:
    """Block connections inside the block.

    Args:
        allowed: Regular expressions of hosts, from their beginning, that may be reached.
    """
    pattern = re.compile("|".join(f"(?:{one})" for one in allowed) or r"(?!)")
    before = socket.socket.connect, socket.socket.connect_ex, socket.socketpair
    socket.socket.connect = _guarded(before[0], pattern)  # type: ignore[method-assign]
    socket.socket.connect_ex = _guarded(before[1], pattern)  # type: ignore[method-assign]
    socket.socketpair = _pair(before[2])
    try:
        yield
    finally:
        socket.socket.connect, socket.socket.connect_ex = before[:2]  # type: ignore[method-assign]
        socket.socketpair = before[2]


def _guarded(connect: Callable[..., Any], allowed: re.Pattern[str]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any, *rest: Any) -> Any:
        host = address[0] if self.family in (socket.AF_INET, socket.AF_INET6) else address
        host = host.decode("utf-8", "replace") if isinstance(host, bytes | bytearray) else str(host)
        if getattr(_pairing, "active", False) or allowed.match(host):
            return connect(self, address, *rest)
        raise RuntimeError(f"Network is disabled for host {host!r}")

    return guarded


def _pair(socketpair: Callable[..., Any]) -> Callable[..., Any]:
    def pair(*args: Any, **kwargs: Any) -> Any:
        before, _pairing.active = getattr(_pairing, "active", False), True
        try:
            return socketpair(*args, **kwargs)
        finally:
            _pairing.active = before

    return pair
