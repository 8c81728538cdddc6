"""Stored replies that no batch of this store needs any more: what is left of edited prompts and of old inputs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from onetake.batch.ledger import Ledger
from onetake.batch.opening import Opened
from onetake.batch.resolving import Needed
from onetake.batch.seen import Seen
from onetake.cassette import Cassette
from onetake.errors import StoreError
from onetake.model import Entry
from onetake.stores import DiskStore
from onetake.stores.naming import Slot, side_digest
from onetake.upkeep.holding import digests_in
from onetake.upkeep.packing import size_of
from onetake.validity import moment

GRACE_DAYS = 14.0
"""Younger replies stay: what made them may be about to be used again."""

_AT_ONCE = 1000
_WRITERS = 16
"""Deletions that wait for the disk together."""

Pinned = Callable[[Path, Entry], bool]
"""Tells of an entry, by the path that it has, or would have as a file of its own, whether it is pinned."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What may go.

    Args:
        now: The time.
        older_than: Days since the recording; what is younger stays.
        prompts: How many of the last prompts keep all that they asked.
        foreign: Whether what no batch has asked may go, too.
        most: Bytes that the store may take: then the oldest replies go, as many as it needs. None: all that may go.
    """

    now: datetime
    older_than: float = GRACE_DAYS
    prompts: int = 0
    foreign: bool = False
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Going:
    """A reply that goes.

    Args:
        slot: Its name in the store.
        at: When it was recorded.
        size: Bytes, as it is stored.
        job: The digest of the job that asked it last, whose prompt it answers; empty where no batch did.
    """

    slot: Slot
    at: datetime
    size: int
    job: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What can go, and what keeps the rest: each entry is counted once.

    Args:
        entries: How many entries the store holds.
        needed: Those that the last run of an output leads to.
        kept: Those that one of the last prompts has asked.
        foreign: Those that no batch has asked: of `use_cassette`, say.
        damaged: Those that cannot be read.
        young: Those that are too young.
        pinned: Those that are pinned.
        going: Those that can go, the oldest first.
        size: Bytes of the store.
        over: Bytes beyond the limit when all of these are gone: what is left may not go.
    """

    entries: int
    needed: int
    kept: int
    foreign: int
    damaged: int
    young: int
    pinned: int
    going: tuple[Going, ...]
    size: int
    over: int


def prunable(
    store: DiskStore,
    path: Path,
    needed: Iterable[str],
    ledger: Ledger,
    rules: Rules,
    is_pinned: Pinned,
    unfinished: Collection[str] = (),
) -> Pruned:
    """Say what can go.

    Args:
        store: The store.
        path: Where it is.
        needed: The keys of all replies that an output needs, some of them several times.
        ledger: Of the store.
        rules: What may go.
        is_pinned: Tells what may not.
        unfinished: The digests of jobs, of which all that they asked is needed.

    Raises:
        StoreError: The store as a whole cannot be read.
    """
    jobs = list(dict.fromkeys(run.job_digest for run in ledger.runs()))
    number_of = {job: number for number, job in enumerate(jobs)}
    with closing(Seen("needed", "asked")) as seen:
        for key in needed:
            seen.add("needed", key)
        for job, key in ledger.asked():
            if job in unfinished:
                seen.add("needed", key)
            seen.note("asked", key, number_of.get(job, len(jobs)))
        return _Sorting(store, path, seen, jobs, rules, is_pinned).result()


def prune(store: DiskStore, path: Path, going: Sequence[Going]) -> None:
    """Delete replies, and the bodies that only they name, and give the disk its room back.

    It may be killed at any moment: then some are gone, and another prune takes the rest.

    Args:
        store: The store.
        path: Where it is.
        going: What goes.

    Raises:
        StoreError: Something cannot be deleted.
    """
    slots = [one.slot for one in going]
    named = _digests(store, slots) if _bodies(store) else set()
    with ThreadPoolExecutor(_WRITERS) as threads:
        for at in range(0, len(slots), _AT_ONCE):
            list(threads.map(lambda slot: store.delete(*slot), slots[at : at + _AT_ONCE]))
    _sweep(store, named)
    store.close()
    if path.is_file() and slots:
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise StoreError(f"{store.place}: cannot be made smaller: {error}") from error


