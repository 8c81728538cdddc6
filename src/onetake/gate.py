"""The gate: what may become an entry. Pure: it reads a request and a response and says what they are.

What a contract of the project does (a callable `on`, a type's validators) is the project's own, and may raise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from onetake import codings, dialects, picking, strictjson
from onetake.contract import Contract, violations_as_written
from onetake.contract.violations import no_json
from onetake.dialects import Dialect, Promise, Reading
from onetake.events import NDJSON, SSE, events, framing
from onetake.model import Answer, ContractRef, Cut, Request, Response, Violation, header


class Kind(StrEnum):
    """What the gate says of a response."""

    GOOD = "good"
    KEPT = "kept"
    LEFT = "left"
    REJECT = "reject"
    PASS = "pass"
    """An error of the provider: it goes to the caller, so that the SDK's own retry works, and is not written."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The gate's word on one response.

    `reason` is empty for a good one; `note` is a warning for the person who records.
    """

    kind: Kind
    reason: str = ""
    reading: Reading = field(default_factory=Reading)
    dialect: Dialect | None = None
    contract: ContractRef | None = None
    unjudged: bool = False
    violations: tuple[Violation, ...] = ()
    note: str = ""

    @property
    def verdict(self) -> str:
        """The word that the entry stores: `good`, `kept:length`, `left:120`, `reject:violation`."""
        return f"{self.kind}:{self.reason}" if self.reason else str(self.kind)


@dataclass(frozen=True, slots=True)
class _Part:
    """One thing of an answer that a contract may judge: a choice's text, or the arguments of a tool call."""

    on: tuple[str, ...]
    value: Any
    is_text: bool
    prefix: str
    """Which choice and which call it is, where there are several: `choices[1]`, `tool_calls[0]`."""
    short: str
    """`length` or `refusal` where its choice was cut or refused: then it keeps no schema, and that says why."""


def judge(
    request: Request, response: Response, contracts: Sequence[Contract] = (), *, keep: Sequence[str] = (), root: Path
) -> Judgement:
    """Say whether a response may become an entry.

    Args:
        request: The request that it answers.
        response: The response as it is to be stored; one that is still content-encoded is judged by what it decodes to.
        contracts: What the answer must satisfy; the first that selects a part of the answer judges it.
        keep: Kinds of bad answers that are wanted: `violation`, `length`, `refusal`, `cut`, `status:429`, `status:4xx`.
        root: Where relative paths of watched files count from.

    Returns:
        In order: an error of the provider passes; a 3xx with a `Location` is good; a left or cut body, broken JSON,
        an answer cut by length or refused, a broken promise of the provider, a violation. The first fault counts.
    """
    dialect = dialects.find(request.method, request.url)
    if not 200 <= response.status < 300:
        return _judge_status(response, keep, dialect)
    content = content_of(response)
    reading = dialect.read(request, content) if dialect and content else Reading()
    if reading.error is not None:  # before anything else: an SDK closes the stream at an error event
        return Judgement(Kind.PASS, "error", reading, dialect)
    if response.cut is Cut.LEFT:
        return Judgement(Kind.LEFT, str(len(response.body)), dialect=dialect)
    if response.cut is Cut.PROVIDER or not reading.terminal:
        return _bad("cut", keep, reading, dialect)
    if content and (broken := _broken_json(content, dialect, reading)):
        return _bad("json", keep, reading, dialect, (broken,))
    if dialect is None or reading.answer is None:
        if dialect and contracts and request.method != "CALL":  # the bytes of a function hold no answer
            found = "none" if content else "a content-encoding that cannot be undone here"
            return _bad("violation", keep, reading, dialect, (Violation("$", "an answer of the model", found),))
        return Judgement(Kind.GOOD, reading=reading, dialect=dialect, unjudged=bool(contracts))
    return _judge_answer(request, dialect, reading, reading.answer, contracts, keep, root)


