"""OpenAI chat completions, and all who speak them: Azure, Groq, Mistral, OpenRouter, xAI, DeepSeek, Ollama, vLLM, ….

How a completion is put together and read is in `chat_choices`.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from onetake.dialects import Promise, Reading, chat_choices
from onetake.dialects.answered import stream_error
from onetake.dialects.asked import model_asked, path_model, vertex_path
from onetake.dialects.openai_family import is_length, is_refusal
from onetake.events import Event, events, framing
from onetake.model import Choice, Request, Response
from onetake.picking import document

# The last two are Mistral's: agents, and fill in the middle.
_PATH = re.compile("(?:.*/)?(?:chat|agents|fim)/completions/?")
_VERTEX = vertex_path("mistralai", "ai21")


class OpenAIChat:
    """The dialect of `POST …/chat/completions`, and of the models on Vertex that answer as it does."""

    name = "openai-chat"
    version = 1
    operation = "chat"

    def speaks(self, method: str, url: str) -> bool:
        """Tell whether the path ends in `/chat/completions`, on any host, under any prefix (Azure's deployments).

        Also whether it is one of a Mistral or AI21 model on Vertex.
        """
        path = urlsplit(url).path
        return method == "POST" and (_PATH.fullmatch(path) is not None or _VERTEX.search(path) is not None)

    def model_asked(self, request: Request) -> str | None:
        """Return the model in the path (Vertex), the `model` of the body, else the deployment in the path (Azure)."""
        return path_model(request.url, _VERTEX) or model_asked(request)

    def is_terminal(self, event: Event) -> bool:
        """Tell whether an event is `[DONE]`.

        A chunk with a `finish_reason` is not the end: the chunk with the usage, and other choices, come after it. So
        the stream of a server that never sends `[DONE]` counts as cut.
        """
        return event.data.startswith("[DONE]")

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer out of a completion, or put it together from the chunks of a stream."""
        if not framing(response.headers, response.body):
            return chat_choices.whole(document(response.body))
        streamed = events(response)
        chunks = [document(event.data) for event in streamed]
        return chat_choices.streamed(chunks, stream_error(streamed), terminal=any(map(self.is_terminal, streamed)))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return `response_format`'s schema and those of the functions; enforced only where `strict` is true."""
        return tuple(chat_choices.promises(document(request.body)))

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a token limit cut the choice."""
        return is_length(choice)

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether the model refused, or a filter stopped it."""
        return is_refusal(choice)


DIALECT = OpenAIChat()
