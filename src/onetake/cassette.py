"""A cassette: the entries that are opened together, found by key and ordinal, and written so that nothing is lost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from threading import RLock
from typing import Any
from urllib.parse import unquote

from onetake import dialects, forking, picking
from onetake.errors import FormatError, StoreError
from onetake.format import dump_entry, load_entry
from onetake.key import Keyer
from onetake.model import Entry
from onetake.scrub.scanning import scan
from onetake.stores import Store
from onetake.stores.naming import Slot, label

_NOTHING: Mapping[str, bytes] = {}


@dataclass(frozen=True, slots=True)
class Damaged:
    """An entry that is there and cannot be read, which is never the same as none."""

    place: str
    why: str


class SecretLeftError(ValueError):
    """Bytes that were about to be written still hold a secret; `args[0]` are the findings, never the secret itself."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An entry in the pending store, and how it goes into the cassette."""

    entry: Entry
    side: Mapping[str, bytes]
    over: bool


class Cassette:
    """One store's entries, and where new ones go.

    Args:
        store: The cassette itself.
        pending: Where new entries wait for their test to pass; None writes them straight into the cassette.
        resume: True lets what an earlier run left in the pending store answer.
    """

    def __init__(self, store: Store, pending: Store | None = None, *, resume: bool = False) -> None:
        self.store = store
        self._pending = pending
        self._left_over: dict[tuple[str, int], Entry] = {}
        self._in_the_way: set[Slot] = set()
        """What lies in the pending store, readable or not; a new entry takes its place."""
        if pending is not None and resume:
            self._left_over, self._in_the_way = _left_over(pending)
        self._waiting: dict[tuple[str, int], _Waiting] = {}
        self._lock = RLock()
        self._stamp: object = None
        self._index: dict[str, set[int]] = {}
        self._refresh()
        self.was_empty = not self._index
        forking.remember(self)

    def renew(self) -> None:
        """Free the lock in a forked child."""
        self._lock = RLock()

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return self.store.place

    @property
    def pending_place(self) -> str:
        """Where new entries wait, for messages; the cassette itself where they do not."""
        return (self._pending or self.store).place

    def ordinals(self, key: str) -> set[int]:
        """Return the ordinals stored for a key; looks again if there are none and another process wrote."""
        with self._lock:
            found = self._index.get(key[:16])
            if not found and self.store.stamp() != self._stamp:
                self._refresh()
                found = self._index.get(key[:16])
            return set(found or ())

    def has(self, key: str, ordinal: int) -> bool:
        """Tell whether an entry is stored; looks again if it is not and another process wrote."""
        with self._lock:
            if ordinal in self._index.get(key[:16], ()):
                return True
            if self.store.stamp() != self._stamp:
                self._refresh()
            return ordinal in self._index.get(key[:16], ())

    def load(self, key: str, ordinal: int) -> Entry | Damaged | None:
        """Read an entry of the cassette, without asking whether it answers today's request."""
        store = self._pending if self._pending and (key, ordinal) in self._waiting else self.store
        try:
            data = store.get(key, ordinal)
            return None if data is None else load_entry(data, store.get_side)
        except (FormatError, StoreError) as error:
            return Damaged(self.store.locate(key, ordinal), str(error))

    def all(self) -> Iterator[tuple[str, int, Entry | Damaged]]:
        """Read every entry, by name: (16 hex digits or more, ordinal, entry); a damaged one does not stop the rest."""
        for key, ordinal in sorted(self.store.names()):
            found = self.load(key, ordinal)
            if found is not None:
                yield key, ordinal, found

    def left_over(self, key: str, ordinal: int) -> Entry | None:
        """Return what an earlier, failed run left for a request."""
        return self._left_over.get((key, ordinal))

    def resume(self, entry: Entry) -> None:
        """Take what an earlier run left as recorded by this one: it goes into the cassette when the test passes."""
        over = entry.ordinal in {ordinal for name, ordinal in self.store.names() if name[:16] == entry.key[:16]}
        with self._lock:
            self._waiting[entry.key, entry.ordinal] = _Waiting(entry, _schema_side(self._pending, entry), over)
            self._index.setdefault(entry.key[:16], set()).add(entry.ordinal)

    def add(self, entry: Entry, side: Mapping[str, bytes] = _NOTHING) -> bool:
        """Write an entry under its ordinal, never over another one.

        Args:
            entry: The scrubbed entry.
            side: Sidecars besides those of the entry's own bodies, by name.

        Returns:
            False if the ordinal is taken, by this session or by another process: exactly one of several gets True.

        Raises:
            SecretLeftError: The last look over all bytes found a secret; nothing was written.
            StoreError: The store could not write.
        """
        if self.has(entry.key, entry.ordinal):
            return False
        over = (entry.key[:16], entry.ordinal) in self._in_the_way
        added = _write(self._pending or self.store, entry, side, over=over)
        self._left_over.pop((entry.key, entry.ordinal), None)
        self._note(_Waiting(entry, side, over=False), written=added)
        return added

    def put(self, entry: Entry, side: Mapping[str, bytes] = _NOTHING) -> None:
        """Write an entry in the place of the one that has its key and ordinal. Raises as `add` does."""
        _write(self._pending or self.store, entry, side, over=True)
        self._note(_Waiting(entry, side, over=True), written=True)

    def take_over(self) -> list[Entry]:
        """Take what this session's child processes put into the pending store as written by this session.

        Where what an earlier run left was in its way, it goes under the first ordinal that is free.
        """
        known = self._in_the_way | {(key[:16], ordinal) for key, ordinal in self._waiting}
        names = sorted(self._pending.names()) if self._pending else []
        found = (self._taken_over(name, ordinal) for name, ordinal in names if (name[:16], ordinal) not in known)
        return [entry for entry in found if entry is not None]

    def _taken_over(self, name: str, ordinal: int) -> Entry | None:
        entry = _read(self._pending, name, ordinal)
        if entry is None:
            return None
        stored = {number for other, number in self.store.names() if other[:16] == entry.key[:16]}
        over = ordinal in stored
        if not over:
            taken = stored | {one.entry.ordinal for (key, _), one in self._waiting.items() if key == entry.key}
            entry = replace(entry, ordinal=next(number for number in count() if number not in taken))
        self._waiting[entry.key, ordinal] = _Waiting(entry, _schema_side(self._pending, entry), over)
        return entry

    def promote(self) -> list[Entry]:
        """Move what waits in the pending store into the cassette; returns the entries as they are there now."""
        if self._pending is None:
            return []
        done = []
        for (key, ordinal), waiting in list(self._waiting.items()):
            entry = waiting.entry
            while not _write(self.store, entry, waiting.side, over=waiting.over):
                entry = replace(entry, ordinal=entry.ordinal + 1)
            self._pending.delete(key, ordinal)
            del self._waiting[key, ordinal]
            done.append(entry)
        return done

    def retire(self, touched: Collection[tuple[str, int]], trash: Store, *, entries: bool) -> None:
        """Move to the trash what waits in the pending store for nobody and, if *entries*, the entries not touched.

        Args:
            touched: Key and ordinal of what was asked for or written.
            trash: Where they go, with their sidecars.
            entries: True moves the cassette's own entries too; one that cannot be read stays where it is.
        """
        slots = {(key[:16], ordinal) for key, ordinal in touched}
        for left in list(self._left_over.values()):
            if self._pending is not None and (left.key[:16], left.ordinal) not in slots:
                _move(self._pending, trash, left)
        for key, ordinal, entry in list(self.all()) if entries else ():
            if isinstance(entry, Entry) and (key[:16], ordinal) not in slots:
                _move(self.store, trash, entry)
        with self._lock:
            self._refresh()

    def _note(self, waiting: _Waiting, *, written: bool) -> None:
        with self._lock:
            self._index.setdefault(waiting.entry.key[:16], set()).add(waiting.entry.ordinal)
            if written and self._pending is not None:
                self._waiting[waiting.entry.key, waiting.entry.ordinal] = waiting

    def _refresh(self) -> None:
        stamp = self.store.stamp()
        index: dict[str, set[int]] = {}
        for key, ordinal in self.store.names():
            index.setdefault(key[:16], set()).add(ordinal)
        for key, ordinal in self._waiting:
            index.setdefault(key[:16], set()).add(ordinal)
        self._index, self._stamp = index, stamp


