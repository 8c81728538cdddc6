"""Buckets, concurrency and breaker, by a clock that is given in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake.batch.limits import COOL_DOWN_S, PATIENCE_S, Breaker, Bucket, Concurrency, Limits
from onetake.batch.retrying import Fault, Kind


def limits(**given_in):
    given_in = {"rpm": None, "tpm": None, "now": 0.0, "chance": lambda: 1.0, **given_in}
    return Limits(given_in.pop("least", 4), given_in.pop("most", 32), **given_in)


@given(st.integers(1, 5000), st.lists(st.floats(0, 3), max_size=80))
def test_no_minute_has_more_requests_than_allowed(per_minute, idle):
    bucket, now, taken = Bucket(per_minute, 0.0), 0.0, []
    for pause in idle:
        now += pause
        now += bucket.wait(1, now)
        bucket.take(1, now)
        taken.append(now)
    for first in taken:
        assert sum(first <= at < first + 60 - 1e-6 for at in taken) <= per_minute


def test_a_bucket_gives_what_is_allowed_over_an_hour():
    bucket, now, count = Bucket(600, 0.0), 0.0, 0
    while now < 3600:
        now += bucket.wait(1, now)
        bucket.take(1, now)
        count += 1
    assert 0.98 * 36_000 < count <= 36_010


def test_a_call_larger_than_the_bucket_is_paid_for_afterwards():
    bucket = Bucket(600, 0.0, 10.0)
    assert bucket.wait(10_000, 0.0) == 0
    bucket.take(10_000, 0.0)
    assert bucket.wait(1, 0.0) == pytest.approx((10_000 - 600 / 7 + 1) / (600 / 70))
    bucket.take(-10_000, 0.0)
    assert bucket.wait(1, 0.0) == 0


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing():
    bucket = Bucket(60, 100.0)
    bucket.take(1, 100.0)
    assert bucket.wait(1, 40.0) == pytest.approx(1)
    assert bucket.wait(1, 100.5) == pytest.approx(0.5)


def test_concurrency_doubles_each_round_up_to_the_first_jam():
    calls = Concurrency(2, 32)
    for limit in (4, 8, 16, 32, 32):
        for _ in range(calls.limit):
            calls.succeeded(calls.limit)
        assert calls.limit == limit


def test_concurrency_falls_once_a_cool_down_and_then_creeps():
    calls = Concurrency(20, 40)
    for _ in range(64):
        calls.jammed(100.0)
    assert calls.limit == 16
    calls.jammed(100.0 + COOL_DOWN_S)
    assert calls.limit == 12
    for _ in range(20):
        calls.succeeded(12)
    assert calls.limit == 13


def test_what_is_not_used_does_not_grow():
    calls = Concurrency(10, 40)
    for _ in range(100):
        calls.succeeded(7)
    assert calls.limit == 10


def test_concurrency_never_falls_below_one():
    calls = Concurrency(1, 1)
    for minute in range(50):
        calls.jammed(60.0 * minute)
    assert calls.limit == 1


def test_a_rate_limit_holds_the_whole_run_for_the_longest_of_what_it_says():
    run = limits()
    tickets = [run.begin(1, 0.0) for _ in range(4)]
    run.failed(tickets[0], Fault(Kind.RATE, "429", wait=20), 1.0)
    assert run.wait(1, 1.0) == (20, "provider")
    run.failed(tickets[1], Fault(Kind.RATE, "429", wait=5), 2.0)
    assert run.wait(1, 2.0) == (19, "provider")


def test_rate_limits_without_a_word_are_waited_for_longer_each_round():
    run, holds = limits(least=1), []
    now = 0.0
    for _ in range(4):
        now = max(now, run.hold)
        together = [run.begin(1, now) for _ in range(8)]
        for ticket in together:
            run.failed(ticket, Fault(Kind.RATE, "429"), now + 0.01)
        holds.append(round(run.hold - now - 0.01, 3))
    assert holds == [0.5, 1.0, 2.0, 4.0]
    run.succeeded(run.begin(1, run.hold), run.hold)
    ticket = run.begin(1, run.hold)
    run.failed(ticket, Fault(Kind.RATE, "429"), run.hold)
    assert run.wait(1, ticket.sent)[0] == pytest.approx(0.5)


def test_a_failure_of_one_call_holds_no_other():
    run = limits()
    run.failed(run.begin(1, 0.0), Fault(Kind.AGAIN, "503", wait=600), 1.0)
    assert run.wait(1, 1.0) == (0.0, "")


def test_tokens_are_reserved_and_given_back_by_usage():
    run = limits(tpm=6000)
    ticket = run.begin(900, 0.0)
    assert run.wait(100, 0.0)[1] == "tpm"
    run.end(ticket, 0.0, 100)
    assert run.wait(100, 0.0) == (0.0, "")
    assert run.in_flight == 0


def test_the_longest_wait_is_named():
    run = limits(rpm=6, tpm=60)
    run.begin(10, 0.0)
    assert run.wait(1, 0.0) == (pytest.approx(10), "rpm")


def test_a_hint_of_a_good_answer_is_waited_for_a_minute_at_most():
    run = limits()
    run.succeeded(run.begin(1, 0.0), 1.0, 3600)
    assert run.wait(1, 1.0) == (60, "provider")


def fault(kind=Kind.AGAIN, label="503", **more):
    return Fault(kind, label, **more)


def test_three_refusals_of_access_in_a_row_stop():
    breaker = Breaker(32)
    assert [breaker.failed(fault(Kind.ACCESS, "401", said="bad key"), 0.0) for _ in range(3)] == [
        "",
        "",
        "3 calls failed alike: 401: bad key",
    ]


def test_an_answer_in_between_counts_anew():
    breaker = Breaker(32)
    for _ in range(9):
        assert not breaker.failed(fault(Kind.ACCESS, "403"), 0.0)
        assert not breaker.failed(fault(Kind.ACCESS, "403"), 0.0)
        assert breaker.stands()
        breaker.good()
        assert not breaker.stands()


def test_money_stops_at_once():
    assert Breaker(32).failed(fault(Kind.MONEY, "429 insufficient_quota"), 0.0) == "429 insufficient_quota"


@pytest.mark.parametrize(("most", "count"), [(1, 20), (32, 96)])
def test_identical_failures_stop_once_they_are_more_than_fail_at_once(most, count):
    breaker = Breaker(most)
    found = [breaker.failed(fault(), 0.0) for _ in range(count)]
    assert not any(found[:-1]) and found[-1] == f"{count} calls failed alike: 503"


def test_no_answer_for_too_long_stops():
    breaker = Breaker(32)
    assert not breaker.failed(fault(label="503"), 100.0)
    assert not breaker.failed(fault(label="timeout"), 100.0 + PATIENCE_S)
    assert "no answer for" in breaker.failed(fault(label="reset"), 101.0 + PATIENCE_S)


def test_a_wait_that_is_asked_for_counts_before_it_is_waited():
    breaker = Breaker(32)
    assert not breaker.failed(fault(Kind.RATE, "429"), 0.0, 60.0)
    assert "86400 s" in breaker.failed(fault(Kind.RATE, "429"), 0.0, 86_400.0)


def test_the_first_twenty_refused_stop_and_later_ones_do_not():
    breaker = Breaker(1)
    assert not any(breaker.failed(fault(Kind.REFUSED, "400"), 0.0) for _ in range(19))
    assert "first 20" in breaker.failed(fault(Kind.REFUSED, "400"), 0.0)
    breaker = Breaker(1)
    breaker.good()
    assert not any(breaker.failed(fault(Kind.REFUSED, "400"), 0.0) for _ in range(99))
