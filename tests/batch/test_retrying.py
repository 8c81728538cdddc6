"""The retry table."""

from __future__ import annotations

import json

import pytest

from onetake.batch.retrying import LONGEST_S, Fault, Kind, Step, backoff, next_step, of_error, of_status
from onetake.model import Response


def response(status, body=b"", **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Response(status, tuple((name.replace("_", "-"), value) for name, value in headers.items()), raw)


def error(message="no", **more):
    return {"error": {"message": message, **more}}


TABLE = [
    (408, error(), Kind.AGAIN),
    (409, error(), Kind.AGAIN),
    (500, error(), Kind.AGAIN),
    (502, b"<html>bad gateway</html>", Kind.AGAIN),
    (503, error(), Kind.AGAIN),
    (529, error(type="overloaded_error"), Kind.AGAIN),
    (429, error("Rate limit reached", code="rate_limit_exceeded"), Kind.RATE),
    (429, b"", Kind.RATE),
    (429, error("You exceeded your current quota", code="insufficient_quota"), Kind.MONEY),
    (429, error("x", type="insufficient_quota"), Kind.MONEY),
    (402, error("Insufficient Balance"), Kind.MONEY),
    (402, b"", Kind.MONEY),
    (400, error("Your credit balance is too low to access the Anthropic API."), Kind.MONEY),
    (403, error("You have reached your specified API usage limits."), Kind.MONEY),
    (429, error("Monthly spend limit reached"), Kind.MONEY),
    (401, error("Incorrect API key provided", code="invalid_api_key"), Kind.ACCESS),
    (403, error("forbidden"), Kind.ACCESS),
    (404, error("The model `m` does not exist or you do not have access to it.", code="model_not_found"), Kind.ACCESS),
    (404, error("model: claude-none", type="not_found_error"), Kind.ACCESS),
    (404, error("model 'm' not found"), Kind.ACCESS),
    (404, {"error": 'model "m" not found, try pulling it first'}, Kind.ACCESS),
    (400, error("Invalid model: m", type="invalid_model"), Kind.ACCESS),
    (404, {"object": "error", "message": "The model `m` does not exist.", "code": 404}, Kind.ACCESS),
    (404, {"detail": "Not Found"}, Kind.ACCESS),
    (404, b"<html>404</html>", Kind.ACCESS),
    (404, error("No such thread"), Kind.REFUSED),
    (400, error("The prompt is too long"), Kind.REFUSED),
    (413, b"<html>too large</html>", Kind.REFUSED),
    (422, {"detail": [{"msg": "bad"}]}, Kind.REFUSED),
    (405, b"", Kind.ACCESS),
    (301, b"", Kind.ACCESS),
]


@pytest.mark.parametrize(("status", "body", "kind"), TABLE)
def test_every_row_of_the_table(status, body, kind):
    assert of_status(response(status, body)).kind is kind


def test_the_table_is_total_and_only_a_good_status_is_to_be_judged():
    for status in range(100, 1000):
        fault = of_status(response(status))
        assert (fault is None) is (200 <= status < 300)


def test_a_record_that_is_quoted_in_an_error_stops_no_run():
    said = "Invalid value: 'your credit balance is too low'. Model gpt-9 not found, said the log"
    assert of_status(response(400, error(said))).kind is Kind.REFUSED


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (error("Rate limited", code=429), Kind.RATE),
        (error("no credits", code=402), Kind.MONEY),
        (error("bad gateway", code="502"), Kind.AGAIN),
        (error("bad request", code=400), Kind.AGAIN),
        (error("odd", code="server_error"), Kind.AGAIN),
        (b"event: error\ndata: {}\n\n", Kind.AGAIN),
    ],
)
def test_an_error_under_a_good_status_is_never_the_records_answer(body, kind):
    assert of_error(response(200, body), "it said").kind is kind


def test_a_fault_says_what_failed_alike_and_what_was_said():
    fault = of_status(response(401, error("Incorrect API key\x1b[31m\nprovided")))
    assert fault.label == "401"
    assert str(fault) == "401: Incorrect API key⏎provided"


def test_only_a_rate_limit_counts_limits_that_are_used_up():
    used_up = {"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "7s"}
    assert of_status(response(429, **used_up)).wait == 7
    assert of_status(response(503, **used_up)).wait == 0


STEPS = [
    (Kind.REFUSED, 1, 0.0, Step.STORE),
    (Kind.MONEY, 1, 0.0, Step.STOP),
    (Kind.RATE, 99, 0.0, Step.HOLD),
    (Kind.RATE, 1, LONGEST_S, Step.GIVE_UP),
    (Kind.SECRET, 1, 0.0, Step.GIVE_UP),
    (Kind.UNSENDABLE, 1, 0.0, Step.GIVE_UP),
    (Kind.AGAIN, 2, 0.0, Step.RETRY),
    (Kind.AGAIN, 3, 0.0, Step.GIVE_UP),
    (Kind.AGAIN, 1, LONGEST_S, Step.GIVE_UP),
    (Kind.ACCESS, 1, 0.0, Step.RETRY),
    (Kind.ACCESS, 3, 0.0, Step.GIVE_UP),
]


@pytest.mark.parametrize(("kind", "attempts", "waited", "step"), STEPS)
def test_what_follows(kind, attempts, waited, step):
    assert next_step(Fault(kind, "x"), attempts, waited, 3) is step
    assert {row[0] for row in STEPS} == set(Kind)


def test_a_provider_that_asks_one_record_to_wait_for_an_hour_is_not_waited_for():
    assert next_step(Fault(Kind.AGAIN, "503", wait=3600), 1, 0, 9) is Step.GIVE_UP


def test_pauses_grow_and_are_bounded():
    assert [backoff(times, 1) for times in (1, 2, 3)] == [0.5, 1, 2]
    assert [backoff(times, 0) for times in (1, 2, 3)] == [0.25, 0.5, 1]
    assert backoff(10**9, 1) == backoff(8, 1) == 60
