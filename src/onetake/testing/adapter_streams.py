"""The part of the adapters' conformance suite that is about streamed and broken bodies."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from onetake.errors import ContractError, InteractionNotFound
from onetake.events import events
from onetake.model import Response
from onetake.testing.adapter_calls import IN_PIECES, Calls, ask, count, refused
from onetake.testing.provider import (
    Provider,
    anthropic_stream,
    openai_chat,
    openai_error,
    openai_stream,
    stream_reply,
)

_STREAM = (("content-type", "text/event-stream"),)


def _events(body: bytes) -> list[bytes]:
    return [event.raw for event in events(Response(200, _STREAM, body))]


class _TornAway(BaseException):
    """As Ctrl-C and exits are: no `Exception`."""


class Streaming(Calls):
    """Streams pass through, end as they ended, and are kept only if they may be."""

    def test_br_054_the_first_event_is_there_before_the_second_is_sent(self, colour: str, provider: Provider) -> None:
        first_came = threading.Event()
        provider.script([replace(openai_stream("one two three"), hold=first_came, hold_before=1)])

        def release(body: bytes) -> bool:
            first_came.set()
            return False

        with self.session("once") as session:
            body = self.read(colour, ask(provider, "count", stream=True), release)
        assert body.endswith(b"data: [DONE]\n\n")
        assert session.recorded[0].response.body == body

    def test_br_057_the_same_events_at_replay(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "ten words", stream=True)
        provider.script([openai_stream("a b c d e f g h i j")])
        with self.session("once") as session:
            first = self.read(colour, asked)
        assert [entry.verdict for entry in session.recorded] == ["good"]
        provider.close()
        one_by_one: list[bytes] = []

        def note(body: bytes) -> bool:
            one_by_one.append(body)
            return False

        with self.session("none"):
            again = self.read(colour, asked, note)
        assert again == first
        assert len(one_by_one) == len(_events(first)) == 13, "a replay gives event by event, not one lump"

    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    def test_br_061_a_character_over_two_chunks(self, colour: str, provider: Provider, size: int) -> None:
        asked = ask(provider, "say it in Chinese", stream=True)
        provider.script([openai_stream("北京 🎉").in_pieces(size)])
        with self.session("once") as session:
            first = self.read(colour, asked)
        assert session.recorded[0].answer is not None
        assert session.recorded[0].answer.choices[0].text == "北京 🎉"
        provider.close()
        with self.session("none"):
            assert self.read(colour, asked) == first
        assert "\ufffd" not in first.decode()

    def test_br_065_a_stream_that_its_caller_left(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "talk for ever", stream=True)
        never = threading.Event()
        provider.script([replace(openai_stream("one two three"), hold=never, hold_before=2)])
        with self.session("once") as session:
            first = self.read(colour, asked, lambda body: count(body) == 2)
        assert [entry.verdict for entry in session.recorded] == [f"left:{len(first)}"]
        assert count(first) == 2
        provider.close()
        with self.session("none") as session:
            assert self.read(colour, asked, lambda body: count(body) == 2) == first
        with self.session("none") as session, session.expect_refusal():
            raise refused(lambda: self.read(colour, asked))
        assert isinstance(session.refusals[0], InteractionNotFound)
        assert f"its caller left after {len(first)} bytes" in str(session.refusals[0])

    @pytest.mark.parametrize("kind", IN_PIECES)
    def test_br_065_a_body_that_its_caller_never_read(self, colour: str, provider: Provider, kind: str) -> None:
        asked, reply = ask(provider, "I want the status only", stream=kind == "stream"), IN_PIECES[kind]
        provider.script([replace(reply, hold=threading.Event(), hold_before=1)])
        with self.session("once") as session:
            self.leave_unread(colour, asked)
        assert [(entry.verdict, entry.ordinal) for entry in session.recorded] == [("left:0", 0)]
        provider.close()
        with self.session("none"):
            self.leave_unread(colour, asked)
        with self.session("none") as session, session.expect_refusal():
            raise refused(lambda: self.read(colour, asked))
        assert "its caller left after 0 bytes" in str(session.refusals[0])

    @pytest.mark.parametrize("kind", IN_PIECES)
    def test_a_caller_that_is_torn_away_leaves_nothing(self, colour: str, provider: Provider, kind: str) -> None:
        asked, reply = ask(provider, "stop me", stream=kind == "stream"), IN_PIECES[kind]
        provider.script([replace(reply, hold=threading.Event(), hold_before=2), reply])

        def stop(body: bytes) -> bool:
            raise _TornAway

        with self.session("once") as session:
            with pytest.raises(_TornAway):
                self.read(colour, asked, stop)
            assert (session.recorded, session.rejects) == ((), ())
            assert self.read(colour, asked) == reply.body
        assert [(entry.verdict, entry.ordinal) for entry in session.recorded] == [("good", 0)]

    def test_left_after_the_terminal_event_is_complete(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "until done", stream=True)
        never = threading.Event()
        reply = openai_stream("one two")
        provider.script([replace(reply, pieces=(*reply.pieces, b": bye\n\n"), hold=never, hold_before=5)])
        with self.session("once") as session:
            first = self.read(colour, asked, lambda body: body.endswith(b"data: [DONE]\n\n"))
        assert [entry.verdict for entry in session.recorded] == ["good"]
        provider.close()
        with self.session("none"):
            assert self.read(colour, asked) == first

    @pytest.mark.parametrize("reset", [False, True], ids=["short", "reset"])
    def test_br_063_a_broken_body_is_the_clients_own_error(self, colour: str, provider: Provider, reset: bool) -> None:
        asked = ask(provider, "break off", stream=True)
        reply = openai_stream("one two three four")
        broken = replace(reply, cut_after=len(b"".join(reply.pieces[:3])) + 10, reset=reset)
        provider.script([broken, openai_stream("whole")])
        with self.session("once") as session:
            with pytest.raises(self.read_error):
                self.read(colour, asked)
            assert [entry.verdict for entry in session.rejects] == ["reject:cut"]
            whole = self.read(colour, asked)
        assert session.rejects[0].response.body == reply.body[: len(session.rejects[0].response.body)]
        assert [(entry.verdict, entry.ordinal) for entry in session.recorded] == [("good", 0)]
        provider.close()
        with self.session("none"):
            assert self.read(colour, asked) == whole

    def test_br_060_a_kept_cut_breaks_off_again(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "break off", stream=True)
        reply = openai_stream("one two three four")
        provider.script([replace(reply, cut_after=len(b"".join(reply.pieces[:3])) + 10)])
        bodies: list[bytes] = []
        for mode in ("once", "none"):
            came: list[bytes] = []

            def note(body: bytes, came: list[bytes] = came) -> bool:
                came.append(body)
                return False

            with self.session(mode, keep=["cut"]), pytest.raises(self.read_error):
                self.read(colour, asked, note)
            bodies.append(came[-1])
            provider.close()
        assert count(bodies[1]) == 3
        assert bodies[1].startswith(bodies[0])

    @pytest.mark.parametrize("make", [openai_stream, anthropic_stream], ids=["openai", "anthropic"])
    def test_br_063_a_clean_end_without_the_terminal_event(self, colour: str, provider: Provider, make: object) -> None:
        assert callable(make)
        asked = ask(provider, "stop half-way", stream=True)
        if make is anthropic_stream:
            asked = replace(asked, url=provider.url + "/v1/messages")
        provider.script([make("one two three", ending="cut")])
        with self.session("once") as session, session.expect_refusal():
            raise refused(lambda: self.read(colour, asked))
        refusal = session.refusals[0]
        assert isinstance(refusal, ContractError)
        assert (refusal.kind, session.recorded) == ("cut", ())

    def test_an_error_event_passes_unwritten(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "fail half-way", stream=True)
        provider.script([openai_stream("one two", ending="error")])
        with self.session("once") as session:
            assert b"The server had an error" in self.read(colour, asked)
        assert (session.recorded, session.rejects) == ((), ())

    def test_a_body_shorter_than_declared(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "short")
        provider.script([replace(openai_chat("cut off here"), cut_after=40)])
        with self.session("once") as session, pytest.raises((self.read_error, ContractError)):
            self.call(colour, asked)
        assert [entry.verdict for entry in session.rejects] == ["reject:cut"]
        assert session.recorded == ()

    def test_a_stream_of_no_known_dialect(self, colour: str, provider: Provider) -> None:
        asked = replace(ask(provider, "tail", stream=True), url=provider.url + "/tail")
        provider.script([stream_reply((b"data: 1\n\n", b"data: 2\n\n"))])
        host = provider.url.removeprefix("http://")
        with self.session("once", hosts=[host]) as session:
            assert self.read(colour, asked) == b"data: 1\n\ndata: 2\n\n"
        assert [entry.verdict for entry in session.recorded] == ["good"]
        provider.close()
        with self.session("none", hosts=[host]):
            assert self.read(colour, asked) == b"data: 1\n\ndata: 2\n\n"

    def test_an_error_in_place_of_a_stream(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "no", stream=True)
        provider.script([openai_error(500, "no stream for you"), openai_stream("after all")])
        with self.session("once") as session:
            assert b"no stream for you" in self.read(colour, asked)
            self.read(colour, asked)
        assert [(entry.response.status, entry.ordinal) for entry in session.recorded] == [(200, 0)]
