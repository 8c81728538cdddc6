"""One answer as it is compared: its bytes, and what its dialect reads in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake import gate, picking, strictjson
from onetake.contract import Contract
from onetake.dialects import Dialect, Reading
from onetake.events import Event, events, framing
from onetake.model import Choice, Request, Response, header


@dataclass(frozen=True, slots=True)
class Heard:
    """A response and what it says.

    Args:
        request: What was asked.
        content: The response, without its content-encoding where that can be undone.
        judged: The gate's word on it.
    """

    request: Request
    content: Response
    judged: gate.Judgement

    @property
    def reading(self) -> Reading:
        """What the dialect reads in it."""
        return self.judged.reading

    @property
    def dialect(self) -> Dialect | None:
        """The API that is spoken."""
        return self.judged.dialect

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices of the answer."""
        return self.reading.answer.choices if self.reading.answer else ()

    def said(self) -> list[Any]:
        """Return the texts of the answer, and the arguments of its tool calls."""
        texts = [text for one in self.choices for text in (one.text, one.reasoning, one.refusal) if text]
        return texts + [call.arguments for one in self.choices for call in one.tool_calls]

    def parts(self) -> set[str]:
        """Return what the answer is made of: `text`, `tool_calls`, `reasoning`, `refusal`."""
        names = ("text", "tool_calls", "reasoning", "refusal")
        return {name for one in self.choices for name in names if getattr(one, name)}

    def make(self) -> set[str]:
        """Return what the answer is made of, and how it ended: the body around another make has other fields."""
        tests = (self.dialect.is_length, self.dialect.is_refusal) if self.dialect else ()
        return self.parts() | {test.__name__ for test in tests for one in self.choices if test(one)}

    def events(self) -> list[Event]:
        """Return the events of a stream; none for a body that is none."""
        return events(self.content)

    def document(self) -> Any:
        """Return the JSON value of a body that is no stream, `NOTHING` where it is no JSON."""
        if found := picking.document(self.content.body):
            return found
        try:
            return strictjson.loads(self.content.body)
        except strictjson.NotStrictError:
            return NOTHING

    def container(self) -> str:
        """Return how the body is framed: `sse` and so on, `JSON`, else its media type."""
        if found := framing(self.content.headers, self.content.body):
            return found
        declared = (header(self.content.headers, "content-type") or "").partition(";")[0].strip().lower()
        return "JSON" if self.document() is not NOTHING else declared or "bytes of no type"


NOTHING = object()
"""What stands for a JSON value where there is none; null is one."""


def hear(request: Request, response: Response, contracts: Sequence[Contract], root: Path) -> Heard:
    """Read a response, and have the gate judge it. What a contract's own code raises goes through.

    Args:
        request: What it answers.
        response: As it is stored, or as it came.
        contracts: Today's.
        root: Where watched files of the contracts count from.
    """
    content = gate.content_of(response) or response
    return Heard(request, content, gate.judge(request, content, contracts, root=root))
