"""What the scenarios of sealed sessions share: who listens, and how an adapter loses its hold on its client."""

from __future__ import annotations

import contextlib
import importlib
import socket
from functools import reduce

import pytest

_PLACES = {
    "httpx": ("HTTPTransport.handle_request", "AsyncHTTPTransport.handle_async_request"),
    "httpx2": ("HTTPTransport.handle_request", "AsyncHTTPTransport.handle_async_request"),
    "aiohttp": ("ClientSession._request",),
    "urllib3": ("HTTPConnectionPool.urlopen",),
    "http.client": (
        *("HTTPConnection.putrequest", "HTTPConnection.endheaders", "HTTPConnection.send", "HTTPConnection.connect"),
        *("HTTPConnection.getresponse", "HTTPConnection.close", "HTTPSConnection.connect"),
    ),
    "lm15.transports": ("StdlibTransport.stream", "StdlibAsyncTransport._do_stream"),
}
"""Where each adapter hooks its client's module."""


class Origin:
    """Listens, and says afterwards what reached it: the system takes connections and bytes in at once."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.place = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.place}/v1/chat/completions"
        self._accepted = []

    @property
    def connections(self):
        """How many connections were made to it."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._accepted.append(self.listener.accept()[0])
        return len(self._accepted)

    @property
    def received(self):
        """Every byte that came over them."""
        got = b""
        for connection in self._accepted[: self.connections]:
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionResetError):
                got += connection.recv(65536)
        return got

    def close(self):
        for sock in (self.listener, *self._accepted):
            sock.close()


@pytest.fixture
def origin():
    made = Origin()
    yield made
    made.close()


def _is_ours(function):
    return function.__globals__["__name__"].startswith("onetake.")


@pytest.fixture
def unhook(monkeypatch):
    """Return what gives a client its own methods back, as a tool does that puts back what it found.

    It counts inside a session only: the next one that is opened hooks the client anew.
    """

    def give_back(module):
        for place in _PLACES[module]:
            *owners, name = place.split(".")
            owner = reduce(getattr, owners, importlib.import_module(module))
            hook = vars(owner)[name]
            assert _is_ours(hook) and not _is_ours(hook.__wrapped__), place
            monkeypatch.setattr(owner, name, hook.__wrapped__)

    return give_back
