"""The plain data that everything else passes around: requests, responses, answers, entries.

All of it is frozen and free of behaviour beyond lookups, so any layer may hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Headers = tuple[tuple[str, str], ...]
"""`(name, value)` pairs in wire order; names keep their case; a repeated header is repeated here."""


def header(headers: Headers, name: str) -> str | None:
    """Return the first value of the header *name*, in any case, or None."""
    wanted, length = name.lower(), len(name)
    for key, value in headers:
        if len(key) == length and key.lower() == wanted:  # most headers of a response are ruled out by their length
            return value
    return None


class Mode(StrEnum):
    """What a session may do: VCR's words."""

    NONE = "none"
    ONCE = "once"
    NEW_EPISODES = "new_episodes"
    ALL = "all"
    OFF = "off"


class Repeats(StrEnum):
    """What identical requests of one session get: one answer each, in order, or all the same one."""

    SEQUENCE = "sequence"
    SAME = "same"


class Cut(StrEnum):
    """How a response body ended."""

    NO = ""
    """Complete."""
    PROVIDER = "provider"
    """The provider stopped before the end: short body, reset, or no terminal event."""
    LEFT = "left"
    """The caller stopped reading before the terminal event."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it leaves the client.

    A decorated function's request has the method `CALL`, the URL `function:<qualified name>` and its arguments as JSON.
    """

    method: str
    """Upper case."""
    url: str
    """Absolute, as sent, without fragment."""
    headers: Headers = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """A response as its caller gets it, after transfer and content decoding."""

    status: int
    headers: Headers = ()
    body: bytes = b""
    decoded: str = ""
    """The content-encoding that was undone (`gzip`), empty if the body came as it is."""
    cut: Cut = Cut.NO


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of an answer; the call's id is envelope, not answer."""

    name: str
    arguments: Any
    """The JSON value, or the text as it came where that is no JSON."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice of an answer; `finish` is the provider's own word."""

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish: str | None = None
    refusal: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said, taken out of a response by a dialect."""

    choices: tuple[Choice, ...] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """One failed check of a contract."""

    path: str
    """JSON path into the judged value: `$.items[0].label`."""
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.path}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True, slots=True)
class ContractRef:
    """What an entry remembers of the contract that judged it."""

    name: str
    schema_version: int
    schema: str
    """64 lower-case hex digits: SHA-256 of the closed schema without its annotations."""
    watch: str | None = None
    """64 lower-case hex digits: digest of the watched files; None where none are watched."""


@dataclass(frozen=True, slots=True)
class KeySpec:
    """How an entry's key was made: recipe, scrub list, rules in force, and the day where a rule needs it."""

    recipe: str
    scrub: str
    rules: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """The stored form of one interaction."""

    verdict: str
    """`good`, `kept:<reason>`, `left:<n>`; on a reject `reject:<kind>`."""
    request: Request
    response: Response
    key: str
    """64 lower-case hex digits (SHA-256) of the scrubbed request; stable for ever."""
    ordinal: int
    """0 or more."""
    key_spec: KeySpec
    contract: ContractRef | None = None
    unjudged: bool = False
    """True where contracts were given and none selected this answer; written as `contract: null`."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    dialect: str | None = None
    """`openai-chat/1`."""
    answer: Answer | None = None
    violations: tuple[Violation, ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    scrubbed: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the file that this version does not know, kept as they are."""
