"""Drift: some stored requests are sent again, as they are, and today's answers compared with the stored ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from heapq import nsmallest
from typing import Any

from onetake import gate, picking
from onetake.batch.opening import Opened
from onetake.batch.retrying import Fault
from onetake.cassette import Cassette
from onetake.compare import value_differences
from onetake.compare.likeness import same
from onetake.jsonpath import Path as JsonPath
from onetake.jsonpath import parse
from onetake.model import Answer, Entry, Request, Response
from onetake.printable import one_line
from onetake.probing.intervals import wilson
from onetake.probing.labels import at

_WIDTH = 160

Send = Callable[[Request], Awaitable[Response | Fault]]
"""Sends a request once, and returns what came, or why nothing did."""


@dataclass(frozen=True, slots=True)
class Case:
    """One request that was sent again.

    Args:
        key: Its key.
        stored: What was said then, as far as it is compared.
        now: What is said today; None where nothing came.
        changed: Whether the two differ; None where that cannot be said.
        why: How they differ, or why nothing can be said; else empty.
        model: The model that answered today, as far as it says so.
    """

    key: str
    stored: Any
    now: Any
    changed: bool | None
    why: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Drift:
    """What a sample says; enough to be read again when job and store have gone on.

    Args:
        cases: What was sent again, in the order of the keys.
        compared: How many could be compared.
        changed: How many of these are labelled differently.
        inconclusive: How many brought nothing to compare.
        low: The share of changed answers in the whole store, at least, at 95 %; 0 to 1.
        high: At most.
        baseline: SHA-256 of the keys and the stored answers of the sample, 64 hex digits.
        label_paths: What was compared; empty for the whole answer.
        models_then: The models that gave the stored answers.
        models_now: Those that answered today.
    """

    cases: tuple[Case, ...]
    compared: int
    changed: int
    inconclusive: int
    low: float
    high: float
    baseline: str
    label_paths: tuple[str, ...]
    models_then: tuple[str, ...]
    models_now: tuple[str, ...]


def sample(batch: Opened, size: int) -> list[Entry]:
    """Choose stored good replies of a job's model, always the same ones while they are stored.

    Keys are digests, so those that sort first are as good as drawn by lot.

    Args:
        batch: The job.
        size: How many at most, 1 or more.

    Raises:
        StoreError: The store as a whole cannot be read.
    """
    cassette, wanted = Cassette(batch.store), size
    while True:
        slots = nsmallest(wanted, (slot for slot in batch.store.names() if slot[1] == 0))
        found = [entry for slot in slots if _is_of(batch, entry := cassette.load(*slot))]
        if len(found) >= size or len(slots) < wanted:
            return [entry for entry in found if isinstance(entry, Entry)][:size]
        wanted *= 4


async def drift(batch: Opened, entries: Iterable[Entry], send: Send) -> Drift:
    """Send stored requests again and compare. Nothing is stored.

    Args:
        batch: The job.
        entries: What `sample` chose.
        send: Sends a request.

    Raises:
        UsageError: A path of `label_paths` is wrong.
    """
    chosen = list(entries)
    paths = batch.job.run.label_paths
    parsed = [parse(path) for path in paths]
    cases = [await _case(entry, batch, parsed, send) for entry in chosen]
    compared = [case for case in cases if case.changed is not None]
    changed = sum(bool(case.changed) for case in compared)
    low, high = wilson(changed, len(compared))
    digest = sha256()
    for case in cases:
        digest.update(f"{case.key} {case.stored!r}\n".encode("utf-8", "surrogatepass"))
    return Drift(
        cases=tuple(cases),
        compared=len(compared),
        changed=changed,
        inconclusive=len(cases) - len(compared),
        low=low,
        high=high,
        baseline=digest.hexdigest(),
        label_paths=paths,
        models_then=_models(str(entry.provenance.get("model_served") or "") for entry in chosen),
        models_now=_models(case.model for case in cases),
    )


async def _case(entry: Entry, batch: Opened, paths: list[JsonPath], send: Send) -> Case:
    parses = batch.contract is not None
    stored = labels(_said(entry.answer, parses=parses), paths)
    found = await send(entry.request)
    if isinstance(found, Fault):
        return Case(entry.key, stored, None, None, one_line(str(found), _WIDTH))
    judged = gate.judge(entry.request, found, (batch.contract,) if batch.contract else (), root=batch.policy.root)
    answer, model = judged.reading.answer, judged.reading.model or ""
    if answer is None or not answer.choices:
        return Case(entry.key, stored, None, None, f"status {found.status}, no answer", model)
    now = labels(_said(answer, parses=parses), paths)
    if judged.kind is gate.Kind.REJECT:
        broken = "; ".join(map(str, judged.violations[:2])) or judged.reason
        return Case(entry.key, stored, now, True, one_line(f"today's answer is no good: {broken}", _WIDTH), model)
    return Case(entry.key, stored, now, not same(stored, now), _how(stored, now), model)


def labels(value: Any, paths: list[JsonPath]) -> Any:
    """Return what of an answer is compared: the values at these paths; the whole answer where there are none."""
    return [at(value, path) for path in paths] if paths else value


def _said(answer: Answer | None, *, parses: bool) -> Any:
    text = answer.choices[0].text if answer and answer.choices else None
    return picking.value_or_text(text) if parses and text is not None else text


def _how(stored: Any, now: Any) -> str:
    found = value_differences(stored, now, 1)
    return f"{found[0].path}: was {found[0].asked}, is {found[0].stored}" if found else ""


def _models(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if name}))


def _is_of(batch: Opened, entry: object) -> bool:
    """Tell whether an entry is a good reply of a job's model at its endpoint."""
    if not isinstance(entry, Entry) or entry.verdict != "good":
        return False
    model = entry.provenance.get("model_asked")
    return entry.request.url.startswith(batch.job.ask.base_url) and model in (None, batch.job.ask.model)
