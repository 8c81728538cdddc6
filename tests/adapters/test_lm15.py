"""lm15's transports, blocking and awaited."""

from __future__ import annotations

import importlib
import sys
import textwrap
import threading
import types
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from urllib.parse import urljoin

import lm15.transports
import pytest
from lm15.transports import StdlibAsyncTransport, StdlibTransport, TransportError, TransportRequest

from onetake import hooking, patching
from onetake.adapters import lm15 as adapter
from onetake.errors import AdapterError, InteractionNotFound
from onetake.testing import AdapterConformance, Answer
from onetake.testing.adapter_calls import ask, refused, run
from onetake.testing.provider import bytes_reply, openai_chat, openai_stream


class TestLm15(AdapterConformance):
    colours = ("sync", "asyncio")
    read_error = TransportError
    encodings = ()  # gzip and deflate are undone below the seam: see the test of it

    def send(self, method, url, *, headers, body):
        with StdlibTransport() as transport, transport.stream(_request(method, url, headers, body)) as response:
            answer = Answer(response.status, tuple(response.headers), response.read())
            target = response.header("location")
        return self.send(method, urljoin(url, target), headers=headers, body=body) if target else answer

    @contextmanager
    def stream(self, method, url, *, headers, body):
        with StdlibTransport() as transport, transport.stream(_request(method, url, headers, body)) as response:
            yield iter(response)

    async def asend(self, method, url, *, headers, body):
        async with (
            StdlibAsyncTransport() as transport,
            transport.stream(_request(method, url, headers, body)) as response,
        ):
            answer = Answer(response.status, tuple(response.headers), await response.read())
            target = response.header("location")
        return await self.asend(method, urljoin(url, target), headers=headers, body=body) if target else answer

    @asynccontextmanager
    async def astream(self, method, url, *, headers, body):
        async with (
            StdlibAsyncTransport() as transport,
            transport.stream(_request(method, url, headers, body)) as response,
        ):
            yield response.__aiter__()

    @pytest.mark.parametrize("coding", ["gzip", "deflate"])
    def test_br_070_what_the_client_does_not_undo_comes_encoded_again(self, colour, provider, coding):
        """lm15 gives the plain body under the headers of the coded one; a replay gives it under headers that fit."""
        asked = replace(ask(provider, "coded"), headers=(("Accept-Encoding", "gzip"),))
        provider.script([replace(openai_chat("words " * 50), encoding=coding)])
        with self.session("once") as session:
            first = self.call(colour, asked)
        assert provider.requests[0].header("accept-encoding") == "identity"
        assert (first.text, session.recorded[0].verdict) == ("words " * 50, "good")
        provider.close()
        with self.session("none"):
            again = self.call(colour, asked)
        assert again.body == first.body
        assert "content-encoding" not in {name.lower() for name, _ in again.headers}

    def test_br_070_a_coding_that_lm15_does_not_know_is_its_own_error(self, colour, provider):
        provider.script([replace(bytes_reply(b"words", "text/plain"), encoding="br"), openai_chat("plain")])
        with self.session("once") as session:
            with pytest.raises(TransportError, match="br"):
                self.call(colour, ask(provider, "brotli"))
            assert self.call(colour, ask(provider, "brotli")).text == "plain"
        assert [entry.ordinal for entry in session.recorded] == [0]

    @pytest.mark.parametrize("reset", [False, True], ids=["short", "reset"])
    def test_br_063_a_broken_body_is_the_clients_own_error(self, colour, provider, reset):
        if not (reset and colour == "asyncio"):
            super().test_br_063_a_broken_body_is_the_clients_own_error(colour, provider, reset)
            return
        # A reset makes asyncio drop what it holds: it is chance whether lm15 has read the head, or anything, by then.
        asked, reply = ask(provider, "break off", stream=True), openai_stream("one two three four")
        provider.script([replace(reply, cut_after=len(reply.body) // 2, reset=True), openai_stream("whole")])
        with self.session("once") as session:
            with pytest.raises(TransportError):
                self.read(colour, asked)
            self.read(colour, asked)
        assert {entry.verdict for entry in session.rejects} <= {"reject:cut"}
        assert [(entry.verdict, entry.ordinal) for entry in session.recorded] == [("good", 0)]

    def test_br_052_lines_of_a_stream(self, colour, provider):
        provider.script([openai_stream("one two")])
        found = []
        for mode in ("once", "none"):
            with self.session(mode):
                found.append(_lines(colour, _request(*ask(provider, "lines", stream=True).parts[0])))
            provider.close()
        assert found[0] == found[1]
        assert found[0][-2:] == [b"data: [DONE]\n", b"\n"]

    def test_a_refused_connection_is_the_clients_own_error(self, colour, provider):
        provider.close()
        with self.session("once") as session, pytest.raises(lm15.transports.ConnectError):
            self.call(colour, ask(provider, "anybody?"))
        assert (session.recorded, session.refusals) == ((), ())

    def test_an_unread_response_that_is_dropped_frees_its_call(self, provider):
        held = threading.Event()
        provider.script([replace(openai_stream("one two"), hold=held, hold_before=1), openai_chat("next")])
        asked = ask(provider, "drop me")
        with self.session("once") as session, StdlibTransport() as transport:
            response = transport.stream(_request(*asked.parts[0], **asked.parts[1]))
            del response
            assert self.call("sync", asked).text == "next"
        assert [(entry.verdict, entry.ordinal) for entry in session.recorded] == [("good", 0)]

    def test_a_kept_connection_serves_live_and_replayed_calls(self, provider):
        with self.session("new_episodes"):
            self.call("sync", ask(provider, "known"))
        with self.session("new_episodes") as session, StdlibTransport() as transport:
            for text in ("new", "known", "newer"):
                asked = ask(provider, text)
                with transport.stream(_request(*asked.parts[0], **asked.parts[1])) as response:
                    assert response.read().decode().count(text) == 1
            assert transport.pool_stats() == {"idle": 1, "in_use": 0, "total_opened": 1}
        assert (len(session.recorded), len(session.played)) == (2, 1)


def _request(method, url, headers=(), body=b""):
    return TransportRequest(method, url, list(headers), body)


def _lines(colour, request):
    async def awaited():
        async with StdlibAsyncTransport() as transport, transport.stream(request) as response:
            return [line async for line in response.aiter_lines()]

    if colour == "asyncio":
        return run(colour, awaited)
    with StdlibTransport() as transport, transport.stream(request) as response:
        return list(response.iter_lines())


def test_provenance_names_the_copy_and_its_version(provider, session, url):
    with (
        session("once") as running,
        StdlibTransport() as transport,
        transport.stream(_request("POST", url, (), b'{"messages": []}')) as response,
    ):
        response.read()
    assert running.recorded[0].provenance["client"] == f"lm15 {lm15.__version__}"


def _copy(name="elsewhere.transports", **changed):
    """Return a module with what the adapter knows of lm15's, changed as a later version may be."""
    module = types.ModuleType(name)
    for part in ("StdlibTransport", "StdlibAsyncTransport", "TransportResponse", "AsyncTransportResponse"):
        setattr(module, part, type(part, (getattr(lm15.transports, part),), {}))
    for part, value in changed.items():
        setattr(module, part, value)
    return module


class _Otherwise:
    def __init__(self, status, body):
        pass


@pytest.mark.parametrize(
    ("part", "value", "named"),
    [
        ("StdlibTransport", None, "StdlibTransport.stream"),
        ("StdlibAsyncTransport", _Otherwise, "StdlibAsyncTransport._do_stream"),
        ("TransportResponse", _Otherwise, r"TransportResponse\(chunks, "),
        ("AsyncTransportResponse", None, r"AsyncTransportResponse\(chunks, "),
    ],
)
def test_a_version_of_an_unknown_shape_is_an_error_at_the_start(part, value, named):
    with pytest.raises(AdapterError, match=rf"cannot intercept elsewhere: it has no {named}"):
        adapter.patch(_copy(**{part: value}))


def test_the_installed_version_has_the_known_shape():
    adapter.patch(_copy())


def test_hooks_stand_once():
    adapter.patch(lm15.transports)
    before = StdlibTransport.stream, StdlibAsyncTransport._do_stream
    adapter.patch(lm15.transports)
    assert (StdlibTransport.stream, StdlibAsyncTransport._do_stream) == before


def _dspys():
    return [name for name in sys.modules if name.partition(".")[0] == "dspy"]


def test_a_copy_inside_another_package_is_patched_when_it_is_imported(tmp_path, monkeypatch):
    """Under the name that dspy gives it: found by the import hook though it is a module deep in a package."""
    inner = tmp_path / "dspy" / "_vendor" / "lm15" / "transports"
    inner.mkdir(parents=True)
    for folder in (inner, *list(inner.parents)[:3]):
        (folder / "__init__.py").touch()
    copied = """
        import lm15.transports as real
        from lm15.transports import AsyncTransportResponse, TransportResponse

        class StdlibTransport:
            stream = real.StdlibTransport.stream.__wrapped__

        class StdlibAsyncTransport:
            _do_stream = real.StdlibAsyncTransport._do_stream.__wrapped__
    """
    (inner / "__init__.py").write_text(textwrap.dedent(copied), encoding="utf-8")
    adapter.patch(lm15.transports)
    monkeypatch.syspath_prepend(tmp_path)
    with monkeypatch.context() as modules:
        for name in _dspys():
            modules.delitem(sys.modules, name)
        patching.install()
        copy = importlib.import_module("dspy._vendor.lm15.transports")
        for name in _dspys():
            del sys.modules[name]
    for hooked, theirs in (
        (copy.StdlibTransport.stream, StdlibTransport.stream),
        (copy.StdlibAsyncTransport._do_stream, StdlibAsyncTransport._do_stream),
    ):
        assert hooking.stands(hooked)
        assert hooked is not theirs
        assert hooked.__wrapped__ is theirs.__wrapped__


def test_a_refusal_passes_the_client_untouched(provider, session, url):
    with session("none") as running, running.expect_refusal(), StdlibTransport() as transport:
        error = refused(lambda: transport.stream(_request("POST", url, (), b'{"messages": []}')))
        assert transport.pool_stats()["in_use"] == 0
        raise error
    assert isinstance(error, InteractionNotFound)
    assert provider.count == 0
