"""The quick look that spares most stored interactions the long one: what it clears holds nothing."""

from __future__ import annotations

import json

import pytest

from onetake.model import Request, Response
from onetake.scrub import Scrubber
from onetake.settings import ScrubRules

KEY = "sk-proj-" + "Zq7" * 16
URL = "https://api.openai.com/v1/chat/completions"
JSON = (("content-type", "application/json"),)
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Hello https://example.com/"}]}).encode()

ORDINARY = Request("POST", URL, JSON, BODY), Response(200, JSON, BODY)


def cleared(request=None, response=None, rest='{"": []}', rules=ScrubRules()):  # noqa: B008 (frozen)
    scrubber = Scrubber(rules)
    request, response = request or Request("POST", URL, JSON, BODY), response or Response(200, JSON, BODY)
    scrubbing = scrubber.begin()
    scrubbing.request(request)
    scrubbing.response(response)
    said = scrubber.clears(request, response, rest)
    assert not (said and scrubbing.spans)
    together, ordinary = scrubber.clear_together([(request, response), ORDINARY], rest)
    assert said or not together
    assert said or not is_joint(request, response) or not ordinary, "one that may hold a secret spares no other"
    assert together is (said and is_joint(request, response))
    return said


def is_joint(request, response):
    """Tell whether one look at many includes this one: its bodies are objects, or empty, and no header tells."""
    kinds = {value for name, value in (*request.headers, *response.headers) if name == "content-type"}
    others = {name for name, _ in (*request.headers, *response.headers)} - {"content-type"}
    is_telling = "@" in request.url or "api_key" in request.url
    is_object = {request.body[:1], response.body[:1]} <= {b"{", b""}
    return kinds == {"application/json"} and not others and is_object and not is_telling


def streamed(*said):
    events = [b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": one}}]}).encode() for one in said]
    return Response(200, (("content-type", "text/event-stream"),), b"\n\n".join([*events, b"data: [DONE]", b""]))


def test_an_ordinary_interaction_is_cleared():
    assert cleared()
    assert cleared(response=streamed("Hel", "lo", " and ", KEY[:12], " good bye"))
    assert cleared(response=Response(200, JSON, b""), request=Request("POST", f"{URL}?api-version=2026", JSON, BODY))


@pytest.mark.parametrize(
    "given",
    [
        {"request": Request("POST", URL, JSON, BODY.replace(b"Hello", KEY.encode()))},
        {"request": Request("POST", f"{URL}?api_key=hunter2hunter2", JSON, BODY)},
        {"request": Request("POST", URL.replace("api", f"user:{KEY}@api", 1), JSON, BODY)},
        {"request": Request("POST", URL, (*JSON, ("authorization", "hunter2")), BODY)},
        {"request": Request("POST", URL, (*JSON, ("x-acme-token", "hunter2")), BODY)},
        {"request": Request("POST", URL, JSON, b'{"api_key": "hunter2"}')},
        {
            "request": Request(
                "POST", URL, (("content-type", "application/x-www-form-urlencoded"),), b"password=hunter2"
            )
        },
        {"response": Response(200, (*JSON, ("set-cookie", "a=hunter2hunter2")), BODY)},
        {"response": streamed("Hello ", KEY[:20], KEY[20:])},
        {"response": streamed("Hello ", KEY)},
        {"response": Response(200, (("content-type", "text/event-stream"),), b'data: {"api_key": "hunter2"}\n\n')},
        {"response": Response(200, JSON, json.dumps([KEY[:20], KEY[20:]]).encode())},
        {"rest": json.dumps({"": {"test": KEY}})},
        {"rest": '{"": {"access_token": "hunter2"}}'},
        {"rules": ScrubRules(paths=("$.user",))},
        {"rules": ScrubRules(patterns=("T-[0-9]{4}",))},
    ],
)
def test_what_may_hold_a_secret_is_not_cleared(given):
    assert not cleared(**given)
