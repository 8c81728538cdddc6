"""What vcrpy's default matching makes of a file: requests that it cannot tell apart, and those that were repeated."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from onetake import dialects
from onetake.by_url import place
from onetake.gate import content_of
from onetake.importers.reading import Interaction
from onetake.key import Keyer
from onetake.model import Answer, Request, Response
from onetake.scrub.heads import without_credentials

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
    """Requests with two or more different bodies each that vcrpy's default matching cannot tell apart."""
    repeated: int = 0
    """Requests that were recorded twice or more."""
    other_answers: int = 0
    """Those of them with answers that differ in more than ids and times."""
    other_statuses: int = 0
    """Those of them with answers that differ in status."""
    only_credentials: int = 0
    """Those of them with other answers to URLs that differ in credentials: nothing else tells these apart."""

    def __add__(self, other: Groups) -> Groups:
        return Groups(
            self.distinct + other.distinct,
            self.url_only + other.url_only,
            self.repeated + other.repeated,
            self.other_answers + other.other_answers,
            self.other_statuses + other.other_statuses,
            self.only_credentials + other.only_credentials,
        )


def by_request(interactions: Iterable[Interaction]) -> list[list[Interaction]]:
    """Put the interactions of one file together that have one method, URL and canonical body."""
    found: dict[str, list[Interaction]] = defaultdict(list)
    for one in interactions:
        if one.request is not None and not one.bodyless:
            found[identity(one.request)].append(one)
    return list(found.values())


def groups_of(groups: Sequence[Sequence[Interaction]]) -> Groups:
    """Count the groups among the interactions of one file.

    Args:
        groups: As `by_request` gives them.
    """
    bodies: dict[Any, set[str]] = defaultdict(set)
    for request in (_parts(group[0])[0] for group in groups):
        bodies[place(request.method, without_credentials(request.url)[0])].add(_body(request))
    repeated = [found for group in groups if len(found := [one for one in group if one.response]) > 1]
    others = [found for found in repeated if len({_said(*_parts(one)) for one in found}) > 1]
    return Groups(
        distinct=len(groups),
        url_only=sum(len(found) > 1 for found in bodies.values()),
        repeated=len(repeated),
        other_answers=len(others),
        other_statuses=sum(len(_by_status(found)) > 1 for found in repeated),
        only_credentials=sum(bool(_credentials(found)) for found in others),
    )


def notes_of(groups: Sequence[Sequence[Interaction]]) -> dict[int, list[str]]:
    """Say of each interaction, by its position, what else its request was answered with, and where.

    That is another status; or another answer to a URL that differs only in credentials, since these have one key.

    Args:
        groups: As `by_request` gives them.
    """
    found: dict[int, list[str]] = defaultdict(list)
    for group in groups:
        answered = [one for one in group if one.response]
        for position, note in (*_statuses(answered), *_others(answered)):
            found[position].append(note)
    return found


def _parts(one: Interaction) -> tuple[Request, Response]:
    assert one.request is not None
    return one.request, one.response or Response(0, (), b"")


def _by_status(group: Sequence[Interaction]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = defaultdict(list)
    for one in group:
        found[_parts(one)[1].status].append(one.position)
    return found


def _statuses(group: Sequence[Interaction]) -> Iterator[tuple[int, str]]:
    answered = _by_status(group)
    for status, positions in answered.items() if len(answered) > 1 else ():
        yield from ((position, f"{SAME_REQUEST} {_either(answered, status)}") for position in positions)


def _others(group: Sequence[Interaction]) -> Iterator[tuple[int, str]]:
    names = _credentials(group)
    if not names or len({_said(*_parts(one)) for one in group}) < 2:
        return
    first: dict[str, int] = {}
    for one in group:
        first.setdefault(_parts(one)[0].url, one.position)
    for one in group:
        other = next(position for url, position in first.items() if url != _parts(one)[0].url)
        yield one.position, f"its URL differs from that of position {other} only in {names}: they have one key"


def _credentials(group: Sequence[Interaction]) -> str:
    """Name the credentials in which the URLs of one request differ; empty where they do not."""
    removed = [_removed(url) for url in {_parts(one)[0].url for one in group}]
    names = sorted({name for one in removed for name in one})
    return ", ".join(name for name in names if len({tuple(one.get(name, ())) for one in removed}) > 1)


def _removed(url: str) -> dict[str, list[str]]:
    """Return the credentials of a URL by name; the user counts besides the password."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, value in without_credentials(url)[1]:
        found[name].append(urlsplit(url).netloc.rpartition("@")[0] if name == "userinfo" else value)
    return found


def _either(statuses: dict[int, list[int]], own: int) -> str:
    return ", ".join(f"{status} (position {places[0]})" for status, places in statuses.items() if status != own)


def identity(request: Request) -> str:
    """Return what two requests share that have one method, URL and canonical body, whatever their other headers."""
    headers = tuple(pair for pair in request.headers if pair[0].lower() in _COUNTED_HEADERS)
    return _KEYER.key(Request(request.method, without_credentials(request.url)[0], headers, request.body))


def _body(request: Request) -> str:
    """Return what two requests share that have one canonical body, whatever their method and URL."""
    return identity(replace(request, method="", url=""))


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
