"""A scripted provider on loopback: real HTTP, real bodies, no model, every fault on demand.

Unscripted, it speaks OpenAI chat completions, responses, legacy completions and embeddings, Anthropic messages, Amazon
Bedrock, Gemini, Ollama and Cohere.
Base URLs: `provider.url + "/v1"` for the openai SDK, `provider.url` for the anthropic SDK.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import BinaryIO, Self

from onetake.testing.provider_anthropic import anthropic_error, anthropic_message, anthropic_stream
from onetake.testing.provider_bedrock import (
    bedrock_converse,
    bedrock_converse_stream,
    bedrock_error,
    bedrock_exception,
    bedrock_frame,
    bedrock_invoke,
    bedrock_invoke_stream,
)
from onetake.testing.provider_cohere import (
    cohere_error,
    cohere_message,
    cohere_stream,
    cohere_v1_message,
    cohere_v1_stream,
)
from onetake.testing.provider_echo import echo
from onetake.testing.provider_gemini import gemini_blocked, gemini_content, gemini_error, gemini_stream
from onetake.testing.provider_http import Received, Reply, receive, send
from onetake.testing.provider_ollama import ollama_error, ollama_message, ollama_stream
from onetake.testing.provider_openai import openai_chat, openai_embeddings, openai_error, openai_stream
from onetake.testing.provider_openai_more import (
    openai_batch,
    openai_completion,
    openai_completion_stream,
    openai_file,
    openai_image_stream,
    openai_images,
    openai_moderation,
    openai_speech,
    openai_speech_stream,
    openai_transcription,
    openai_transcription_stream,
)
from onetake.testing.provider_openai_responses import openai_response, openai_response_stream
from onetake.testing.provider_said import bytes_reply, json_reply, stream_reply, text_reply
from onetake.testing.provider_vectors import (
    cohere_embeddings,
    cohere_rerank,
    gemini_embeddings,
    ollama_embeddings,
    vertex_embeddings,
)

__all__ = [
    "Provider",
    "Received",
    "Reply",
    "anthropic_error",
    "anthropic_message",
    "anthropic_stream",
    "bedrock_converse",
    "bedrock_converse_stream",
    "bedrock_error",
    "bedrock_exception",
    "bedrock_frame",
    "bedrock_invoke",
    "bedrock_invoke_stream",
    "bytes_reply",
    "cohere_embeddings",
    "cohere_error",
    "cohere_message",
    "cohere_rerank",
    "cohere_stream",
    "cohere_v1_message",
    "cohere_v1_stream",
    "echo",
    "gemini_blocked",
    "gemini_content",
    "gemini_embeddings",
    "gemini_error",
    "gemini_stream",
    "json_reply",
    "ollama_embeddings",
    "ollama_error",
    "ollama_message",
    "ollama_stream",
    "openai_batch",
    "openai_chat",
    "openai_completion",
    "openai_completion_stream",
    "openai_embeddings",
    "openai_error",
    "openai_file",
    "openai_image_stream",
    "openai_images",
    "openai_moderation",
    "openai_response",
    "openai_response_stream",
    "openai_speech",
    "openai_speech_stream",
    "openai_stream",
    "openai_transcription",
    "openai_transcription_stream",
    "stream_reply",
    "text_reply",
    "vertex_embeddings",
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
