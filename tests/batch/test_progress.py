"""What is counted of a run, and how it is said."""

from __future__ import annotations

from decimal import Decimal

import pytest

from onetake.batch.attempts import Spent
from onetake.batch.progress import LIMITS, Rate, Tally, facts, lines, span


def test_a_rate_is_of_the_last_minute():
    rate = Rate(1000.0)
    for second in range(120):
        rate.add(5, 1000.5 + second)
    assert rate.per_second(1119.9) == 5
    assert rate.per_second(1149.9) == 2.5
    assert rate.per_second(5000.0) == 0


def test_a_rate_of_the_first_seconds_is_of_these_alone():
    rate = Rate(0.0)
    rate.add(30, 1.0)
    rate.add(30, 2.0)
    assert rate.per_second(2.9) == 20


def tally():
    found = Tally(0.0, 100, room=8)
    for _ in range(40):
        found.settled(None, 1.0, asked=0, keys=1)
    for number in range(20):
        found.sent(number, 1.0, is_again=number == 3)
        found.took(Spent(10, 5, Decimal("0.01")), 1.0)
        found.in_flight.pop(number)
        found.settled("invalid" if number == 7 else None, 1.9, asked=1, keys=2 if number == 9 else 1)
    found.share()
    found.sent(99, 1.0, is_again=False)
    return found


def test_time_and_money_are_told_from_what_was_asked_alone():
    said = facts(tally(), 9.9)
    assert (said["done"], said["cached"], said["asked"], said["shared"]) == (61, 40, 20, 1)
    assert (said["calls_per_second"], said["eta_s"]) == (2.0, 20)
    assert said["cost"] == 0.2
    assert said["cost_projected"] == pytest.approx(0.2 / 20 * 59)
    assert (said["in_flight"], said["oldest_s"], said["again"]) == (1, 8.9, 1)
    assert said["tokens_per_minute"] == 1800


def test_it_is_said_in_words():
    found = tally()
    found.limit = "rpm"
    assert lines(facts(found, 9.9)) == [
        "61/100 · 40 cached · 20 asked · 1 repaired · 1 shared · 1 invalid",
        "1 of 8 in flight · the oldest for 9 s · 2.0 calls/s · 1,800 tokens/min · limited by requests a minute",
        "$0.2000 spent, $0.5900 projected · about 20 s left",
    ]


def test_an_unknown_price_is_said():
    found = Tally(0.0)
    found.took(Spent(3, 4), 1.0)
    found.settled(None, 1.0, asked=1, keys=1)
    said = facts(found, 2.0)
    assert said["eta_s"] is None and said["cost_projected"] is None
    assert lines(said)[2] == "$0.0000 spent, the price of 1 call unknown"


def test_every_limit_can_be_said():
    for name in LIMITS:
        found = Tally(0.0)
        found.limit = name
        assert ("limited by" in lines(facts(found, 1.0))[1]) is bool(name)


@pytest.mark.parametrize(("seconds", "said"), [(-1, "0 s"), (59.4, "59 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")])
def test_spans(seconds, said):
    assert span(seconds) == said
