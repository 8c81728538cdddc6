"""The scripted provider's Gemini, as the dialect reads it."""

import pytest

from onetake.dialects import Reading
from onetake.dialects.gemini import DIALECT
from onetake.events import ARRAY, SSE, framing
from onetake.model import Answer, Choice, Request, Response, ToolCall
from onetake.testing.provider import gemini_blocked, gemini_content, gemini_stream

ASKED = Request("POST", "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent")


@pytest.mark.parametrize("streamed", ["", "events", "array"])
def test_the_scripted_provider_reads_alike_in_every_form(streamed):
    said = {"thought": "hm hm", "tool_calls": [("add", {"n": 1})], "usage": {"candidatesTokenCount": 5}}
    reply = gemini_stream("a b", array=streamed == "array", **said) if streamed else gemini_content("a b", **said)
    response = Response(200, reply.headers, reply.body)
    assert framing(response.headers, response.body) == {"": None, "events": SSE, "array": ARRAY}[streamed]
    assert DIALECT.read(ASKED, response) == Reading(
        Answer((Choice("a b", (ToolCall("add", {"n": 1}),), "STOP", None, "hm hm"),)),
        model="gemini-2.5-flash",
        input_tokens=1,
        output_tokens=6,
    )


@pytest.mark.parametrize("streamed", [False, True])
def test_the_scripted_provider_blocks_and_refuses(streamed):
    blocked = gemini_blocked("BLOCKLIST", streamed=streamed)
    refused = (gemini_stream if streamed else gemini_content)("a", refusal="not this")
    found = [DIALECT.read(ASKED, Response(200, reply.headers, reply.body)) for reply in (blocked, refused)]
    assert [one.answer.choices[0].refusal for one in found] == ["BLOCKLIST", "not this"]
    assert all(one.terminal for one in found)
