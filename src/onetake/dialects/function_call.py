"""Decorated functions as a dialect: the request is `{function, arguments}`, the answer what the function returned."""

from __future__ import annotations

import json

from onetake.dialects import Promise, Reading
from onetake.events import Event
from onetake.model import Answer, Choice, Request, Response, header

VALUE = "application/json"
"""A JSON value."""
TEXT = "text/plain"
"""A str."""
BYTES = "application/octet-stream"
"""Bytes."""
STREAM = "application/x-ndjson"
"""What a generator yielded: one JSON value a line."""


class FunctionCall:
    """The dialect of `onetake.recorded`."""

    name = "function"
    version = 1
    operation = "call"

    def speaks(self, method: str, url: str) -> bool:
        """Tell a decorated function's request by its method."""
        return method == "CALL"

    def model_asked(self, request: Request) -> str | None:
        """Return the function's qualified name, which is all that says who answers."""
        return request.url.removeprefix("function:")

    def is_terminal(self, event: Event) -> bool:
        """Return False: how a generator ended is not in its events, the adapter says it."""
        return False

    def read(self, request: Request, response: Response) -> Reading:
        """Return the returned value as one choice's text, yielded strings joined; bytes hold no answer."""
        kind = header(response.headers, "content-type")
        if kind == BYTES:
            return Reading()
        text = response.body.decode("utf-8", "surrogateescape")
        if kind == STREAM:
            values = [json.loads(line) for line in text.split("\n") if line]
            if all(isinstance(value, str) for value in values):
                text = "".join(values)
        return Reading(Answer((Choice(text=text),)))

    def promises(self, request: Request) -> tuple[Promise, ...]:
        """Return nothing: a function promises no schema."""
        return ()

    def is_length(self, choice: Choice) -> bool:
        """Return False: a function says nothing of token limits."""
        return False

    def is_refusal(self, choice: Choice) -> bool:
        """Return False: a function does not refuse."""
        return False


DIALECT = FunctionCall()
