"""Entries as they may be shown: what is stored was scrubbed when it was recorded, by the list of that day."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from onetake.model import Answer, Choice, Entry, ToolCall
from onetake.scrub import Scrubbing
from onetake.upkeep.projects import Project
from onetake.upkeep.secrets import without


def cleaned(entry: Entry, project: Project) -> Entry:
    """Return an entry without what the list of today, or a rule of the project, calls a secret.

    Args:
        entry: As it is stored; others may have written anything into it.
        project: Its own.
    """
    scrubbing = scrubbing_for(entry, project)
    text = scrubbing.text
    contract = entry.contract and replace(entry.contract, name=text(entry.contract.name))
    return replace(
        without(entry, scrubbing),
        verdict=text(entry.verdict),
        request=scrubbing.request(entry.request),
        response=scrubbing.response(entry.response),
        dialect=entry.dialect and text(entry.dialect),
        answer=entry.answer and _answer(entry.answer, scrubbing),
        contract=contract,
        scrubbed=tuple(map(text, entry.scrubbed)),
    )


def unseen_headers(entry: Entry, shown: Entry, old: Entry) -> tuple[str, ...]:
    """Return the headers that differ in two entries and are not shown, by their places.

    Args:
        entry: As it is stored.
        shown: The same, cleaned.
        old: What it is compared with, as it is stored.
    """
    found: set[str] = set()
    for side in ("request", "response"):
        now, kept, before = (getattr(one, side).headers for one in (entry, shown, old))
        differing = {name.lower() for name, _ in set(now) ^ set(before)}
        found |= {f"{side}.headers.{name}" for name in differing - {name.lower() for name, _ in kept}}
    return tuple(sorted(found))


def scrubbing_for(entry: Entry, project: Project) -> Scrubbing:
    """Begin to scrub an interaction as its project scrubs; headers that its own key rules count are kept."""
    headers = entry.key_spec.rules.get("headers", ())
    named = headers if isinstance(headers, (list, tuple)) else ()
    return project.scrubber(tuple(name for name in named if isinstance(name, str))).begin()


def _answer(answer: Answer, scrubbing: Scrubbing) -> Answer:
    data: dict[str, Any] = scrubbing.data(asdict(answer), "answer")
    return Answer(tuple(_choice(**choice) for choice in data["choices"]))


def _choice(tool_calls: list[dict[str, Any]], **said: Any) -> Choice:
    return Choice(tool_calls=tuple(ToolCall(**call) for call in tool_calls), **said)
