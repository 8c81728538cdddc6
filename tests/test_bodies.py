"""Live bodies: passed on as they come, ended once, and never at the price of their connection."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest

from onetake.bodies import AsyncPassing, Passing, broken_by, ended, reads_whole
from onetake.errors import Refusal
from onetake.passage import Passage
from onetake.streams import Ending, Watch

JSON = (("content-type", "application/json"),)
STREAM = (("content-type", "text/event-stream"),)


class _Inner:
    """A client's body: gives its pieces, then raises *error* if there is one, and counts how often it is closed."""

    def __init__(self, *pieces, error=None, closing=None):
        self._pieces, self._error, self._closing = pieces, error, closing
        self.closed = 0

    def __iter__(self):
        yield from self._pieces
        if self._error is not None:
            raise self._error

    def close(self):
        self.closed += 1
        if self._closing is not None:
            raise self._closing

    async def __aiter__(self):
        for piece in self:
            yield piece

    async def aclose(self):
        self.close()


def _blocking(inner, passage, *, read=True):
    body = Passing(inner, passage)
    try:
        return list(body) if read else None
    finally:
        if not passage.over:
            body.close()


def _awaited(inner, passage, *, read=True):
    async def main():
        body = AsyncPassing(inner, passage)
        try:
            return [piece async for piece in body] if read else None
        finally:
            if not passage.over:
                await body.aclose()

    return asyncio.run(main())


@pytest.fixture(params=[_blocking, _awaited], ids=["blocking", "awaited"])
def through(request):
    """Read a body through, in each colour."""
    return request.param


@pytest.fixture
def begun(direct):
    """A live call: the engine that a test speaks to, and the passage of one answer, of the given headers."""
    asks = direct()

    def opened(headers=JSON, **fields):
        step = asks.ask(asks.chat("hello", **fields))
        return Passage(asks.engine, step, Watch(step.asked.request, 200, headers))

    opened.entries = asks.entries
    opened.rejects = lambda: asks.entries(asks.rejects)
    return opened


def _pieces(direct):
    body = direct.said("words").body
    return body[:20], body[20:]


def test_a_body_passes_as_it_comes_and_is_kept_at_its_end(through, begun, direct):
    inner = _Inner(*_pieces(direct))
    assert through(inner, begun()) == list(_pieces(direct))
    assert [(entry.verdict, entry.response.body) for entry in begun.entries()] == [("good", direct.said("words").body)]
    assert inner.closed == 0, "its caller has had the end, and closes it"


def test_a_reject_at_the_end_lets_the_connection_go_before_it_is_raised(through, begun):
    inner = _Inner(b"no JSON at all")
    with pytest.raises(Refusal):
        through(inner, begun())
    assert inner.closed == 1
    assert [entry.verdict for entry in begun.rejects()] == ["reject:json"]


def test_a_reject_at_a_close_lets_the_connection_go_before_it_is_raised(through, begun, direct):
    passage = begun((*JSON, ("content-length", "4")))
    passage.feed(b"oops")
    inner = _Inner()
    with pytest.raises(Refusal):
        through(inner, passage, read=False)
    assert inner.closed == 1


@pytest.mark.parametrize("error", [OSError("reset"), KeyboardInterrupt()], ids=["error", "interrupt"])
def test_a_body_that_breaks_off_raises_what_broke_it(through, begun, direct, error):
    with pytest.raises(type(error)):
        through(_Inner(*_pieces(direct)[:1], error=error), begun())
    assert (begun.entries(), [entry.verdict for entry in begun.rejects()]) == (
        [],
        ["reject:cut"] if isinstance(error, OSError) else [],
    )


def test_a_close_that_fails_keeps_nothing_that_is_not_whole(through, begun):
    with pytest.raises(OSError, match="broken pipe"):
        through(_Inner(closing=OSError("broken pipe")), begun(), read=False)
    assert (begun.entries(), begun.rejects()) == ([], [])


def test_a_body_that_is_left_is_kept_as_far_as_it_came(through, begun):
    passage = begun(STREAM, stream=True)
    event = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "a"}}]}).encode() + b"\n\n"
    passage.feed(event)
    through(_Inner(), passage, read=False)
    assert [entry.response.body for entry in begun.entries()] == [event]


@pytest.mark.parametrize("kind", [Passing, AsyncPassing])
def test_a_body_that_nobody_holds_ends_its_call(begun, kind):
    passage = begun()
    kind(_Inner(), passage)
    gc.collect()
    assert passage.over
    assert (begun.entries(), begun.rejects()) == ([], [])


def test_an_interrupted_body_ends_without_a_thread(begun):
    passage = begun()

    async def main():
        await ended(passage, Ending.INTERRUPTED)
        await ended(passage, Ending.END)

    asyncio.run(main())
    assert (passage.over, passage.came) == (True, None)


def test_what_breaks_a_body_says_how_it_ended():
    assert broken_by(TimeoutError()) is Ending.FAILED
    assert [broken_by(error()) for error in (KeyboardInterrupt, asyncio.CancelledError)] == [Ending.INTERRUPTED] * 2


@pytest.mark.parametrize(
    ("repeats", "status", "headers", "whole"),
    [
        ("same", 200, JSON, True),
        ("sequence", 200, JSON, False),
        ("same", 200, STREAM, False),
        ("same", 101, (), False),
        ("same", 307, JSON, False),
        ("same", 500, JSON, False),
    ],
)
def test_a_body_is_read_whole_where_anothers_answer_may_take_its_place(direct, repeats, status, headers, whole):
    step = direct(repeats=repeats).ask("one")
    assert reads_whole(step, status, headers) is whole
