from __future__ import annotations

import json

import pytest

from onetake.asked_lines import asked_line
from onetake.model import Request

URL = "https://api.openai.com/v1/chat/completions"


def chat(*texts):
    messages = [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]
    return {"model": "gpt-5", "messages": messages}


def request(body, url=URL):
    return Request("POST", url, (("content-type", "application/json"),), json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (chat("Label this."), f'POST {URL} (gpt-5, 1 message, "Label this.")'),
        (chat("Hello.", "Hi!", "And\nnow?", "Well."), f'POST {URL} (gpt-5, 4 messages, "And⏎now?")'),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "See:"}, {"type": "image"}]}]}, '"See: "'),
        ({"contents": [{"role": "user", "parts": [{"text": "Gemini?"}]}]}, '1 content, "Gemini?"'),
        ({"input": "Just text"}, '(gpt-5, "Just text")'),
        ({"input": ["one", "two"]}, '2 input items, "two"'),
        ({"messages": [{"role": "tool", "content": "x"}]}, "(gpt-5, 1 message)"),
        ({"messages": [7, None, {"role": "user", "content": 5}]}, "(gpt-5, 3 messages)"),
        ({"query": "other"}, "(gpt-5, 18 bytes)"),
    ],
)
def test_the_line_of_a_request_says_what_was_asked(body, shown):
    line = asked_line(request(body), "gpt-5")
    assert shown.replace(' "', '"') in line.replace(' "', '"')


def test_the_line_of_other_requests():
    assert asked_line(Request("GET", "https://x.example/a"), None) == "GET https://x.example/a"
    call = Request("CALL", "function:app.label", (), b'{"arguments":{"text":"fire"},"function":"app.label"}')
    assert asked_line(call, "app.label") == (
        'CALL function:app.label ("{"arguments":{"text":"fire"},"function":"app.label"}")'
    )
    assert asked_line(Request("POST", "https://x.example/a", (), b"\xff\x00"), "m") == (
        "POST https://x.example/a (m, 2 bytes)"
    )


def test_the_line_of_a_hostile_request_is_short_and_printable():
    body = chat("\x1b]8;;https://evil.example\x07click\x1b[31m\u202e\x00" + "x" * 1_000_000)
    line = asked_line(request(body, URL + "?q=\x1b[2J" + "y" * 5000), "gpt\x1b[31m\n-5" * 1000)
    assert line.isprintable()
    assert len(line) < 500
