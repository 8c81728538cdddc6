"""A scripted provider on loopback: real HTTP, real bodies, no model, every fault on demand.

It speaks OpenAI chat completions and embeddings and Anthropic messages. Base URLs: `provider.url + "/v1"` for the
openai SDK, `provider.url` for the anthropic SDK.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import BinaryIO, Self

from onetake.testing.provider_anthropic import anthropic_error, anthropic_message, anthropic_stream
from onetake.testing.provider_echo import echo
from onetake.testing.provider_http import Received, Reply, receive, send
from onetake.testing.provider_openai import openai_chat, openai_embeddings, openai_error, openai_stream
from onetake.testing.provider_said import bytes_reply, json_reply, stream_reply, text_reply

__all__ = [
    "Provider",
    "Received",
    "Reply",
    "anthropic_error",
    "anthropic_message",
    "anthropic_stream",
    "bytes_reply",
    "echo",
    "json_reply",
    "openai_chat",
    "openai_embeddings",
    "openai_error",
    "openai_stream",
    "stream_reply",
    "text_reply",
]

Answering = Callable[[Received], Reply | None]


class Provider:
    """A provider that listens on a free port of 127.0.0.1 from its making to `close`, or for a `with` block.

    It answers every request with `echo` until it is given a script. Each connection has a daemon thread of its own.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._listener.settimeout(0.2)  # so that it sees `close` where that does not wake `accept`
        self._requests: list[Received] = []
        self._arrival = threading.Condition()
        self._answer: Answering = echo
        self._connections: set[socket.socket] = set()
        self._closed = threading.Event()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        """Scheme, host and port, without a path."""
        threading.Thread(target=self._accept, name=f"provider {self.url}", daemon=True).start()

    @property
    def requests(self) -> list[Received]:
        """What arrived so far, whole requests only, in order of arrival."""
        with self._arrival:
            return list(self._requests)

    @property
    def count(self) -> int:
        """How many whole requests arrived so far."""
        return len(self._requests)

    def script(self, replies: Iterable[Reply] | Answering) -> None:
        """Say what the coming requests get.

        Args:
            replies: One reply for each request in order of arrival, `echo` once they are used up; or a function of the
                request, which may return None for `echo`. The function runs in the connection's thread.
        """
        if callable(replies):
            self._answer = replies
        else:
            # By number, so that concurrent requests keep their order of arrival.
            ready = dict(enumerate(replies, self.count + 1))
            self._answer = lambda request: ready.get(request.number)

    def wait_for(self, count: int, timeout: float = 10.0) -> None:
        """Wait until *count* requests have arrived.

        Args:
            count: 0 or more, counted from the provider's making.
            timeout: Seconds, 0 or more.

        Raises:
            TimeoutError: Fewer had arrived when the time was up.
        """
        with self._arrival:
            if not self._arrival.wait_for(lambda: self.count >= count, timeout):
                raise TimeoutError(f"{self.count} of {count} requests arrived in {timeout} s")

    def close(self) -> None:
        """Stop listening, end every wait of a reply and cut every connection; a second call does nothing."""
        if self._closed.is_set():
            return
        self._closed.set()
        for open_socket in (self._listener, *list(self._connections)):
            with contextlib.suppress(OSError):  # the other side may have closed it already
                open_socket.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self._connections.add(connection)
            if self._closed.is_set():  # `close` may have listed the connections before this one
                connection.close()
                return
            threading.Thread(target=self._serve, args=(connection,), name="provider connection", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with connection, connection.makefile("rb") as stream:
                while self._exchange(connection, stream):
                    pass
        finally:
            self._connections.discard(connection)

    def _exchange(self, connection: socket.socket, stream: BinaryIO) -> bool:
        try:
            received = receive(stream, connection.sendall)
        except (OSError, ValueError):  # a client that leaves, or sends what is no HTTP, ends its connection
            return False
        if received is None:
            return False
        with self._arrival:
            request = replace(received, number=len(self._requests) + 1)
            self._requests.append(request)
            self._arrival.notify_all()
        reply = self._answer(request) or echo(request)
        try:
            return send(connection, reply, request.method, self._closed)
        except OSError:
            return False
