"""What becomes of one interaction: judged as if it came today, scrubbed, and keyed by its whole request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from onetake import gate, key_specs
from onetake.contract import Contract
from onetake.gate import Judgement, Kind, content_of
from onetake.imported import LOOSE
from onetake.importers.reading import Interaction
from onetake.key import Keyer
from onetake.model import Entry, Request, Response, header
from onetake.printable import one_line
from onetake.provenance import sdk_of
from onetake.quiet import QUIET
from onetake.scrub import Scrubber, Scrubbing
from onetake.scrub.finder import PLACEHOLDER
from onetake.settings_values import EVERY_KIND
from onetake.traffic import Route, Traffic

_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


class Outcome(StrEnum):
    """What became of an interaction, or of a file that holds none of vcrpy's."""

    IMPORTED = "imported"
    LOOSE = "loose"
    REFUSED = "refused"
    WOULD_NOT_RECORD = "would_not_record"
    FOREIGN = "foreign"


@dataclass(frozen=True, slots=True)
class Rules:
    """What interactions are judged by: the settings where their entries will lie, and what the user asked for."""

    root: Path
    keyer: Keyer
    scrubber: Scrubber
    traffic: Traffic
    contracts: tuple[Contract, ...] = ()
    keep: tuple[str, ...] = ()
    keep_bodyless: bool = False
    replayed: tuple[str, ...] = ()
    """The kinds of bad answers that sessions under these settings replay."""

    def widest(self) -> Rules:
        """Return these rules as they are with every flag that lets something be imported."""
        return replace(self, keep=EVERY_KIND, keep_bodyless=True)


@dataclass(frozen=True, slots=True)
class Judged:
    """What becomes of an interaction; the entry has ordinal 0, until it is placed among its equals."""

    outcome: Outcome
    reason: str
    """`good`, `kept:status:401`, or why it is not imported."""
    entry: Entry | None = None
    secrets: Mapping[str, int] = field(default_factory=dict)
    """How many were scrubbed, by kind."""
    is_never_played: bool = False
    """Whether no session asks a cassette for it."""
    needs_flag: bool = False
    """Whether it would be imported if the user asked for it."""
    is_local: bool = False
    """Whether it is played only where `hosts` names its server."""


def judge(one: Interaction, path: str, rules: Rules, *, commit: str = "") -> Judged:
    """Say what becomes of an interaction.

    Args:
        one: As it was read.
        path: Its file, as the provenance names it.
        rules: What it is judged by.
        commit: The git commit that the file is of; empty where nobody asked.
    """
    if one.foreign:
        return Judged(Outcome.FOREIGN, one.foreign)
    if one.problem or one.request is None or one.response is None:
        return Judged(Outcome.REFUSED, one.problem)
    route = rules.traffic.verdict(one.request.method, one.request.url)
    if route in (Route.QUIET, Route.IGNORED):
        return Judged(Outcome.REFUSED, f"never played: {_why_passed(route, one.request)}", is_never_played=True)
    if one.bodyless and not rules.keep_bodyless:
        why = "its request's body was not recorded (--keep-bodyless imports it all the same)"
        return Judged(Outcome.REFUSED, why, needs_flag=True)
    judgement = gate.judge(one.request, one.response, rules.contracts, root=rules.root)
    if judgement.kind is not Kind.GOOD and rules.keep:  # what is good without it stays good
        judgement = gate.judge(one.request, one.response, rules.contracts, keep=rules.keep, root=rules.root)
    if judgement.kind not in (Kind.GOOD, Kind.KEPT):
        return Judged(Outcome.WOULD_NOT_RECORD, _said(judgement, one.request, one.response, rules), needs_flag=True)
    scrubbing = rules.scrubber.begin()
    entry = _entry(one, one.request, one.response, judgement, rules, scrubbing)
    entry = replace(entry, provenance=_provenance(entry, one, path, commit, scrubbing))
    return Judged(
        Outcome.LOOSE if one.bodyless else Outcome.IMPORTED,
        judgement.verdict,
        entry,
        _secrets(one.request, one.response, entry),
        is_local=route is Route.LOCAL,
    )


def quiet_kind(request: Request) -> str:
    """Name what a request is by the quiet list: `telemetry`; empty where the list does not name it."""
    found = (kind for kind, traffic in _quiet() if traffic.verdict(request.method, request.url) is Route.IGNORED)
    return next(found, "")


@lru_cache(1)
def _quiet() -> tuple[tuple[str, Traffic], ...]:
    return tuple((kind, Traffic(ignore=patterns)) for kind, patterns in QUIET)


def _why_passed(route: Route, request: Request) -> str:
    if route is Route.IGNORED:
        return "the settings ignore it"
    return quiet_kind(request) or "the settings call it quiet"


