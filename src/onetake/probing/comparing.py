"""Compare a stored answer with a fresh one: structure, not text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from onetake import gate, jsonpath
from onetake.contract import Contract
from onetake.errors import OnetakeError
from onetake.events import ARRAY, EVENTSTREAM, NDJSON, SSE
from onetake.model import Cut, Entry, Request, Response
from onetake.printable import one_line
from onetake.probing.allowing import Expected
from onetake.probing.answer_findings import answer_findings, finding_of, place_of
from onetake.probing.body_changes import body_changes, container_finding, event_findings
from onetake.probing.findings import Compared, Finding, Kind, Note, Outcome, Severity, Unknown, by_weight
from onetake.probing.heard import Heard, hear
from onetake.probing.labelling import label_findings
from onetake.probing.vectors import vector_findings
from onetake.scrub import shown
from onetake.strictjson import finite

_WIDTH = 160
_TAKEN = 202
"""The status of a request that was taken, and is not answered yet."""
_TOO_SMALL = ("boolean", "number", "null")
"""Types that hold no answer."""


def compare(
    entry: Entry,
    live: Response,
    *,
    name: str,
    again: Response | None = None,
    contracts: Sequence[Contract] = (),
    label_paths: Sequence[str] = (),
    asked: Request | None = None,
    latency_ms: float | None = None,
    root: Path,
    scrub: Callable[[str], str] = shown,
) -> Compared | Unknown:
    """Say how a fresh answer differs from the stored one.

    Args:
        entry: One of which `askable.why_not` says nothing.
        live: What came for its request.
        name: What the report calls the entry: the path of its file.
        again: What came when the same was asked once more; its findings count too, and it gives the labels' noise.
        contracts: Today's contracts; the first that selects a part of the answer judges it.
        label_paths: JSON paths into the part that a contract judges, else into an answer's JSON text.
        asked: The request that was sent, where it is not the stored one (`--model`): then another served model is what
            was asked for, and `info`.
        latency_ms: How long the fresh answer took; None where it was not measured.
        root: Where relative paths of a contract's watched files count from.
        scrub: Takes secrets out of every text of the result.

    Returns:
        `Unknown` with `failed` where what came is no answer: an error status, an error object under a good status, a
        body that was cut short, nothing said where something was, and nothing that may be it elsewhere. That is no
        drift, and takes no entry's place.

    Raises:
        UsageError: A path of `label_paths` is wrong, or a contract watches a file that is not there.
    """
    paths = [jsonpath.parse(path) for path in label_paths]
    try:
        recorded = hear(entry.request, entry.response, contracts, root)
        came = [hear(asked or entry.request, one, contracts, root) for one in (live, again) if one is not None]
    except OnetakeError:
        raise
    except Exception as error:  # noqa: BLE001 - of a contract's own code
        return Unknown(Outcome.FAILED, one_line(scrub(f"a contract broke ({type(error).__name__}: {error})"), 300))
    first, *second = came
    if why := _failure(recorded, first):
        return Unknown(Outcome.FAILED, one_line(scrub(why), 300))
    heard = [first, *(one for one in second if not _failure(recorded, one))]
    expected = Expected(first, contracts)
    found = [one for each in heard for one in _differences(recorded, each, expected, is_other_model=asked is not None)]
    labelled = list(label_findings(recorded, first, heard[1] if len(heard) > 1 else None, paths, expected))
    found += [finding for _, finding in labelled if finding]
    return Compared(
        findings=by_weight([_printable(one, name, scrub) for one in found]),
        labels=tuple(label for label, _ in labelled if label),
        notes=tuple(_notes(entry, recorded, first, latency_ms, scrub)),
        model=one_line(scrub(first.reading.model or ""), _WIDTH),
        contract=first.judged.contract,
    )


def _failure(recorded: Heard, live: Heard) -> str:
    """Say why what came is no answer; empty for one, however it differs."""
    if not 200 <= live.content.status < 300:
        return f"status {live.content.status}"
    if live.reading.error is not None or live.judged.kind is gate.Kind.PASS:
        return f"an error under status {live.content.status}: {live.reading.error}"
    if live.content.cut is not Cut.NO:
        return "the body was cut short"
    if _is_unreadable(recorded.container(), live.container()):
        return f"what came as {live.container()} cannot be read as an answer"
    if not _is_gone(recorded, live):
        return ""
    if live.content.status == _TAKEN != recorded.content.status:
        return f"status {_TAKEN}, and no answer yet"
    return "" if _has_moved(recorded, live) else "an empty answer"


def _is_unreadable(recorded: str, live: str) -> bool:
    """Tell whether a body is what something between here and the model sends in its place: a page, half a JSON."""
    return live not in _READABLE and live != recorded and (recorded in _READABLE or live == "text/html")


_READABLE = ("JSON", SSE, NDJSON, EVENTSTREAM, ARRAY)


def _is_gone(recorded: Heard, live: Heard) -> bool:
    """Tell whether the fresh answer says nothing where the stored one says something, and nothing says why."""
    if recorded.reading.answer is not None and live.reading.answer is None:
        return True
    ended = (live.dialect.is_length(one) or live.dialect.is_refusal(one) for one in live.choices if live.dialect)
    says = {"text", "tool_calls"}
    return bool(recorded.parts() & says) and not live.parts() & says and not any(ended)


def _has_moved(recorded: Heard, live: Heard) -> bool:
    """Tell whether an answer that is gone may stand elsewhere in what the same API says.

    A place went, and one came that can hold it; or one is of another type.
    """
    was, now = recorded.document(), live.document()
    if isinstance(was, dict) and isinstance(now, dict) and was.keys().isdisjoint(now.keys()):
        return False
    found = [change for _, change in body_changes(recorded, live)]
    kinds = {change.kind for change in found}
    has_come = any(change.kind is Kind.ADDED and change.live not in _TOO_SMALL for change in found)
    has_turned = not kinds.isdisjoint((Kind.TYPE, Kind.ENUM))
    return "reasoning" in live.parts() or has_turned or (has_come and Kind.REMOVED in kinds)


def _differences(recorded: Heard, live: Heard, expected: Expected, *, is_other_model: bool) -> Iterator[Finding]:
    yield from _judged(recorded, live)
    yield from container_finding(recorded, live)
    yield from (finding_of(name, change) for name, change in body_changes(recorded, live))
    yield from event_findings(recorded, live)
    yield from vector_findings(recorded, live)
    if _is_gone(recorded, live):
        yield Finding(
            "", "answer", Severity.ERROR, Kind.ANSWER, ", ".join(sorted(recorded.parts())) or "an answer", None
        )
    else:
        yield from answer_findings(recorded, live, expected)
    was, now = recorded.reading.model, live.reading.model
    if was and now and was != now:
        yield Finding("", "model", Severity.INFO if is_other_model else Severity.ERROR, Kind.MODEL, was, now)
    if recorded.content.status != live.content.status:
        yield Finding("", "status", Severity.INFO, Kind.STATUS, recorded.content.status, live.content.status)


def _judged(recorded: Heard, live: Heard) -> Iterator[Finding]:
    """Say what the gate says against the fresh answer; what it says against the stored one too is no drift."""
    if live.judged.reason == "cut":
        yield Finding("", "events", Severity.ERROR, Kind.CUT, "the terminal event", None)
    if live.judged.reason == "json" != recorded.judged.reason:
        yield Finding("", "events", Severity.ERROR, Kind.TYPE, "JSON", "an event that is no JSON")
    if "json" in (live.judged.reason, recorded.judged.reason):
        return
    known = {place_of(one) for one in recorded.judged.violations}
    for place, violation in {place_of(one): one for one in reversed(live.judged.violations)}.items():
        grade = Severity.INFO if place in known else Severity.ERROR
        path = f"answer{'' if place[0].startswith('$') else '.'}{place[0]}"
        yield Finding("", path, grade, Kind.CONTRACT, violation.expected, violation.found)


def _notes(
    entry: Entry, recorded: Heard, live: Heard, latency_ms: float | None, scrub: Callable[[str], str]
) -> Iterator[Note]:
    pairs = [
        ("input_tokens", recorded.reading.input_tokens, live.reading.input_tokens),
        ("output_tokens", recorded.reading.output_tokens, live.reading.output_tokens),
        ("latency_ms", entry.metrics.get("latency_ms"), latency_ms),
        ("fingerprint", recorded.reading.fingerprint, live.reading.fingerprint),
    ]
    for name, was, now in pairs:
        if (was, now) != (None, None):
            yield Note(name, _shown(was, scrub), _shown(now, scrub))


def _printable(found: Finding, name: str, scrub: Callable[[str], str]) -> Finding:
    path = one_line(scrub(found.path), _WIDTH)
    recorded, live = (_shown(value, scrub) for value in (found.recorded, found.live))
    return replace(found, entry=name, path=path, recorded=recorded, live=live)


def _shown(value: object, scrub: Callable[[str], str]) -> object:
    """Return what a report may hold of a value: texts scrubbed and short, what is nested as its text."""
    value = finite(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return one_line(scrub(text), _WIDTH)
