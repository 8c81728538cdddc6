"""Replies that are to be asked again: they leave the store for the trash, for they were paid for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from onetake.aside import AsideStore
from onetake.batch.claims import making
from onetake.batch.opening import Opened
from onetake.batch.reporting import failures
from onetake.batch.resolving import Failure
from onetake.cassette import Cassette
from onetake.model import Entry
from onetake.writing import move


@dataclass(frozen=True, slots=True)
class Retired:
    """What was moved.

    Args:
        rows: Rows that will be asked again.
        replies: Replies that went to the trash.
    """

    rows: int
    replies: int


def retire(batch: Opened, out: Path, only: Collection[Failure]) -> Retired:
    """Move the replies of rows that failed to the trash, with the bad ones before them, so that a run asks again.

    Args:
        batch: A job on an input.
        out: The output, which no run may be making.
        only: The classes.

    Raises:
        UsageError: A run is making the output.
        StoreError: A reply cannot be read, or not be moved.
    """
    cassette = Cassette(batch.store)
    trash = AsideStore(batch.settings.root, "trash", batch.job.run.store.with_suffix(""))
    rows = replies = 0
    with making(out):
        for failed in failures(batch, only):
            rows += 1
            for key in failed.keys:
                entry = cassette.load(key, 0)
                if isinstance(entry, Entry):  # not another row's, which moved it already
                    move(batch.store, trash, entry)
                    replies += 1
    return Retired(rows, replies)