def reached(batch: Opened) -> Iterator[str]:
    """Return the keys of all replies that a batch leads to, from its first record to its last.

    Raises:
        StoreError: The store cannot be read.
        UsageError: The input cannot be read.
    """
    for record in batch.records():
        found = batch.resolver.resolve(record)
        yield from found.keys
        if isinstance(found, Needed):  # stale, or damaged: a run may replace it
            yield found.reply.asked.key


class _Sorting:
    """Each entry of a store, and what becomes of it."""

    def __init__(
        self, store: DiskStore, path: Path, seen: Seen, jobs: Sequence[str], rules: Rules, is_pinned: Pinned
    ) -> None:
        self._store, self._path = store, path
        self._cassette = Cassette(store)
        self._seen, self._jobs = seen, jobs
        self._rules, self._is_pinned = rules, is_pinned
        self._before = rules.now - timedelta(days=rules.older_than)

    def result(self) -> Pruned:
        counts, may_go = Counter[str](), list[Going]()
        for slot in self._store.names():
            found = self._sorted(slot)
            if isinstance(found, Going):
                may_go.append(found)
            else:
                counts[found] += 1
        may_go.sort(key=lambda one: one.at)
        size, most = size_of(self._path), self._rules.most
        going = may_go if most is None else list(_oldest(may_go, size - most))
        left = size - sum(one.size for one in going)
        why = {word: counts[word] for word in ("needed", "kept", "foreign", "damaged", "young", "pinned")}
        over = 0 if most is None else max(0, left - most)
        return Pruned(counts.total() + len(may_go), **why, going=tuple(going), size=size, over=over)

    def _sorted(self, slot: Slot) -> Going | str:
        """Return what goes, or the word for why it stays."""
        key, ordinal = slot
        if self._seen.has("needed", key):
            return "needed"
        number = self._seen.number("asked", key)
        if number is None and not self._rules.foreign:
            return "foreign"
        if number is not None and number < self._rules.prompts:
            return "kept"
        entry = self._cassette.load(key, ordinal)
        if not isinstance(entry, Entry):
            return "damaged"
        at = _recorded(entry)
        if at > self._before:
            return "young"
        if self._is_pinned(self._path / Path(self._store.locate(key, ordinal)).name, entry):
            return "pinned"
        job = self._jobs[number] if number is not None and number < len(self._jobs) else ""
        return Going(slot, at, _stored_size(self._store, slot), job)


def _oldest(may_go: Sequence[Going], wanted: int) -> Iterator[Going]:
    """Give as many as free the bytes that are wanted."""
    for one in may_go:
        if wanted <= 0:
            return
        wanted -= one.size
        yield one


def _stored_size(store: DiskStore, slot: Slot) -> int:
    data = store.raw(*slot)
    return len(data or b"")


def _recorded(entry: Entry) -> datetime:
    """Return when an entry was recorded; one that does not say so is as young as can be."""
    return moment(entry.provenance.get("recorded_at")) or datetime.max.replace(tzinfo=UTC)


def _bodies(store: DiskStore) -> dict[str, str]:
    """Return the sidecars that hold bodies, by digest. Schemas stay: they are small, and shared by all entries."""
    return {digest: name for name in store.side_names() if (digest := side_digest(name)) is not None}


def _digests(store: DiskStore, slots: Sequence[Slot]) -> set[str]:
    return {digest for slot in slots for digest in digests_in(store.get(*slot) or b"")}


def _sweep(store: DiskStore, named: set[str]) -> None:
    """Delete the bodies that deleted entries named, and that none names any more."""
    bodies = {digest: name for digest, name in _bodies(store).items() if digest in named} if named else {}
    for slot in store.names() if bodies else ():
        try:
            data = store.get(*slot) or b""
        except StoreError:
            return  # damaged: it may name any
        for digest in digests_in(data):
            bodies.pop(digest, None)
    for name in bodies.values():
        _ = store.delete_side(name)
