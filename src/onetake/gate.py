"""The gate: what may become an entry. Pure: it reads a request and a response and says what they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from onetake import dialects, strictjson
from onetake.contract import Contract, violations_as_written
from onetake.dialects import Dialect, Promise, Reading
from onetake.events import framing
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


def judge(
    request: Request, response: Response, contracts: Sequence[Contract] = (), *, keep: Sequence[str] = (), root: Path
) -> Judgement:
    """Say whether a response may become an entry.

    Args:
        request: The request that it answers.
        response: The response, content-decoded.
        contracts: What the answer must satisfy; the first that selects a part of the answer judges it.
        keep: Kinds of bad answers that are wanted: `violation`, `length`, `refusal`, `cut`, `status:429`, `status:4xx`.
        root: Where relative paths of watched files count from.

    Returns:
        In order: an error of the provider passes; a 3xx with a `Location` is good; a cut or left body, broken JSON,
        an answer cut by length or refused, a broken promise of the provider, a violation. The first fault counts.
    """
    dialect = dialects.find(request.method, request.url)
    if not 200 <= response.status < 300:
        return _judge_status(response, keep)
    if response.cut is Cut.LEFT:
        return Judgement(Kind.LEFT, str(len(response.body)), dialect=dialect)
    reading = dialect.read(request, response) if dialect else Reading()
    if reading.error is not None:
        return Judgement(Kind.PASS, "error", reading, dialect)
    if response.cut is Cut.PROVIDER or not reading.terminal:
        return _bad("cut", keep, reading, dialect)
    if (broken := _broken_json(response)) is not None:
        return _bad("json", keep, reading, dialect, (broken,))
    if dialect is None or reading.answer is None:
        return Judgement(Kind.GOOD, reading=reading, dialect=dialect, unjudged=bool(contracts))
    return _judge_answer(request, dialect, reading, reading.answer, contracts, keep, root)


def _judge_status(response: Response, keep: Sequence[str]) -> Judgement:
    status = response.status
    if 300 <= status < 400 and header(response.headers, "location") is not None and response.cut is Cut.NO:
        return Judgement(Kind.GOOD)
    if f"status:{status}" in keep or f"status:{status // 100}xx" in keep:
        return Judgement(Kind.KEPT, f"status:{status}")
    return Judgement(Kind.PASS, f"status:{status}")


def _bad(
    reason: str,
    keep: Sequence[str],
    reading: Reading,
    dialect: Dialect | None,
    violations: tuple[Violation, ...] = (),
    contract: ContractRef | None = None,
) -> Judgement:
    kind = Kind.KEPT if reason in keep else Kind.REJECT
    return Judgement(kind, reason, reading, dialect, contract=contract, violations=violations)


def _broken_json(response: Response) -> Violation | None:
    kind = (header(response.headers, "content-type") or "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or (kind.endswith("+json") and kind != "application/stream+json")
    if not response.body or not is_json or framing(response.headers, response.body[:64]) is not None:
        return None
    try:
        strictjson.loads(response.body)
    except strictjson.NotStrictError as error:
        return Violation("$", "JSON, as the response's content-type says", str(error))
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
    held = bool(contracts) or any(promise.enforced for promise in promises)
    cut_short = _length_or_refusal(dialect, answer)
    if cut_short and (held or cut_short in keep):
        ref = contracts[0].ref(root) if len(contracts) == 1 else None
        return _bad(cut_short, keep, reading, dialect, contract=ref)
    parts = list(_parts(answer, promises))
    judging = [(part, contract) for part in parts if (contract := _select(request, part, contracts))]
    violations = _broken_promises(parts, promises)
    violations += [v for part, contract in judging for v in _judge_part(contract, part)]
    ref = judging[0][1].ref(root) if judging else None
    if violations and not cut_short:
        return _bad("violation", keep, reading, dialect, tuple(dict.fromkeys(violations)), ref)
    note = {"length": "the stored answer was cut by the token limit", "refusal": "the stored answer is a refusal"}
    unjudged = bool(contracts) and not judging
    return Judgement(Kind.GOOD, "", reading, dialect, ref, unjudged, note=note.get(cut_short, ""))


def _length_or_refusal(dialect: Dialect, answer: Answer) -> str:
    if any(dialect.is_length(choice) for choice in answer.choices):
        return "length"
    return "refusal" if any(dialect.is_refusal(choice) for choice in answer.choices) else ""


def _parts(answer: Answer, promises: Sequence[Promise]) -> Iterator[_Part]:
    """Take apart what contracts judge: the text of a choice without tool calls, or each tool call's arguments."""
    names = tuple(f"schema:{promise.name}" for promise in promises if promise.on == "text")
    for number, choice in enumerate(answer.choices):
        prefix = f"choices[{number}]" if len(answer.choices) > 1 else ""
        for call in choice.tool_calls:
            yield _Part((f"tool:{call.name}",), call.arguments, False, prefix)
        if not choice.tool_calls:
            yield _Part(("text", *names), choice.text or "", True, prefix)


def _select(request: Request, part: _Part, contracts: Sequence[Contract]) -> Contract | None:
    return next((c for c in contracts if any(c.selects(request, on) for on in part.on)), None)


def _judge_part(contract: Contract, part: _Part) -> Iterator[Violation]:
    found = contract.judge_text(part.value) if part.is_text else contract.judge_value(part.value)
    for violation in found:
        yield replace(violation, path=part.prefix + violation.path)


def _broken_promises(parts: Sequence[_Part], promises: Sequence[Promise]) -> list[Violation]:
    """Check what the provider promised of its own accord: the request's schema, as written, where it is enforced."""
    return [
        replace(violation, path=part.prefix + violation.path)
        for part in parts
        for promise in promises
        if promise.enforced and promise.on in part.on
        for violation in violations_as_written(promise.schema, part.value, is_text=part.is_text)
    ]
