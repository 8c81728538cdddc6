"""What was recorded in one cassette that vcrpy cannot tell apart, should not hold, or cannot give back safely."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from onetake.by_url import compared
from onetake.doctor.shapes import Shape, distinct, said_by, shape_of
from onetake.importers.reading import Interaction, Source
from onetake.key.body import body_text
from onetake.key.rules import NO_RULES
from onetake.model import Request, Response, header
from onetake.scrub import Scrubber, scan
from onetake.scrub.bodies import chunk_edits, chunks
from onetake.scrub.heads import known_values, without_credentials
from onetake.scrub.lanes import Search
from onetake.traffic import Route, Traffic

_STAND_INS = frozenset(
    (
        *("redacted", "filtered", "hidden", "removed", "masked", "scrubbed", "sanitized", "censored", "xxx", "none"),
        *("dummy", "fake", "test", "mock", "mocked", "placeholder", "your", "example", "null"),
    )
)
"""Words of a value that stands where another one was taken out, or where none was needed."""
_ACCOUNTS = frozenset({"organisation id", "project id", "user id"})
"""Kinds that a scrub takes out, and that nobody can use."""
_ITEM = (re.compile(rb"^ *- request:", re.MULTILINE), re.compile(rb'"request"\s*:'), re.compile(rb"^- ", re.MULTILINE))
_OBJECT = re.compile(rb"!!python/|!python/")
_LARGEST = 64 << 20
_traffic = Traffic()
_scrubber = Scrubber()
_search = Search(_scrubber.finder)


@dataclass(frozen=True, slots=True)
class Pair:
    """An interaction that can be read."""

    position: int
    request: Request
    response: Response
    body: str
    """The keyed body, as canonical JSON."""


@dataclass(frozen=True, slots=True)
class Group:
    """Requests with different bodies that vcrpy takes for one.

    Args:
        asked: Method and URL, without credentials.
        bodies: How many different bodies, 2 or more.
        shapes: The shapes of their answers; one where all are alike.
        position: Of the first request that differs from the one before.
    """

    asked: str
    bodies: int
    shapes: tuple[str, ...]
    position: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """One request that was recorded more than once, with different answers.

    Args:
        asked: Method and URL, without credentials.
        times: How often.
        answers: How many different answers, 2 or more.
        statuses: The statuses, in order, each change once; empty where all are the same.
        position: Of the first answer that differs.
    """

    asked: str
    times: int
    answers: int
    statuses: tuple[int, ...]
    position: int


class Recorded:
    """One cassette.

    Args:
        source: As it was read.
        words: What is compared when it is replayed, in vcrpy's words; what it has besides is taken for the place.
    """

    def __init__(self, source: Source, words: tuple[str, ...]) -> None:
        self.path = source.path
        self.interactions = len(source.interactions)
        self.unread = tuple(
            (one.position, one.problem) for one in source.interactions if one.problem and not one.foreign
        )
        self.bodyless = tuple(one.position for one in source.interactions if one.bodyless)
        self.objects = tuple(one.position for one in source.interactions if one.objects)
        self._words = words
        self._pairs = list(_pairs(source.interactions))
        self.secrets = _secrets(source.interactions)

    @cached_property
    def _places(self) -> list[list[Pair]]:
        return _grouped((pair, _place(pair.request, self._words)) for pair in self._pairs)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The places that were asked with different bodies."""
        return tuple(_group(pairs) for pairs in self._places if len({pair.body for pair in pairs}) > 1)

    @cached_property
    def repeats(self) -> tuple[Repeat, ...]:
        """The requests that have different answers."""
        same = (one for pairs in self._places for one in _grouped((pair, pair.body) for pair in pairs) if len(one) > 1)
        return tuple(repeat for pairs in same if (repeat := _repeat(pairs)) is not None)

    @property
    def has_crowds(self) -> bool:
        """Tell whether vcrpy takes two of its requests for one."""
        return any(len(pairs) > 1 for pairs in self._places)

    def line(self, position: int) -> int:
        """Return the line at which an interaction begins, 1 where that cannot be told."""
        data = _bytes(self.path)
        for pattern in _ITEM:
            starts = [found.start() for found in pattern.finditer(data)]
            if len(starts) >= self.interactions > position:
                return _line(data, starts[position])
        return 1

    def line_of_object(self) -> int:
        """Return the line at which the first Python object is named."""
        data = _bytes(self.path)
        found = _OBJECT.search(data)
        return _line(data, found.start()) if found else 1


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST)
    except OSError:
        return b""
    return b"" if data.startswith(b"\x1f\x8b") else data


