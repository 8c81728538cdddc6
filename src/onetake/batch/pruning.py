"""Stored replies that no batch of this store needs any more: what is left of edited prompts and of old inputs."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from onetake.batch.opening import Opened
from onetake.batch.remembering import Told
from onetake.batch.resolving import Needed
from onetake.batch.seen import Seen
from onetake.cassette import Cassette
from onetake.errors import StoreError, UsageError
from onetake.model import Entry
from onetake.stores import Store
from onetake.stores.naming import Slot

GRACE_DAYS = 14.0
"""Younger replies stay: what made them may be about to be used again."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What can go.

    Args:
        entries: How many entries the store holds.
        needed: Those that a batch leads to.
        young: Those that no batch leads to, and that are too young.
        foreign: Those that no batch has asked: of `use_cassette`, say.
        slots: What can go.
        bytes: Of these, uncompressed.
        models: Of these, by the model that was asked and the contract.
    """

    entries: int
    needed: int
    young: int
    foreign: int
    slots: tuple[Slot, ...]
    bytes: int
    models: dict[str, int]


def prunable(
    store: Store, batches: Sequence[Opened], asked: Iterator[str] | None, *, older_than: float, now: datetime
) -> Pruned:
    """Say what can go: what no batch leads to, what a batch has asked, and what is old enough.

    Args:
        store: The store.
        batches: All that need it; each is resolved from its first record to its last.
        asked: The keys that batches have asked; None where it does not matter who has.
        older_than: Days since the recording.
        now: The time.

    Raises:
        StoreError: The store as a whole cannot be read.
        UsageError: An input cannot be read.
    """
    with closing(Seen("needed", "asked")) as seen:
        for batch in batches:
            for key in _reached(batch):
                seen.add("needed", key)
        for key in asked or ():
            seen.add("asked", key)
        is_ours = (lambda key: seen.has("asked", key)) if asked is not None else (lambda key: True)
        return _sorted_out(store, seen, is_ours, now - timedelta(days=older_than))


def prune(store: Store, path: Path, found: Pruned) -> None:
    """Delete what can go, and give the disk its room back.

    Raises:
        StoreError: Something cannot be deleted.
    """
    for key, ordinal in found.slots:
        store.delete(key, ordinal)
    store.close()
    if path.is_file() and found.slots:
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute("VACUUM")
        except sqlite3.Error as error:
            raise StoreError(f"{store.place}: cannot be made smaller: {error}") from error


def check_known(told: Sequence[Told], store: str) -> None:
    """See that what all batches of a store need can be told.

    Raises:
        UsageError: It cannot: an input is gone or came from standard input, or Python code made the job.
    """
    for one in told:
        why = "Python code made its job" if not one.job else "its input came from standard input"
        if not one.job or one.input == "-":
            raise UsageError(
                f"{store}: what {one.output} needs cannot be told, as {why}; `--forget` gives up what only it needs"
            )


def _reached(batch: Opened) -> Iterator[str]:
    for record in batch.records():
        found = batch.resolver.resolve(record)
        yield from found.keys
        if isinstance(found, Needed):  # stale, or damaged: a run may replace it
            yield found.reply.asked.key


def _sorted_out(store: Store, seen: Seen, is_ours: Callable[[str], bool], before: datetime) -> Pruned:
    cassette, counts = Cassette(store), Counter[str]()
    models, slots, size = Counter[str](), list[Slot](), 0
    for key, ordinal in store.names():
        counts["entries"] += 1
        if seen.has("needed", key):
            counts["needed"] += 1
        elif not is_ours(key):
            counts["foreign"] += 1
        elif not isinstance(entry := cassette.load(key, ordinal), Entry) or _recorded(entry) > before:
            counts["young"] += 1
        else:
            slots.append((key, ordinal))
            size += len(store.get(key, ordinal) or b"")
            contract = f", {entry.contract.name} v{entry.contract.schema_version}" if entry.contract else ""
            models[f"{entry.provenance.get('model_asked') or 'unknown'}{contract}"] += 1
    return Pruned(
        entries=counts["entries"],
        needed=counts["needed"],
        young=counts["young"],
        foreign=counts["foreign"],
        slots=tuple(slots),
        bytes=size,
        models=dict(sorted(models.items())),
    )


def _recorded(entry: Entry) -> datetime:
    """Return when an entry was recorded; one that does not say so is as young as can be."""
    try:
        found = datetime.fromisoformat(str(entry.provenance.get("recorded_at", "")))
    except ValueError:
        return datetime.max.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