def content_of(response: Response) -> Response | None:
    """Return a response as its content reads: without the content-encoding that a client left on it.

    Args:
        response: As it is stored.

    Returns:
        The response itself where nothing is encoded, or the bytes are not so encoded as it says; None where the coding
        is unknown or its decoder (`brotli`, `zstandard`) is not installed.
    """
    encoding = ", ".join(value for name, value in response.headers if name.lower() == "content-encoding")
    if not encoding or not response.body:
        return response
    if not codings.knows(encoding):
        return None
    body = codings.undo(response.body, encoding)
    if body is None:
        return response
    headers = tuple(pair for pair in response.headers if pair[0].lower() not in ("content-encoding", "content-length"))
    return replace(response, headers=headers, body=body)


def keeps(keep: Sequence[str], reason: str) -> bool:
    """Tell whether a kind of bad answer is wanted.

    Args:
        keep: Kinds that are wanted: `length`, `status:429`, `status:4xx`.
        reason: The kind of one: `length`, `status:429`.
    """
    word, _, status = reason.partition(":")
    return reason in keep or (bool(status) and f"{word}:{status[0]}xx" in keep)


def _judge_status(response: Response, keep: Sequence[str], dialect: Dialect | None) -> Judgement:
    status = response.status
    if 300 <= status < 400 and header(response.headers, "location") is not None and response.cut is not Cut.PROVIDER:
        # Clients follow it without reading its body.
        return Judgement(Kind.LEFT, str(len(response.body))) if response.cut is Cut.LEFT else Judgement(Kind.GOOD)
    reason = f"status:{status}"
    return Judgement(Kind.KEPT if keeps(keep, reason) else Kind.PASS, reason, dialect=dialect)


def _bad(
    reason: str,
    keep: Sequence[str],
    reading: Reading,
    dialect: Dialect | None,
    violations: tuple[Violation, ...] = (),
    contract: ContractRef | None = None,
) -> Judgement:
    kind = Kind.KEPT if keeps(keep, reason) else Kind.REJECT
    return Judgement(kind, reason, reading, dialect, contract=contract, violations=violations)


def _broken_json(response: Response, dialect: Dialect | None, reading: Reading) -> Violation | None:
    """Return what is no JSON and should be: the body, by its content-type, or an event, as every known API streams."""
    if dialect and (coding := header(response.headers, "content-encoding")):  # `content_of` could not undo it
        return Violation("$", f"an answer in {coding}, as its content-encoding says", "bytes that are not so encoded")
    kind = framing(response.headers, response.body[:64])
    if kind is not None:
        own = dialect if kind in (SSE, NDJSON) and reading.answer else None
        return _broken_event(response, own) if own else None
    declared = (header(response.headers, "content-type") or "").partition(";")[0].strip().lower()
    is_json = declared == "application/json" or declared.endswith("+json")
    may_be_empty = dialect is None or reading.answer is not None
    if not is_json or (may_be_empty and not response.body):
        return None
    if picking.document(response.body):  # it was parsed already, to be read
        return None
    return _no_json("$", "JSON, as the response's content-type says", response.body)


def _broken_event(response: Response, dialect: Dialect) -> Violation | None:
    for number, event in enumerate(events(response)):
        if dialect.is_terminal(event):
            return None
        data = event.data.encode("utf-8", "surrogateescape")
        if data.strip() and (broken := _no_json(f"$[{number}]", "an event of JSON, as this API streams", data)):
            return broken
    return None


def _no_json(path: str, expected: str, data: bytes) -> Violation | None:
    try:
        strictjson.loads(data)
    except strictjson.NotStrictError as error:
        # A short piece: what is cut in the middle of a secret could not be scrubbed any more.
        return Violation(path, expected, no_json(data.decode("utf-8-sig", "replace"), str(error), room=0))
    return None


