"""How long a provider asks to wait."""

from __future__ import annotations

import pytest

from onetake.batch.provider_waits import asked_wait, hint

DATE = ("Date", "Mon, 30 Nov 2026 10:00:00 GMT")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([("Retry-After", "20")], 20),
        ([("retry-after", "1.5")], 1.5),
        ([("retry-after-ms", "250")], 0.25),
        ([("retry-after", "Mon, 30 Nov 2026 10:01:30 GMT"), DATE], 90),
        ([("retry-after", "Mon, 30 Nov 2026 09:00:00 GMT"), DATE], 0),
        ([("retry-after", "Mon, 30 Nov 2026 10:01:30 GMT")], 0),
        ([("retry-after", "2"), ("retry-after-ms", "9000")], 9),
        ([("retry-after", "soon")], 0),
        ([("retry-after", "-5")], 0),
        ([("retry-after", "nan")], 0),
        ([("retry-after", "٣")], 0),
        ([], 0),
    ],
)
def test_retry_after_in_its_three_forms(headers, seconds):
    assert asked_wait(tuple(headers)) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "6m0s")], 360),
        ([("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "12ms")], 0.012),
        ([("x-ratelimit-remaining-tokens", "7"), ("x-ratelimit-reset-tokens", "1h")], 0),
        (
            [
                ("anthropic-ratelimit-input-tokens-remaining", "0"),
                ("anthropic-ratelimit-input-tokens-reset", "2026-11-30T10:00:45Z"),
                DATE,
            ],
            45,
        ),
        ([("retry-after", "3"), ("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "9s")], 9),
    ],
)
def test_limits_that_are_used_up(headers, seconds):
    assert asked_wait(tuple(headers), of_limits=True) == seconds


def test_the_next_call_waits_for_its_share_of_the_reset():
    headers = (
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "60s"),
    )
    assert hint(headers, 10) == 1
    assert hint((headers[0], ("x-ratelimit-remaining-requests", "1"), headers[2]), 10) == 0


def test_tokens_that_are_left_but_too_few_are_waited_for():
    headers = (
        ("x-ratelimit-limit-tokens", "1000"),
        ("x-ratelimit-remaining-tokens", "100"),
        ("x-ratelimit-reset-tokens", "54s"),
    )
    assert hint(headers, 100) == 0
    assert hint(headers, 400) == pytest.approx(18)