def _pairs(interactions: Iterable[Interaction]) -> Iterator[Pair]:
    for one in interactions:
        if one.request is None or one.response is None or one.foreign or one.bodyless:
            continue
        if _traffic.verdict(one.request.method, one.request.url) is Route.QUIET:
            continue
        headers = one.request.headers
        kind, encoding = (header(headers, name) or "" for name in ("content-type", "content-encoding"))
        yield Pair(one.position, one.request, one.response, body_text(one.request.body, kind, encoding, NO_RULES))


def _grouped(pairs: Iterable[tuple[Pair, object]]) -> list[list[Pair]]:
    found: dict[object, list[Pair]] = {}
    for pair, key in pairs:
        found.setdefault(key, []).append(pair)
    return list(found.values())


def _place(request: Request, words: tuple[str, ...]) -> tuple[object, ...]:
    """Return what vcrpy compares of a request, its body left out."""
    headers = {name.lower(): value for name, value in reversed(request.headers)}
    parts = {"method": request.method, **compared(request.url), "headers": tuple(sorted(headers.items()))}
    return tuple(parts[word] for word in dict.fromkeys(words) if word in parts)


def _group(pairs: list[Pair]) -> Group:
    bodies = {pair.body for pair in pairs}
    shapes = distinct(shape_of(pair.request, pair.response) for pair in pairs if pair.response.status < 400)
    other = next(pair for pair in pairs if pair.body != pairs[0].body)
    return Group(_asked(pairs[0].request), len(bodies), tuple(map(str, _told_apart(shapes))), other.position)


def _told_apart(shapes: list[Shape]) -> list[str]:
    """Return shapes in words; where two have the same, the kinds of their fields as well."""
    words = list(map(str, shapes))
    if len(set(words)) == len(words):
        return words
    return [
        f"{shape.kind} {{{', '.join(f'{name}: {kind}' for name, kind in shape.fields.items())}}}" for shape in shapes
    ]


def _repeat(pairs: list[Pair]) -> Repeat | None:
    statuses = [pair.response.status for pair in pairs]
    said = [(pair.response.status, said_by(pair.request, pair.response)) for pair in pairs]
    answers = [one for at, one in enumerate(said) if one not in said[:at]]
    if len(answers) < 2:
        return None
    changes = tuple(status for at, status in enumerate(statuses) if not at or status != statuses[at - 1])
    position = next(pair.position for pair, one in zip(pairs, said, strict=True) if one != said[0])
    return Repeat(_asked(pairs[0].request), len(pairs), len(answers), changes if len(changes) > 1 else (), position)


def _asked(request: Request) -> str:
    url = without_credentials(request.url)[0].partition("?")[0]
    return _scrubber.begin().text(f"{request.method} {url}")


def _secrets(interactions: Iterable[Interaction]) -> dict[str, tuple[int, int]]:
    """Return the kinds of secrets that are stored: how many, and the position of the first."""
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    for one in interactions:
        for kind in (kind for kind in _kinds(one) if kind not in _ACCOUNTS):
            counts[kind] += 1
            first.setdefault(kind, one.position)
    return {kind: (number, first[kind]) for kind, number in counts.items()}


def _kinds(one: Interaction) -> Iterator[str]:
    """Yield the kind of each secret in an interaction; cookies and accounts are none here."""
    texts: list[str] = []
    if one.request is not None:
        known = [value for value in known_values(_without_cookies(one.request)) if not _is_stand_in(value)]
        yield from ("credential" for _ in known)
        texts += (value for _, value in one.request.headers if not any(each in value for each in known))
        yield from _in_body(one.request.body)
    if one.response is not None:
        texts += (value for name, value in one.response.headers if name.lower() != "set-cookie")
        yield from _in_body(one.response.body)
    for text in texts:
        yield from (hit.kind for hit in _scrubber.finder.find(text))


def _in_body(body: bytes) -> Iterator[str]:
    if not (found := scan(body)):
        return
    edits = (edit for chunk in chunks(body, "") for edit in chunk_edits(chunk, _search))
    stand_ins = {(edit.hit.kind, edit.where) for edit in edits if edit.hit and _is_stand_in(edit.hit.secret)}
    yield from (one.kind for one in found if (one.kind, one.where) not in stand_ins)


def _is_stand_in(value: str) -> bool:
    return len(set(value)) < 4 or not _STAND_INS.isdisjoint(re.split(r"[\W_]+", value.lower()))


def _without_cookies(request: Request) -> Request:
    headers = tuple(pair for pair in request.headers if pair[0].lower() != "cookie")
    return Request(request.method, request.url, headers)
