"""aiohttp's responses: a replayed one is what the live one was, to everything around it."""

from __future__ import annotations

import gzip
from dataclasses import replace

import aiohttp
import pytest

from onetake.testing.provider import bytes_reply, openai_chat, openai_error, openai_stream

pytestmark = [pytest.mark.filterwarnings("error::ResourceWarning"), pytest.mark.usefixtures("nothing_unclosed")]


_HEADERS = (
    ("content-type", "application/json; charset=utf-8"),
    ("retry-after", "1"),
    ("Retry-After", "2"),
)


def _seen(response):
    return {
        "type": (isinstance(response, aiohttp.ClientResponse), type(response).__name__),
        "status": (response.status, response.reason, response.ok, tuple(response.version)),
        "url": (response.url, response.real_url, response.host, response.method),
        "headers": [(name.lower(), value) for name, value in response.headers.items() if name.lower() != "date"],
        "many": response.headers.getall("retry-after"),
        "raw": [pair for pair in response.raw_headers if pair[0].lower() != b"date"],
        "kind": (response.content_type, response.charset, response.get_encoding()),
        "asked": (response.request_info.method, response.request_info.url, response.request_info.real_url),
        "asked with": sorted(response.request_info.headers.items()),
        "history": response.history,
        "closed": (response.closed, response.connection),
    }


def test_br_073_br_074_a_replay_is_a_real_response(url, provider, session, body, run):
    async def call(**options):
        async with (
            aiohttp.ClientSession(**options) as client,
            client.post(url + "?q=1#part", json=body("who?")) as response,
        ):
            await response.read()
            return _seen(response)

    provider.script([replace(openai_chat("I"), headers=_HEADERS)])
    with session("once"):
        first = run(call())
    provider.close()
    with session("none"):
        assert run(call()) == first

    class Mine(aiohttp.ClientResponse):
        def text_twice(self):
            return self.status * 2

    async def mine():
        async with (
            aiohttp.ClientSession(response_class=Mine) as client,
            client.post(url + "?q=1", json=body("who?")) as response,
        ):
            return isinstance(response, Mine), response.text_twice(), await response.json()

    with session("none"):
        assert run(mine())[:2] == (True, 400)


def test_a_replayed_response_that_is_not_read_is_closed_like_any_other(url, provider, session, body, run):
    async def call():
        async with aiohttp.ClientSession() as client:
            response = await client.post(url, json=body("later", stream=True))
            found = await response.content.readline()
            response.release()
            with pytest.raises(aiohttp.ClientConnectionError, match="Connection closed"):
                await response.content.readline()
            return found, response.closed

    with session("once"):
        first = run(call())
    with session("none"):
        assert run(call()) == first
    assert first[1]


def test_cookies_reach_the_jar_again(url, provider, session, body, run):
    """A provider's cookies are secrets: a replay sets the same names."""

    async def call():
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as client:
            async with client.post(url, json=body("cookie?")) as response:
                names = sorted(response.cookies)
            return names, sorted(cookie.key for cookie in client.cookie_jar)

    headers = (("content-type", "application/json"), ("set-cookie", "a=1; Path=/"))
    provider.script([replace(openai_chat("yes"), headers=headers)])
    with session("once") as opened:
        first = run(call())
    assert first == (["a"], ["a"])
    kept = [name for name, _ in opened.recorded[0].response.headers if name.lower() == "set-cookie"]
    provider.close()
    with session("none"):
        assert run(call()) == (first if kept else ([], []))


@pytest.mark.parametrize("where", ["session", "request", "method"])
def test_raise_for_status(url, provider, session, body, where, run):
    async def call():
        async with aiohttp.ClientSession(raise_for_status=where == "session") as client:
            options = {"raise_for_status": True} if where == "request" else {}
            async with client.post(url, json=body("no"), **options) as response:
                response.raise_for_status()

    provider.script([openai_error(429)])
    found = []
    for mode in ("once", "none"):
        with session(mode, keep=["status:429"]), pytest.raises(aiohttp.ClientResponseError) as raised:
            run(call())
        error = raised.value
        found.append((error.status, error.message, error.request_info.url, error.headers["content-type"]))
        provider.close()
    assert found[0] == found[1]


