"""Replies that are to be asked again: they leave the store for the trash, for they were paid for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from onetake.aside import AsideStore
from onetake.batch.failures import Failure
from onetake.batch.opening import Opened
from onetake.batch.reporting import failures
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


def retire(batch: Opened, only: Collection[Failure]) -> Retired:
    """Move the replies of rows that failed to the trash, with the bad ones before them, so that a run asks again.

    That run has the output and the store already, and all that it takes to ask: else a row would lose its reply for
    nothing.

    Args:
        batch: A job on an input.
        only: The classes.

    Raises:
        StoreError: A reply cannot be read, or not be moved.
    """
    cassette = Cassette(batch.store)
    trash = AsideStore(batch.settings.root, "trash", batch.job.run.store.with_suffix(""))
    rows = replies = 0
    for failed in failures(batch, only):
        rows += 1
        for key in failed.keys:
            entry = cassette.load(key, 0)
            if isinstance(entry, Entry):  # not another row's, which moved it already
                move(batch.store, trash, entry)
                replies += 1
    return Retired(rows, replies)
