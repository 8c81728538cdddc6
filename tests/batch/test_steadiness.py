"""A function that makes another request each time is found out before it spends."""

from __future__ import annotations

import itertools
from uuid import uuid4

import pytest

from onetake.errors import UsageError


def body(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def test_what_is_another_request_each_time_is_found_before_anything_is_sent(filling, provider):
    filling.build = lambda record: body(f"{uuid4()} {record['m']}")
    filling.write({"m": "a"}, {"m": "b"})
    with pytest.raises(
        UsageError, match=r"line 1: .* another request each time: body\$\.messages\[0\]\.content was .*, and is "
    ):
        filling.fill(least=4, most=4)
    assert provider.count == 0


def test_what_becomes_another_one_later_costs_one_call(filling, provider):
    numbers = itertools.count()
    filling.build = lambda record: body(f"{record['m']} {max(3, next(numbers))}")
    filling.write({"m": "a"}, {"m": "b"})
    with pytest.raises(UsageError, match=r'was "a 3", and is "a \d"; let it follow from the record alone'):
        filling.fill()
    assert provider.count == 1


def test_a_steady_function_is_asked_no_more_than_its_records(filling, provider):
    filling.build = lambda record: body(record["m"])
    filling.write({"m": "a"}, {"m": "b"}, {"m": "a"})
    outcome, _ = filling.fill()
    assert (outcome.why, provider.count) == ("", 2)