def _said(judgement: Judgement, request: Request, response: Response, rules: Rules) -> str:
    """Return why the gate refuses, in its own words, what an answer holds scrubbed."""
    scrubbing = rules.scrubber.begin()
    scrubbing.request(request)  # what they carry is looked for by its value
    scrubbing.response(response)
    details = [judgement.reading.error or "", *(str(violation) for violation in judgement.violations[:1])]
    said = "; ".join(one_line(scrubbing.text(detail), 160) for detail in details if detail)
    return f"{judgement.reason}: {said}" if said else judgement.reason


def _entry(
    one: Interaction, request: Request, response: Response, judgement: Judgement, rules: Rules, scrubbing: Scrubbing
) -> Entry:
    # A request without its body has no key of its own: it lies under that of its method and URL alone.
    asked = scrubbing.request(Request(request.method, request.url) if one.bodyless else request)
    answered = scrubbing.response(response)
    dialect, reading = judgement.dialect, judgement.reading
    if dialect and reading.answer and (content := content_of(response)):
        content = answered if content is response else scrubbing.response(content)
        reading = dialect.read(asked, content)
    days = _days(response, rules.keyer)
    return Entry(
        verdict=judgement.verdict,
        request=asked,
        response=answered,
        key=rules.keyer.key(asked, days),
        ordinal=0,
        key_spec=key_specs.current(rules.keyer.spec(days)),
        contract=judgement.contract,
        unjudged=judgement.unjudged,
        provenance={
            "model_asked": dialect.model_asked(asked) if dialect else None,
            "model_served": reading.model,
        },
        dialect=f"{dialect.name}/{dialect.version}" if dialect and reading.answer else None,
        answer=reading.answer,
        violations=tuple(
            replace(each, path=scrubbing.text(each.path), found=scrubbing.text(each.found))
            for each in judgement.violations
        ),
        metrics=_metrics(judgement),
        scrubbed=scrubbing.spans,
        extra={LOOSE: True} if one.bodyless else {},
    )


def _provenance(entry: Entry, one: Interaction, path: str, commit: str, scrubbing: Scrubbing) -> Mapping[str, Any]:
    """Say where an entry comes from; what vcrpy did not write down is not invented."""
    answered = _answered_at(one.response)
    agent = header(one.request.headers, "user-agent") if one.request else None
    came: dict[str, Any] = {"path": path, "position": one.position}
    if one.notes:
        came["notes"] = list(one.notes)
    found = {
        "recorded_at": answered.strftime("%Y-%m-%dT%H:%M:%SZ") if answered else None,
        "commit": commit,
        "recorder": "vcrpy",
        "sdk": sdk_of(scrubbing.text(agent)) if agent else None,
        **entry.provenance,
        "imported_from": came,
    }
    return {name: value for name, value in found.items() if value}


def _days(response: Response, keyer: Keyer) -> tuple[date, ...] | None:
    """Return what counted as today when a response was recorded."""
    days = keyer.today()
    answered = _answered_at(response)
    return days if days is None or answered is None else (answered.date(),)


def _answered_at(response: Response | None) -> datetime | None:
    """Return when the provider says that it answered; None where it does not, or nobody could have."""
    said = header(response.headers, "date") if response else None
    try:
        found = parsedate_to_datetime(said) if said else None
    except (ValueError, IndexError, OverflowError):
        return None
    if found is None:
        return None
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return found if _EARLIEST < found <= datetime.now(UTC) else None


def _metrics(judgement: Judgement) -> Mapping[str, Any]:
    reading = judgement.reading
    found = {"input_tokens": reading.input_tokens, "output_tokens": reading.output_tokens}
    return {name: value for name, value in found.items() if value is not None}


def _secrets(request: Request, response: Response, entry: Entry) -> Mapping[str, int]:
    """Count what was scrubbed: placeholders by their kind, and what was left out of the envelope by its name."""
    found = _placeholders(entry.request, entry.response)
    found.subtract(_placeholders(request, response))
    for place in entry.scrubbed:
        side, _, name = place.partition(".headers.")
        url = name or place.removeprefix("request.url")
        if url != place and ("?" in url or url.endswith("@")):
            found["credential in a URL"] += 1
        elif name and header((entry.request if side == "request" else entry.response).headers, name) is None:
            found[f"{name} header"] += 1
    return {kind: number for kind, number in sorted(found.items()) if number > 0}


def _placeholders(request: Request, response: Response) -> Counter[str]:
    texts = (unquote_plus(text) if "%5B" in text else text for text in _texts(request, response))
    found = {placeholder for text in texts for placeholder in PLACEHOLDER.findall(text)}
    return Counter(kind for kind, _ in found)


def _texts(request: Request, response: Response) -> Iterable[str]:
    yield request.url
    for side in (request, response):
        yield "\n".join(value for _, value in side.headers)
        yield side.body.decode("latin-1")
