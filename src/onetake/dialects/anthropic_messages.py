"""Anthropic messages, at Anthropic, on Vertex and behind gateways that pass them on.

How a message is put together and read is in `anthropic_blocks`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading
from onetake.dialects.answered import is_kind, stream_error
from onetake.dialects.anthropic_blocks import LENGTH_FINISH, REFUSAL_FINISH, assembled, promises, reading
from onetake.dialects.asked import path_model, vertex_path
from onetake.events import Event, events, framing
from onetake.model import Choice, Request, Response
from onetake.picking import document, text

_VERTEX = vertex_path("anthropic")


class AnthropicMessages:
    """The dialect of `POST …/v1/messages`, and of `…:rawPredict` and `…:streamRawPredict` on Vertex."""

    name = "anthropic-messages"
    version = 1
    operation = "messages"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in `/v1/messages`, on any host, under any prefix; not its batches or counts.

        Also whether it is one of an Anthropic model on Vertex.
        """
        path = urlsplit(url).path
        return method == "POST" and (path.rstrip("/").endswith("/v1/messages") or _VERTEX.search(path) is not None)

    def model_asked(self, request: Request) -> str | None:
        """Return the model in the path (Vertex), else the `model` of the body."""
        return path_model(request.url, _VERTEX) or text(document(request.body).get("model")) or None

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is `message_stop`, by its name or its type."""
        return is_kind(event, "message_stop")

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a message, or put the message together from the events of a stream.

        `input_tokens` is the provider's own count: tokens written to or read from the prompt cache come on top.
        """
        if not framing(response.headers, response.body):
            return reading(document(response.body))
        streamed = events(response)
        message = assembled(document(event.data) for event in streamed)
        return reading(message, stream_error(streamed), terminal=any(map(self.is_terminal, streamed)))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the output format's schema, which is always enforced, and the tools', where `strict` is true."""
        return tuple(promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the answer."""
        return choice.finish in LENGTH_FINISH

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether a classifier stopped the answer."""
        return bool(choice.refusal) or choice.finish in REFUSAL_FINISH


DIALECT = AnthropicMessages()