def _judge_answer(
    request: Request,
    dialect: Dialect,
    reading: Reading,
    answer: Answer,
    contracts: Sequence[Contract],
    keep: Sequence[str],
    root: Path,
) -> Judgement:
    promises = dialect.promises(request)
    parts = list(_parts(dialect, answer, promises))
    judging = [(part, contract) for part in parts if (contract := _select(request, part, contracts))]
    ref = judging[0][1].ref(root) if judging else None
    short = _cut_short(parts, promises, keep, held=bool(contracts))
    if short:
        return _bad(short, keep, reading, dialect, contract=ref)
    violations = _broken_promises(parts, promises, enforced=True)
    violations += [v for part, contract in judging if not part.short for v in _judge_part(contract, part)]
    if violations:
        return _bad("violation", keep, reading, dialect, tuple(dict.fromkeys(violations)), ref)
    unjudged = bool(contracts) and not judging
    return Judgement(Kind.GOOD, "", reading, dialect, ref, unjudged, note=_note(parts, promises))


def _cut_short(parts: Sequence[_Part], promises: Sequence[Promise], keep: Sequence[str], *, held: bool) -> str:
    """Return `length` or `refusal` where that decides: under a contract, or where it is wanted.

    What a token limit cut also breaks the schema that the provider promised for it; a refusal is what the provider
    promises instead of it.
    """
    short = [part for part in parts if part.short]
    if not short:
        return ""
    broken = any(_promised(part, promises) for part in short if part.short == "length")
    word = "length" if any(part.short == "length" for part in short) else "refusal"
    return word if held or keeps(keep, word) or broken else ""


def _note(parts: Sequence[_Part], promises: Sequence[Promise]) -> str:
    """Say what the person who records a good answer should know of it."""
    short = {part.short for part in parts}
    if "length" in short:
        return "the stored answer was cut by the token limit"
    if "refusal" in short:
        return "the stored answer is a refusal"
    broken = _broken_promises(parts, promises, enforced=False)
    return f"the stored answer breaks the request's own schema, which is not strict ({broken[0]})" if broken else ""


def _parts(dialect: Dialect, answer: Answer, promises: Sequence[Promise]) -> Iterator[_Part]:
    """Take apart what contracts judge: the text of a choice without tool calls, or each tool call's arguments."""
    names = tuple(f"schema:{promise.name}" for promise in promises if promise.on == "text")
    for number, choice in enumerate(answer.choices):
        prefix = f"choices[{number}]" if len(answer.choices) > 1 else ""
        short = "length" if dialect.is_length(choice) else "refusal" if dialect.is_refusal(choice) else ""
        for place, call in enumerate(choice.tool_calls):
            of_several = f"{'.' if prefix else ''}tool_calls[{place}]" if len(choice.tool_calls) > 1 else ""
            yield _Part((f"tool:{call.name}",), call.arguments, False, prefix + of_several, short)
        if not choice.tool_calls:
            yield _Part(("text", *names), choice.text or "", True, prefix, short)


def _select(request: Request, part: _Part, contracts: Sequence[Contract]) -> Contract | None:
    return next((c for c in contracts if any(c.selects(request, on) for on in part.on)), None)


def _judge_part(contract: Contract, part: _Part) -> Iterator[Violation]:
    found = contract.judge_text(part.value) if part.is_text else contract.judge_value(part.value)
    for violation in found:
        yield replace(violation, path=part.prefix + violation.path)


def _promised(part: _Part, promises: Sequence[Promise], *, enforced: bool = True) -> list[Promise]:
    return [promise for promise in promises if promise.enforced is enforced and promise.on in part.on]


def _broken_promises(parts: Sequence[_Part], promises: Sequence[Promise], *, enforced: bool) -> list[Violation]:
    """Check an answer against the schema that its request carried, as written."""
    return [
        replace(violation, path=part.prefix + violation.path)
        for part in parts
        if not part.short
        for promise in _promised(part, promises, enforced=enforced)
        for violation in violations_as_written(promise.schema, part.value, is_text=part.is_text)
    ]
