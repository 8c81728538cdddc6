"""What no batch needs any more."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from onetake.batch.pruning import Rules, prunable, prune, reached
from onetake.batch.running import replay, run
from onetake.cassette import Cassette
from onetake.errors import UsageError
from onetake.format import dump_entry
from onetake.store_users import alone
from onetake.testing.provider import openai_stream
from onetake.upkeep.packing import faults, size_of

LATER = datetime.now(UTC) + timedelta(days=30)


@pytest.fixture(params=["calls.db", "calls"])
def batch(filling, request):
    """A batch of one record, on a store that also has the reply of another."""
    filling.run["store"] = filling.folder / request.param
    return left_over(filling, {"m": "gone"})


def left_over(filling, *gone):
    filling.write({"m": "a"}, *gone)
    with closing(filling.opened()) as first:
        run(first, filling.folder / "rows.jsonl")
    filling.write({"m": "a"})
    return filling.opened()


def can_go(batch, *, needed=None, pinned=lambda at, entry: False, now=LATER, unfinished=(), **rules):
    keys = reached(batch) if needed is None else needed
    with closing(batch.ledger()) as ledger:
        return prunable(batch.store, batch.job.run.store, keys, ledger, Rules(now, **rules), pinned, unfinished)


def answers(batch):
    return [batch.resolver.resolve(record).answer for record in batch.records()]


def test_what_a_batch_leads_to_stays_and_the_rest_goes(batch):
    found, store = can_go(batch), batch.job.run.store
    assert (found.entries, found.needed, found.young, found.foreign, len(found.going)) == (2, 1, 0, 0, 1)
    assert [one.job for one in found.going] == [batch.job.digest()]
    assert 0 < sum(one.size for one in found.going) < size_of(store)
    before = answers(batch)
    prune(batch.store, store, found.going)
    assert (can_go(batch).entries, answers(batch)) == (1, before)
    batch.store.close()
    assert (list(faults(store)), size_of(store) <= found.size) == ([], True)


def test_without_an_output_all_may_go_but_what_an_unfinished_job_asked(batch):
    assert len(can_go(batch, needed=[]).going) == 2
    assert can_go(batch, needed=[], unfinished={batch.job.digest()}).needed == 2
    assert can_go(batch, needed=[], unfinished={"another"}).needed == 0


def test_age_counts_from_the_recording(batch):
    soon = datetime.now(UTC) + timedelta(days=13)
    assert (can_go(batch, now=soon).young, can_go(batch, now=soon, older_than=12).young) == (1, 0)


def test_what_no_batch_has_asked_is_somebody_elses(batch):
    entry = Cassette(batch.store).load(can_go(batch).going[0].slot[0], 0)
    batch.store.add("0" * 64, 0, dump_entry(replace(entry, key="0" * 64))[0])
    found = can_go(batch)
    assert (found.entries, found.foreign, len(found.going)) == (3, 1, 1)
    found = can_go(batch, foreign=True)
    assert (found.foreign, {one.job for one in found.going}) == (0, {"", batch.job.digest()})


def test_what_is_pinned_stays(batch):
    places = []

    def is_pinned(at, entry):
        places.append(at)
        return entry.ordinal == 0

    found = can_go(batch, pinned=is_pinned)
    assert (found.pinned, found.going) == (1, ())
    assert [(at.parent, at.suffix) for at in places] == [(batch.job.run.store, ".json")]


def test_all_that_one_of_the_last_prompts_asked_can_be_kept(filling):
    with closing(left_over(filling)):
        filling.ask["prompt"] = "Tell {m}"
    with closing(left_over(filling, {"m": "gone"})) as batch:
        digests = [one.job for one in can_go(batch).going]
        assert (len(set(digests)), digests.count(batch.job.digest())) == (2, 1)
        found = can_go(batch, prompts=1)
        assert (found.needed, found.kept, len(found.going)) == (1, 1, 1)
        assert batch.job.digest() not in {one.job for one in found.going}
        assert (can_go(batch, prompts=2).kept, can_go(batch, prompts=2).going) == (2, ())


def test_a_limit_takes_the_oldest_and_never_what_is_needed(filling):
    with closing(left_over(filling, *({"m": f"gone {number}"} for number in range(5)))) as batch:
        whole = can_go(batch)
        assert (len(whole.going), whole.over) == (5, 0)
        assert (can_go(batch, most=whole.size).going, can_go(batch, most=whole.size).over) == ((), 0)
        found = can_go(batch, most=whole.size - 1)
        assert (found.going, found.over) == (whole.going[:1], 0)
        assert [one.at for one in whole.going] == sorted(one.at for one in whole.going)
        found = can_go(batch, most=1)
        assert (len(found.going), found.needed) == (5, 1)
        assert found.over == whole.size - sum(one.size for one in whole.going) - 1
        young = can_go(batch, most=1, now=datetime.now(UTC))
        assert (young.young, young.going, young.over) == (5, (), whole.size - 1)


def test_what_cannot_be_read_stays(filling):
    filling.run["store"] = filling.folder / "calls"
    with closing(left_over(filling, {"m": "gone"})) as batch:
        ((key, ordinal),) = [one.slot for one in can_go(batch).going]
        Path(batch.store.locate(key, ordinal)).write_bytes(b"{")
        assert (can_go(batch).damaged, can_go(batch).going) == (1, ())


@pytest.mark.parametrize("store", ["calls.db", "calls"])
def test_bodies_that_nothing_names_go_with_their_replies(filling, provider, store):
    filling.run["store"] = filling.folder / store
    filling.build = lambda record: {
        "model": "m", "stream": True, "messages": [{"role": "user", "content": record["m"]}]
    }  # fmt: skip
    provider.script(lambda request: openai_stream(f"word {request.json()['messages'][0]['content']} " * 300))
    with closing(left_over(filling, {"m": "gone"})) as batch:
        assert len([*batch.store.side_names()]) == 2
        prune(batch.store, batch.job.run.store, can_go(batch).going)
        assert len([*batch.store.side_names()]) == 1
        assert answers(batch) == ["word a " * 300]


def test_nothing_to_delete_leaves_the_file_as_it_is(filling):
    with closing(left_over(filling, {"m": "gone"})) as batch:
        batch.store.close()
        path = batch.job.run.store
        before = path.read_bytes()
        prune(batch.store, path, can_go(batch, older_than=90).going)
        batch.store.close()
        assert path.read_bytes() == before


@pytest.mark.parametrize("way", [run, replay])
def test_no_run_begins_while_its_store_is_pruned(batch, way):
    with alone(batch.job.run.store), pytest.raises(UsageError, match="is being pruned"):
        way(batch, batch.job.path or Path("rows.jsonl"))
    assert way(batch, Path("rows.jsonl")).exit_code == 0