def _left_over(pending: Store) -> tuple[dict[tuple[str, int], Entry], set[Slot]]:
    """Read what an earlier, failed run left, and list all that is there; what cannot be read answers nothing."""
    found, there = {}, set()
    for name, ordinal in pending.names():
        there.add((name[:16], ordinal))
        if (entry := _read(pending, name, ordinal)) is not None:
            found[entry.key, entry.ordinal] = entry
    return found, there


def _read(pending: Store | None, name: str, ordinal: int) -> Entry | None:
    try:
        return load_entry(pending.get(name, ordinal) or b"", pending.get_side) if pending else None
    except (FormatError, StoreError):
        return None


def _schema_side(pending: Store | None, entry: Entry) -> dict[str, bytes]:
    name = f"_schemas/{entry.contract.schema}.json" if entry.contract else ""
    data = pending.get_side(name) if pending and name else None
    return {name: data} if data is not None else {}


def _move(store: Store, trash: Store, entry: Entry) -> None:
    """Move an entry as it is, not over one that was moved before it."""
    data, sides = dump_entry(entry)
    stored = store.get(entry.key, entry.ordinal)
    for name, content in {**sides, **_schema_side(store, entry)}.items():
        trash.add_side(name, content)
    ordinal = entry.ordinal
    while not trash.add(entry.key, ordinal, stored or data, decoration(entry)):
        ordinal += 1
    store.delete(entry.key, entry.ordinal)


