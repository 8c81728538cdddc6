"""What every adapter of an HTTP client must do: subclass `AdapterConformance` and say how your client is called."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.errors import InteractionNotFound
from onetake.model import Headers, header
from onetake.testing.adapter_calls import CHAT, Answer, Ask, ask, refused
from onetake.testing.adapter_concurrency import AtOnce
from onetake.testing.adapter_streams import Streaming
from onetake.testing.provider import Provider, bytes_reply, openai_chat, openai_error, text_reply

__all__ = ["AdapterConformance", "Answer"]

_BINARY = bytes(range(256)) + b"\xff\xd8\x00\x3d\xfe"
_PDF: Headers = (("content-type", "application/pdf"),)


class AdapterConformance(Streaming, AtOnce):
    """The behaviour of an adapter, as tests that pytest collects from a subclass.

    class TestOracle(AdapterConformance):
        colours = ("sync",)
        read_error = oracle.ReadError

        def send(self, method, url, *, headers, body): ...

        @contextmanager
        def stream(self, method, url, *, headers, body): ...
    """

    hops = True
    """False for a client that follows redirects inside the call that is intercepted: one entry for all."""

    def test_an_answer_is_replayed_with_the_provider_gone(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "where is Delphi?")
        with self.session("once") as session:
            first = self.call(colour, asked)
        assert first.text == "answer 1 to: where is Delphi?"
        assert [entry.verdict for entry in session.recorded] == ["good"]
        stored = session.recorded[0].response
        provider.close()
        with self.session("none") as session:
            again = self.call(colour, asked)
        assert len(session.played) == 1
        assert (again.status, again.body) == (first.status, first.body)
        assert header(again.headers, "content-type") == "application/json"
        assert _lower(again.headers) == _lower(stored.headers) <= _lower(first.headers)

    def test_no_byte_leaves_for_an_unknown_request(self, colour: str, provider: Provider) -> None:
        with self.session("none") as session, session.expect_refusal():
            error = refused(lambda: self.call(colour, ask(provider, "something new")))
            raise error
        assert isinstance(error, InteractionNotFound)
        assert provider.count == 0
        assert session.refusals == (error,)

    def test_a_call_outside_a_session_goes_out_untouched(self, colour: str, provider: Provider, folder: Path) -> None:
        with self.session("once"):
            self.call(colour, ask(provider, "inside"))
        provider.script([openai_chat("live")])
        assert self.call(colour, ask(provider, "inside")).text == "live"
        assert len(list((folder / "cassette").glob("*.json"))) == 1

    def test_two_sessions_one_after_the_other_share_nothing(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "same question")
        for name in ("one", "two"):
            with self.session("once", name):
                self.call(colour, asked)
        provider.close()
        for name, number in (("two", 2), ("one", 1)):
            with self.session("none", name):
                assert self.call(colour, asked).text == f"answer {number} to: same question"

    def test_br_117_errors_pass_unwritten_and_free_their_ordinal(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "are you there?")
        slow = replace(openai_error(429), headers=(("content-type", "application/json"), ("retry-after", "20")))
        provider.script([slow, openai_error(500), openai_chat("yes")])
        with self.session("once") as session:
            statuses = [self.call(colour, asked).status for _ in range(3)]
        assert statuses == [429, 500, 200]
        assert [(entry.response.status, entry.ordinal) for entry in session.recorded] == [(200, 0)]
        provider.close()
        with self.session("none"):
            assert self.call(colour, asked).text == "yes"

    def test_br_117_a_kept_error_is_replayed_in_its_place(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "are you there?")
        provider.script([openai_error(429), openai_chat("yes")])
        with self.session("once", keep=["status:429"]) as session:
            first = [self.call(colour, asked) for _ in range(2)]
        assert [entry.verdict for entry in session.recorded] == ["kept:status:429", "good"]
        provider.close()
        with self.session("none", keep=["status:429"]):
            again = [self.call(colour, asked) for _ in range(2)]
        assert [(answer.status, answer.body) for answer in again] == [(a.status, a.body) for a in first]

    def test_redirects_are_followed_at_replay_too(self, colour: str, provider: Provider) -> None:
        asked = Ask("POST", provider.url + "/old" + CHAT, (("content-type", "application/json"),), b'{"messages": []}')
        moved = replace(bytes_reply(b"", "text/plain", 307), headers=(("location", "/new" + CHAT),))
        provider.script([moved, openai_chat("moved")])
        with self.session("once") as session:
            assert self.call(colour, asked).text == "moved"
        assert [entry.response.status for entry in session.recorded] == ([307, 200] if self.hops else [200])
        provider.close()
        with self.session("none"):
            assert self.call(colour, asked).text == "moved"

    def test_br_070_compressed_answers(self, colour: str, provider: Provider, encoding: str) -> None:
        asked = ask(provider, "compress this, though I asked for identity")
        provider.script([replace(openai_chat("small " * 50), encoding=encoding)])  # type: ignore[arg-type]
        with self.session("once") as session:
            first = self.call(colour, asked)
        assert header(provider.requests[0].headers, "accept-encoding") in ("identity", None)
        entry = session.recorded[0]
        assert (entry.response.decoded, header(entry.response.headers, "content-encoding")) == (encoding, None)
        assert entry.response.body == first.body
        provider.close()
        with self.session("none"):
            assert self.call(colour, asked).body == first.body

    @pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
    def test_br_070_what_the_client_does_not_undo_comes_encoded_again(
        self, colour: str, provider: Provider, coding: str
    ) -> None:
        asked, host = Ask("GET", provider.url + "/text"), provider.url.removeprefix("http://")
        provider.script([replace(bytes_reply(b"words " * 50, "text/plain"), encoding=coding)])  # type: ignore[arg-type]
        with self.session("once", hosts=[host]) as session:
            first = self.call(colour, asked)
        undone = coding in self.encodings
        assert (first.body == b"words " * 50, session.recorded[0].response.decoded == coding) == (undone, undone)
        provider.close()
        with self.session("none", hosts=[host]):
            again = self.call(colour, asked)
        assert again.body == first.body
        assert header(again.headers, "content-encoding") == (None if undone else coding)

    def test_br_075_binary_bodies_both_ways(self, colour: str, provider: Provider) -> None:
        asked = Ask("POST", provider.url + "/files", _PDF, _BINARY)
        provider.script([bytes_reply(_BINARY[::-1], "image/png")])
        host = provider.url.removeprefix("http://")
        with self.session("once", hosts=[host]):
            assert self.call(colour, asked).body == _BINARY[::-1]
        assert provider.requests[0].body == _BINARY
        provider.close()
        with self.session("none", hosts=[host]) as session, session.expect_refusal():
            assert self.call(colour, asked).body == _BINARY[::-1]
            raise refused(lambda: self.call(colour, replace(asked, body=_BINARY + b"\x00")))

    def test_br_072_the_length_fits_a_scrubbed_body(self, colour: str, provider: Provider) -> None:
        secret = "sk-proj-" + "a1B2" * 12
        asked = ask(provider, "what is my key?")
        provider.script([openai_chat(f"it is {secret}")])
        with self.session("once") as session:
            assert secret in self.call(colour, asked).text
        assert secret.encode() not in session.recorded[0].response.body
        provider.close()
        with self.session("none"):
            again = self.call(colour, asked)
        assert again.body == session.recorded[0].response.body
        assert header(again.headers, "content-length") == str(len(again.body))

    @pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("DELETE", 204)])
    def test_answers_without_a_body(self, colour: str, provider: Provider, method: str, status: int) -> None:
        asked = Ask(method, provider.url + "/models")
        provider.script([text_reply("not sent" if status == 200 else "", status)])
        host = provider.url.removeprefix("http://")
        with self.session("once", hosts=[host]) as session:
            first = self.call(colour, asked)
        assert [entry.verdict for entry in session.recorded] == ["good"]
        provider.close()
        with self.session("none", hosts=[host]):
            again = self.call(colour, asked)
        assert (again.status, again.body) == (first.status, first.body) == (status, b"")

    def test_br_092_a_hit_leaves_what_was_given_before(self, colour: str, provider: Provider) -> None:
        asked = ask(provider, "twice")
        with self.session("once", repeats="same"):
            first = self.call(colour, asked)
            before = (first.status, first.headers, first.body)
            again = self.call(colour, asked)
        assert again.body == first.body
        assert (first.status, first.headers, first.body) == before
        assert provider.count == 1

    def test_br_087_a_late_thread_is_refused_in_its_own_sessions_name(self, colour: str, provider: Provider) -> None:
        go, found = threading.Event(), []

        def late() -> None:
            go.wait()
            found.append(refused(lambda: self.call(colour, ask(provider, "too late"))))

        with self.session("once", "leaky"):
            thread = threading.Thread(target=late)
            thread.start()
        with self.session("once", "next") as session:
            go.set()
            thread.join()
        assert "leaky has ended" in str(found[0])
        assert (provider.count, session.requests, session.entries) == (0, (), ())


def _lower(headers: Headers) -> set[tuple[str, str]]:
    return {(name.lower(), value) for name, value in headers}
