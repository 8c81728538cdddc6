"""`OUT.partial` while a run fills the store."""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager

import pytest

from onetake.batch.growing import Growing
from onetake.batch.resolving import Needed
from onetake.batch.rows import Partial
from onetake.errors import StoreError

GOOD = '{"label": "a"}'


@contextmanager
def growing(replied, in_vain=()):
    """The rows of a batch on their way, from its first record."""
    with Partial(replied.out) as partial:
        yield Growing(replied.records(), replied.resolver(), partial, in_vain)


def shown(replied):
    return [json.loads(line)["line"] for line in partial_of(replied).read_bytes().splitlines()]


def partial_of(replied):
    return replied.out.with_name("rows.jsonl.partial")


def test_rows_are_appended_as_far_as_they_are_complete_in_order(replied):
    replied.write({"message": "one"}, b"no record\n", {"message": "two"}, {"message": "one"})
    replied.reply("one", GOOD)
    with growing(replied) as grows:
        assert shown(replied) == []
        for _ in range(2):
            grows.grow()
            assert shown(replied) == [1, 2]
        replied.reply("two", GOOD)
        grows.grow()
        assert shown(replied) == [1, 2, 3, 4]
        whole = partial_of(replied).read_bytes()
    assert not partial_of(replied).exists()
    replied.publish()
    assert replied.out.read_bytes() == whole


def test_a_record_that_was_asked_in_vain_has_its_row(replied):
    replied.write({"message": "one"}, {"message": "two"}, {"message": "three"})
    replied.reply("two", GOOD)
    needed = replied.resolver().resolve(next(replied.records()))
    assert isinstance(needed, Needed)
    with growing(replied, {needed.reply.asked.key}) as grows:
        grows.grow()
        assert shown(replied) == [1, 2]


def test_it_leaves_off_when_its_time_is_over(replied):
    replied.write({"message": "one"})
    replied.reply("one", GOOD)
    with growing(replied) as grows:
        grows.grow(until=0)
        assert shown(replied) == []


def test_it_follows_to_the_end(replied):
    replied.write(*[{"message": "one"}] * 3)
    replied.reply("one", GOOD)
    with growing(replied) as grows:
        asyncio.run(asyncio.wait_for(grows.follow(), 20))
        assert shown(replied) == [1, 2, 3]


def test_a_damaged_reply_ends_it_in_silence_and_publishing_says_so(replied):
    replied.write({"message": "one"}, {"message": "two"})
    replied.reply("one", GOOD)
    entry = replied.reply("two", GOOD)
    replied.store.replace(entry.key, 0, replied.store.get(entry.key, 0)[:-20])
    needed = replied.resolver().resolve([*replied.records()][1])
    with growing(replied, {needed.reply.asked.key}) as grows:
        asyncio.run(asyncio.wait_for(grows.follow(), 20))
    with pytest.raises(StoreError, match="line 2: "):
        replied.publish()
