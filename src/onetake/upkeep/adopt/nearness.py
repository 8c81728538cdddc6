"""Which of many requests is most like another: by the rare words that they share, then by how far apart they are."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from onetake.compare import distance
from onetake.key import Keyer
from onetake.model import Request
from onetake.stores.naming import Slot

_WORD = re.compile(rb"[\w\x80-\xff]+")
_LOOKED = 100_000
"""Bytes of one request in which words are looked for."""
_COMMON = 50
"""Requests that may share a word before it tells nothing."""
_COMPARED = 6
"""Requests that are compared as wholes, of those that share the most rare words."""
_CLEAR = 2
"""How many times as many words as another a request must share for the other not to be compared."""
_UNLIKE = 20
"""Requests that are compared where none shares a rare word."""
_UNLIKE_IN_ALL = 2_000
"""Such comparisons that are made at all: of thousands of requests, each would be made for each."""
_ALIKE = 0.5
"""What part of a request may differ, at most, from the one that takes its place."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, stored or missed, and what is known of who asked.

    Args:
        path: The entry's file; None where it is not stored.
        key: Its key.
        ordinal: 0 or more.
        test: The test's id, empty where none asked.
        at: When, RFC 3339; empty where that is not known.
        request: Without its secrets.
        rules: The key rules in force.
    """

    path: Path | None
    key: str
    ordinal: int
    test: str
    at: str
    request: Request
    rules: Mapping[str, Any]

    @property
    def slot(self) -> Slot:
        """What its entry is found by."""
        return self.key[:16], self.ordinal

    def parts(self) -> dict[str, Any]:
        """Return what is keyed of it.

        Raises:
            FormatError: Its rules are damaged.
        """
        keyer, days = _keying(json.dumps(self.rules))
        return keyer.parts(self.request, days)


@lru_cache(64)  # a keyer is dear to make, and many requests are under the same rules
def _keying(rules: str) -> tuple[Keyer, tuple[date, ...] | None]:
    return Keyer.from_spec(json.loads(rules))


class Nearness:
    """Requests, of which the one that is most like another is looked for.

    Args:
        requests: Those that there are.
    """

    def __init__(self, requests: Iterable[Asked]) -> None:
        self._requests = tuple(requests)
        self._unlike_left = _UNLIKE_IN_ALL
        self._by_word: dict[bytes, list[int]] = defaultdict(list)
        for number, one in enumerate(self._requests):
            for word in _words(one.request):
                sharing = self._by_word[word]
                if len(sharing) <= _COMMON:
                    sharing.append(number)

    def nearest(self, asked: Asked, fits: Callable[[Asked], bool]) -> Asked | None:
        """Return the request that is most like another one; None where none is like it.

        Args:
            asked: The other one.
            fits: Tells which requests may be returned.
        """
        parts = asked.parts()
        near = list(islice(self._sharing(asked.request, fits), _COMPARED))
        if not near:
            near = list(islice(filter(fits, self._requests), min(_UNLIKE, self._unlike_left)))
            self._unlike_left -= len(near)
        found = min(((distance(parts, one.parts()), number) for number, one in enumerate(near)), default=None)
        if found is None or found[0] > _ALIKE * len(asked.request.body):
            return None
        return near[found[1]]

    def _sharing(self, request: Request, fits: Callable[[Asked], bool]) -> Iterator[Asked]:
        """Yield those that share rare words with a request, the ones that share the most first."""
        votes: Counter[int] = Counter()
        for word in _words(request):
            sharing = self._by_word.get(word, ())
            if len(sharing) <= _COMMON:
                votes.update(sharing)
        first = 0
        for number, shared in votes.most_common():
            if fits(self._requests[number]):
                if shared * _CLEAR < first:
                    return
                first = first or shared
                yield self._requests[number]


def _words(request: Request) -> set[bytes]:
    return {match[0] for match in _WORD.finditer(request.body, 0, _LOOKED)}