def test_an_error_status_passes_unwritten_and_leaks_nothing(url, provider, session, body, run, said, ask):
    async def call():
        async with aiohttp.ClientSession(raise_for_status=True) as client:
            for _ in range(3):
                with pytest.raises(aiohttp.ClientResponseError):
                    await client.post(url, json=body("no"))
            return said(await ask(url, body("no"), client))

    provider.script([openai_error(500), openai_error(429), openai_error(529), openai_chat("yes")])
    with session("once") as opened:
        assert run(call()) == "yes"
    assert [(entry.verdict, entry.ordinal) for entry in opened.recorded] == [("good", 0)]


def test_traces_see_a_replay_as_well(url, provider, session, body, run, ask):
    seen = []
    trace = aiohttp.TraceConfig()

    def note(name):
        async def noted(client, context, params):
            seen.append(name)

        return noted

    trace.on_request_start.append(note("start"))
    trace.on_request_end.append(note("end"))
    trace.on_response_chunk_received.append(note("chunk"))
    trace.on_request_exception.append(note("exception"))

    async def call():
        async with aiohttp.ClientSession(trace_configs=[trace]) as client:
            await ask(url, body("traced"), client)

    with session("once"):
        run(call())
    assert seen == ["start", "end", "chunk"]
    with session("none"):
        run(call())
    assert seen == ["start", "end", "chunk"] * 2
    with session("none") as opened, opened.expect_refusal():
        run(_traced_miss(trace, url, body, ask))
    assert seen[6:] == ["start", "exception"]


async def _traced_miss(trace, url, body, ask):
    async with aiohttp.ClientSession(trace_configs=[trace]) as client:
        await ask(url, body("never asked"), client)


@pytest.mark.parametrize("decompress", [True, False])
def test_br_070_auto_decompress(provider, host, session, decompress, run):
    async def call():
        async with (
            aiohttp.ClientSession(auto_decompress=decompress) as client,
            client.get(provider.url + "/text") as response,
        ):
            return await response.read()

    provider.script([replace(bytes_reply(b"plain text " * 20, "text/plain"), encoding="gzip")])
    with session("once", hosts=[host]) as opened:
        first = run(call())
    assert (first == b"plain text " * 20) == decompress
    stored = opened.recorded[0].response
    assert (stored.body, stored.decoded) == (first, "gzip" if decompress else "")
    assert dict(stored.headers).get("content-length", str(len(stored.body))) == str(len(stored.body))
    provider.close()
    with session("none", hosts=[host]):
        assert run(call()) == first


def test_an_answer_that_the_client_leaves_encoded_is_judged_by_its_content(url, provider, session, body, run):
    async def call():
        async with (
            aiohttp.ClientSession(auto_decompress=False) as client,
            client.post(url, json=body("pack it")) as response,
        ):
            return await response.read()

    packed = openai_chat("packed")
    provider.script([replace(packed, encoding="gzip")])
    with session("once") as opened:
        first = run(call())
    (entry,) = opened.recorded
    assert gzip.decompress(first) == packed.body
    assert (entry.verdict, entry.answer.choices[0].text, entry.response.body) == ("good", "packed", first)
    provider.close()
    with session("none"):
        assert run(call()) == first


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "stream"])
def test_br_070_an_answer_that_the_program_decompresses_is_judged_by_its_content(
    streamed, url, provider, session, body, run
):
    answer = replace(openai_stream("tell") if streamed else openai_chat("tell"), encoding="gzip")

    async def call():
        async with (
            aiohttp.ClientSession(auto_decompress=False) as client,
            client.post(url, json=body("tell", stream=streamed)) as response,
        ):
            return await response.read()

    provider.script([answer])
    with session("once") as opened:
        first = run(call())
    provider.close()
    assert gzip.decompress(first) == answer.body
    assert [(entry.verdict, entry.response.decoded) for entry in opened.recorded] == [("good", "")]
    with session("none"):
        assert run(call()) == first


def test_one_connection_serves_many_recorded_calls(url, provider, session, body, run, said, ask):
    """Also under `same`, where bodies are read before their caller sees them, and after streams that were left."""

    async def calls():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as client:
            found = [said(await ask(url, body(f"call {number}"), client)) for number in range(4)]
            async with client.post(url, json=body("left", stream=True)) as response:
                await response.content.readline()
            return [*found, said(await ask(url, body("the last"), client))]

    for mode, repeats in (("once", "sequence"), ("all", "same"), ("none", "same")):
        with session(mode, repeats=repeats):
            assert len(run(calls())) == 5
