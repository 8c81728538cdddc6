"""What vcrpy's default matching makes of a file: requests that it cannot tell apart, and those that were repeated."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from onetake import dialects
from onetake.gate import content_of
from onetake.importers.reading import Interaction
from onetake.key import Keyer
from onetake.model import Answer, Request, Response

SAME_REQUEST = "the same request was answered with status"
"""How the note begins that names the other statuses of a request."""

_KEYER = Keyer()
_COUNTED_HEADERS = ("content-type", "content-encoding")
_MARKS = re.compile(
    r'"(?:id|[a-z_]*_id|created|created_at|createTime|completed_at|system_fingerprint|responseId|request_id)":'
    r'\s*(?:"[^"]*"|[\d.]+|null)'
)
"""What marks an answer and says nothing: its ids, and when it was made."""


@dataclass(frozen=True, slots=True)
class Groups:
    """What the interactions of one file, or of several, have in common."""

    distinct: int = 0
    """Requests by method, URL and canonical body; those without a recorded body are left out."""
    url_only: int = 0
    """Pairs of method and URL with two or more different bodies: to vcrpy's default matching one request each."""
    repeated: int = 0
    """Requests that were recorded twice or more."""
    other_answers: int = 0
    """Those of them with answers that differ in more than ids and times."""
    other_statuses: int = 0
    """Those of them with answers that differ in status."""

    def __add__(self, other: Groups) -> Groups:
        return Groups(
            self.distinct + other.distinct,
            self.url_only + other.url_only,
            self.repeated + other.repeated,
            self.other_answers + other.other_answers,
            self.other_statuses + other.other_statuses,
        )


def groups_of(interactions: Iterable[Interaction]) -> Groups:
    """Count the groups among the interactions of one file."""
    answers: dict[str, list[tuple[Request, Response]]] = defaultdict(list)
    bodies: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in interactions:
        if one.request is None or one.bodyless:
            continue
        asked = identity(one.request)
        bodies[one.request.method, one.request.url].add(asked)
        answers[asked] += [(one.request, one.response)] if one.response else []
    repeated = [group for group in answers.values() if len(group) > 1]
    return Groups(
        distinct=sum(map(len, bodies.values())),
        url_only=sum(len(each) > 1 for each in bodies.values()),
        repeated=len(repeated),
        other_answers=sum(len({_said(*each) for each in group}) > 1 for group in repeated),
        other_statuses=sum(len({response.status for _, response in group}) > 1 for group in repeated),
    )


def notes_of_statuses(interactions: Iterable[Interaction]) -> dict[int, tuple[str, ...]]:
    """Say of each interaction, by its position, with what other status the same request was answered, and where."""
    answered: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for one in interactions:
        if one.request and one.response and not one.bodyless:
            answered[identity(one.request)][one.response.status].append(one.position)
    return {
        position: (f"{SAME_REQUEST} {_either(statuses, status)}",)
        for statuses in answered.values()
        if len(statuses) > 1
        for status, positions in statuses.items()
        for position in positions
    }


def _either(statuses: dict[int, list[int]], own: int) -> str:
    return ", ".join(f"{status} (position {places[0]})" for status, places in statuses.items() if status != own)


def identity(request: Request) -> str:
    """Return what two requests share that have one method, URL and canonical body, whatever their other headers."""
    headers = tuple(pair for pair in request.headers if pair[0].lower() in _COUNTED_HEADERS)
    return _KEYER.key(Request(request.method, request.url, headers, request.body))


def _said(request: Request, response: Response) -> tuple[int, Any]:
    """Return what a response says, without what marks it."""
    dialect = dialects.find(request.method, request.url) if 200 <= response.status < 300 else None
    content = content_of(response) if dialect else None
    answer = dialect.read(request, content).answer if dialect and content else None
    if answer is not None and answer.choices:
        return response.status, _answer_text(answer)
    return response.status, _MARKS.sub("", response.body.decode("utf-8", "surrogateescape"))


def _answer_text(answer: Answer) -> str:
    """Return an answer as text that is equal for equal answers."""
    said = [
        [
            choice.text,
            choice.finish,
            choice.refusal,
            choice.reasoning,
            [[c.name, c.arguments] for c in choice.tool_calls],
        ]
        for choice in answer.choices
    ]
    return json.dumps(said, sort_keys=True, default=str)
