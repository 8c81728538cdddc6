"""What no batch needs any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from onetake.batch.pruning import check_known, prunable, prune
from onetake.batch.remembering import Told
from onetake.batch.running import run
from onetake.errors import UsageError

LATER = datetime.now(UTC) + timedelta(days=30)


@pytest.fixture
def batch(filling):
    """A batch of one record, on a store that also has the reply of another."""
    filling.write({"m": "a"}, {"m": "gone"})
    first = filling.opened()
    run(first, filling.folder / "rows.jsonl")
    first.close()
    filling.write({"m": "a"})
    found = filling.opened()
    yield found
    found.close()


def can_go(batch, *, batches=None, asked=None, older_than=14.0, now=LATER):
    needing = [batch] if batches is None else batches
    return prunable(batch.store, needing, asked, older_than=older_than, now=now)


def test_what_a_batch_leads_to_stays_and_the_rest_goes(batch):
    found = can_go(batch)
    assert (found.entries, found.needed, found.young, found.foreign, len(found.slots)) == (2, 1, 0, 0, 1)
    assert (found.models, found.bytes > 0) == ({"m": 1}, True)
    prune(batch.store, batch.job.run.store, found)
    assert can_go(batch).entries == 1
    assert [batch.resolver.resolve(record).failure for record in batch.records()] == [None]


def test_without_a_batch_all_may_go(batch):
    assert len(can_go(batch, batches=[]).slots) == 2


def test_age_counts_from_the_recording(batch):
    soon = datetime.now(UTC) + timedelta(days=13)
    assert (can_go(batch, now=soon).young, can_go(batch, now=soon, older_than=12).young) == (1, 0)


def test_what_no_batch_has_asked_is_somebody_elses(batch):
    with_ledger = batch.ledger()
    keys = list(with_ledger.asked())
    with_ledger.close()
    assert len(set(keys)) == 2
    assert len(can_go(batch, asked=iter(keys)).slots) == 1
    assert (can_go(batch, asked=iter([])).foreign, can_go(batch, asked=iter([])).slots) == (1, ())


def test_nothing_to_delete_leaves_the_file_as_it_is(batch):
    batch.store.close()
    path = batch.job.run.store
    before = path.read_bytes()
    prune(batch.store, path, can_go(batch, older_than=90))
    batch.store.close()
    assert path.read_bytes() == before


@pytest.mark.parametrize(("job", "source"), [("", "in.jsonl"), ("job.toml", "-")])
def test_what_cannot_be_told_is_no_reason_to_delete(job, source):
    told = Told(job, source, "jsonl", None, "rows.jsonl", False, 0, "calls.db")
    with pytest.raises(UsageError, match="--forget"):
        check_known([told], "calls.db")