def _write(store: Store, entry: Entry, side: Mapping[str, bytes], *, over: bool) -> bool:
    """Write an entry, and before it its sidecars, so that no entry ever names one that is not there yet.

    The one way to disk for every entry, pending, promoted or rejected: here all bytes are looked over for secrets.
    """
    data, own = dump_entry(entry)
    # A small binary body is in the file as base64, in which what it holds does not show.
    bodies = [body for body in (entry.request.body, entry.response.body) if _is_binary(body)]
    findings = [finding for content in dict.fromkeys((data, *own.values(), *bodies)) for finding in scan(content)]
    if findings:
        raise SecretLeftError(findings)
    for name, content in {**side, **own}.items():
        store.add_side(name, content)
    if over:
        store.replace(entry.key, entry.ordinal, data, decoration(entry))
        return True
    return store.add(entry.key, entry.ordinal, data, decoration(entry))


def _is_binary(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return True
    return False


def decoration(entry: Entry) -> str:
    """Return the words of a file name that are for eyes only: operation and model of the keyed request."""
    request = entry.request
    dialect = dialects.find(request.method, request.url)
    if dialect is None:
        return label(request.method.lower(), "")
    keyer, days = Keyer.from_spec(entry.key_spec.rules)
    keyed = keyer.parts(request, days)
    # Not what the dialect reads in the request as it came: a model that the key ignores must not show in the name.
    model = picking.text(picking.mapping(keyed["body"].get("json")).get("model"))
    return label(dialect.operation, model or _keyed_elsewhere(keyed, dialect.model_asked(request) or ""))


def _keyed_elsewhere(keyed: Mapping[str, Any], model: str) -> str:
    """Return the model that a dialect reads where the key holds it: in the path, or as a form's field; else nothing."""
    if model in unquote(keyed["path"]):  # a deployment; a function is its own model
        return model
    parts = picking.mappings(keyed["body"].get("parts"))
    digest = sha256(model.encode("utf-8", "surrogatepass")).hexdigest()
    return model if any(part["name"] == "model" and part["sha256"] == digest for part in parts) else ""
