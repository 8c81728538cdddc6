"""lm15's responses, built of what is stored."""

from __future__ import annotations

import asyncio

import lm15.transports as module
import pytest

from onetake.adapters import lm15_streams as streams
from onetake.errors import InteractionNotFound
from onetake.model import Cut, Response

_STREAM = (("content-type", "text/event-stream"),)


@pytest.fixture
def replayed(direct):
    """Read the replay of a response: `replayed(response, colour, found)`; *found* takes its pieces as they come."""
    asks = direct()
    asks.call("hello", "stored")
    entry = asks.entries()[0]

    def read(response, colour, found):
        object.__setattr__(entry, "response", response)
        if colour == "sync":
            given = streams.replayed(module, asks.engine, entry)
            with given:
                found.extend(given)
            return given

        async def main():
            given = streams.async_replayed(module, asks.engine, entry)
            async with given:
                async for piece in given:
                    found.append(piece)
            return given

        return asyncio.run(main())

    return read


@pytest.mark.parametrize("colour", ["sync", "asyncio"])
@pytest.mark.parametrize(
    ("response", "pieces"),
    [
        (Response(200, _STREAM, b"data: 1\n\ndata: 2\n\nrest"), [b"data: 1\n\n", b"data: 2\n\n", b"rest"]),
        (Response(200, (), b"plain"), [b"plain"]),
        (Response(204, (), b""), []),
    ],
    ids=["stream", "plain", "empty"],
)
def test_a_replay_comes_event_by_event(replayed, colour, response, pieces):
    found = []
    given = replayed(response, colour, found)
    assert found == pieces
    reason = {200: "OK", 204: "No Content"}[response.status]
    assert (given.status, given.reason, given.headers, given.http_version) == (
        response.status, reason, list(response.headers), "HTTP/1.1",
    )  # fmt: skip


@pytest.mark.parametrize("colour", ["sync", "asyncio"])
@pytest.mark.parametrize(("cut", "error"), [(Cut.PROVIDER, module.ProtocolError), (Cut.LEFT, InteractionNotFound)])
def test_a_replay_ends_as_its_body_ended(replayed, colour, cut, error):
    found = []
    with pytest.raises(error):
        replayed(Response(299, _STREAM, b"data: 1\n\n", cut=cut), colour, found)
    assert found == [b"data: 1\n\n"]


def test_a_status_without_a_phrase_of_its_own_has_none(replayed):
    assert replayed(Response(299, (), b""), "sync", []).reason == ""
