"""Provider APIs: where the answer, usage, finish and terminal event are. One file per API.

A dialect reads; it never changes a request or a response, and it has no part in the key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from onetake.events import Event
from onetake.model import Answer, Choice, Request, Response


@dataclass(frozen=True, slots=True)
class Reading:
    """What a dialect finds in a response.

    `answer` is None where the body holds none of this API; one without choices holds no text: vectors, sound, a file.
    `error` is the text of an error object under 2xx or of an error event; `terminal` is False for a stream that has
    not reached its terminal event (True for a body that is no stream, and for a stream of another API at this path).
    """

    answer: Answer | None = None
    error: str | None = None
    terminal: bool = True
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    fingerprint: str | None = None
    """What the provider calls the build that served; only people compare it."""


@dataclass(frozen=True, slots=True)
class Promise:
    """A JSON Schema that the request itself carried and that the provider promises to keep.

    `on` is `text` or `tool:NAME`; `name` is the request's own name for the schema. `enforced` is False where the
    provider promises nothing (a schema without `strict`): then it is only noted, never judged.
    """

    on: str
    name: str
    schema: Mapping[str, Any]
    enforced: bool


class Dialect(Protocol):
    """One provider API's shape."""

    name: str
    """`openai-chat`: stored in entries as `name/version`."""
    version: int
    """Moves when `read` derives another answer from the same bytes."""
    operation: str
    """One word for file names and reports: `chat`, `messages`."""

    def speaks(self, method: str, url: str) -> bool:
        """Tell from method and URL (path, never the host alone) whether a request is of this API."""
        ...

    def model_asked(self, request: Request) -> str | None:
        """Return the model that the request names."""
        ...

    def is_terminal(self, event: Event) -> bool:
        """Tell whether a stream is complete once this event has passed, as far as the event itself says."""
        ...

    def read(self, request: Request, response: Response) -> Reading:
        """Take the answer and its facts out of a response; never raises on odd bytes, an empty reading instead."""
        ...

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return the schemas that the request carried."""
        ...

    def is_length(self, choice: Choice) -> bool:
        """Tell whether a choice was cut by a token limit."""
        ...

    def is_refusal(self, choice: Choice) -> bool:
        """Tell whether the model or a filter refused."""
        ...


_BUILT_IN = (
    "openai_chat",
    "openai_responses",
    "openai_completions",
    "openai_embeddings",
    "openai_images",
    "openai_speech",
    "openai_transcriptions",
    "openai_moderations",
    "openai_files",
    "openai_batches",
    "anthropic_messages",
    "bedrock_converse",
    "bedrock_invoke",
    "gemini",
    "gemini_embeddings",
    "gemini_images",
    "ollama",
    "ollama_embeddings",
    "cohere",
    "cohere_v1",
    "cohere_embeddings",
    "cohere_rerank",
    "mistral_conversations",
    "mistral_ocr",
    "function_call",
)
"""The modules of this package that hold a dialect: in each, its `DIALECT`."""


@cache
def known() -> tuple[Dialect, ...]:
    """Return the dialects of the entry points `onetake.dialects`, by their names, and behind them the built-in ones.

    The first that speaks a request reads it, so what a project installs goes before what it finds here.
    """
    from importlib import import_module, metadata

    points = sorted(metadata.entry_points(group="onetake.dialects"), key=lambda point: point.name)
    found: list[Dialect] = [point.load() for point in points]
    found += [import_module(f"{__name__}.{module}").DIALECT for module in _BUILT_IN]
    return tuple(found)


def find(method: str, url: str) -> Dialect | None:
    """Return the dialect of a request, None where no known API is spoken, or where its URL cannot be read."""
    try:
        return next((dialect for dialect in known() if dialect.speaks(method, url)), None)
    except ValueError:
        return None
