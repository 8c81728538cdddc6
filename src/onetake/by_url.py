"""What vcrpy's rule compares of a request, and the imported entries that nothing else can find: the loose ones.

Source: vcrpy 9.4, `vcr.matchers` and `vcr.request.Request`, by what they do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlparse

from onetake import forking, misses
from onetake.cassette import Cassette
from onetake.decide import Found
from onetake.errors import StoreError
from onetake.imported import ImportedFrom, imported_from, is_loose, may_be_loose
from onetake.key import Keyer
from onetake.lookup import Looked
from onetake.model import Entry, Repeats, Request
from onetake.printable import one_line
from onetake.scrub.heads import without_credentials
from onetake.steps import Asked, Policy
from onetake.stores.naming import Slot
from onetake.validity import Validity

DEFAULT = ("method", "scheme", "host", "port", "path", "query")
"""What vcrpy compares where nobody says anything."""
_PORTS = {"https": 443, "http": 80}


@lru_cache(maxsize=1024)
def compared(url: str) -> Mapping[str, Any]:
    """Return what each of vcrpy's matchers compares of a URL, by its name; `url` is another name of `uri`.

    A port that is not said is that of the scheme; query parts without a value do not count, nor does the order of the
    others, nor what stands behind a `;` in the path. Total: what is no URL is a path of its own.
    """
    try:
        parts = urlparse(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return {"uri": url, "url": url, "scheme": "", "host": None, "port": None, "path": url, "query": ()}
    start = f"{parts.scheme}://{parts.netloc}"
    uri = f"{start}/{url[len(start) :]}" if not parts.path and url.startswith(start) else url
    return {
        "uri": uri,
        "url": uri,
        "scheme": parts.scheme,
        "host": host,
        "port": _PORTS.get(parts.scheme) if port is None else port,
        "path": parts.path or "/",
        "query": tuple(sorted(parse_qsl(parts.query))),
    }


def place(method: str, url: str) -> tuple[Any, ...]:
    """Return what vcrpy's rule compares of a request where nobody says anything: `DEFAULT`, in that order."""
    return (method, *(compared(url)[name] for name in DEFAULT[1:]))


def target(request: Request, keyer: Keyer) -> str:
    """Return what vcrpy's rule compares of a request to which an entry may answer.

    Credentials in the query do not count: no entry has them; and origins that share entries by a key rule are one.
    """
    keyed = keyer.parts(replace(request, headers=(), body=b""))
    *_, path, query = place(request.method, without_credentials(request.url)[0])
    return repr((keyed["method"], keyed["origin"], path, query))


class Loose:
    """A session's loose entries: they answer by method and URL where otherwise a request would be refused.

    Args:
        policy: What the session goes by.
        cassette: Its entries; looked through once, at the first miss.
        validity: What judges them.
    """

    def __init__(self, policy: Policy, cassette: Cassette, validity: Validity) -> None:
        self._policy = policy
        self._cassette = cassette
        self._validity = validity
        self._entries: list[Entry] | None = None
        self._played: set[tuple[str, int]] = set()
        self._lock = forking.Lock()

    def take(self, looked: Looked, played: Collection[Slot]) -> Entry | None:
        """Return the next loose entry with the method and URL of a request that has none of its own.

        Args:
            looked: What there is for the request.
            played: Key and ordinal of what this session has given out.
        """
        if looked.found not in (Found.ABSENT, Found.EXHAUSTED):
            return None
        asked, keyer = looked.asked, self._policy.keyer
        with self._lock.held:
            if self._entries is None:
                self._entries = list(self._read())
            wanted = {target(asked.request, keyer), target(asked.scrubbed, keyer)} if self._entries else set()
            for entry in self._entries:
                slot = (entry.key, entry.ordinal)
                if self._policy.repeats is Repeats.SEQUENCE and (slot in self._played or slot in played):
                    continue
                if target(entry.request, keyer) in wanted and self._is_valid(entry, asked):
                    self._played.add(slot)
                    return entry
        return None

    def _is_valid(self, entry: Entry, asked: Asked) -> bool:
        return self._validity.of(entry, asked.contracts) is Found.VALID

    def _read(self) -> Iterator[Entry]:
        """Yield them in the order of recording; of a large cassette, most files are not even parsed."""
        store = self._cassette.store
        found = []
        for key, ordinal in store.names():
            data = None
            with suppress(StoreError):  # what cannot be read is refused where it is asked for
                data = store.get(key, ordinal)
            if not may_be_loose(data or b""):
                continue
            entry = self._cassette.load(key, ordinal)
            if isinstance(entry, Entry) and is_loose(entry):
                found.append((imported_from(entry) or ImportedFrom("", 0), entry))
        yield from (entry for _, entry in sorted(found, key=lambda pair: (*pair[0], pair[1].ordinal)))


def loose_note(entry: Entry, request: Request, policy: Policy, cassette: Cassette) -> str:
    """Say that a loose entry answered: one line, at every replay."""
    place = one_line(cassette.store.locate(entry.key, entry.ordinal), 300)
    return f"loose: {misses.line_of(request, policy)} was answered by method and URL alone, whatever it asks: {place}"
