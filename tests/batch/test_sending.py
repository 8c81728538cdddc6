"""One request over the wire, and every way in which nothing comes back."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace

import pytest

from onetake.batch.job import Ask
from onetake.batch.retrying import Fault, Kind
from onetake.batch.sending import NOT_SENT, Sender, credential, is_cut
from onetake.errors import UsageError
from onetake.model import Cut, Request, header
from onetake.testing.provider import openai_chat, openai_error, openai_stream, text_reply

KEY = "test-key-0123456789"


def ask(provider, **more):
    return Ask(provider.url + "/v1", "m", "{x}", **more)


def request(provider, text="hi", path="/v1/chat/completions", **body):
    said = {"model": "m", "messages": [{"role": "user", "content": text}], **body}
    return Request("POST", provider.url + path, (("content-type", "application/json"),), json.dumps(said).encode())


def sent(job, *requests, timeout=30.0, environ=None, together=False):
    """Send some requests, and return what came of each."""

    async def run():
        sender = Sender(job, timeout=timeout, environ=environ or {})
        try:
            if together:
                return await asyncio.gather(*map(sender.send, requests))
            return [await sender.send(one) for one in requests]
        finally:
            await sender.close()

    return asyncio.run(run())


def test_a_whole_answer_comes_as_it_was_sent(provider):
    reply = openai_chat("hello")
    provider.script([replace(reply, encoding="gzip")])
    (came,) = sent(ask(provider), request(provider))
    assert (came.status, came.body, came.decoded, came.cut) == (200, reply.body, "gzip", Cut.NO)
    assert provider.requests[0].body == request(provider).body


@pytest.mark.parametrize(
    ("api", "name", "value"), [("openai", "authorization", f"Bearer {KEY}"), ("anthropic", "x-api-key", KEY)]
)
def test_the_credential_goes_to_the_jobs_base_url_only(provider, api, name, value):
    job = ask(provider, api=api, api_key_env="K")
    inside, beside = request(provider), request(provider, path="/v12/chat/completions")
    sent(job, inside, beside, environ={"K": f" {KEY}\n"})
    first, second = provider.requests
    assert first.header(name) == value
    assert second.header(name) is None
    assert header(inside.headers, name) is None


def test_a_redirect_is_not_followed(provider):
    provider.script([text_reply("", 307, (("location", provider.url + "/elsewhere"),))])
    (came,) = sent(ask(provider, api_key_env="K"), request(provider), environ={"K": KEY})
    assert came.status == 307
    assert provider.count == 1


@pytest.mark.parametrize("value", ["", "  ", "two words", "k€y"])
def test_a_credential_that_cannot_be_one_is_told_before_anything_is_sent(value):
    with pytest.raises(UsageError, match="MY_KEY") as told:
        credential(Ask("http://h/v1", "m", "x", api_key_env="MY_KEY"), {"MY_KEY": value})
    assert not value.strip() or value not in str(told.value)


def test_without_a_variable_no_credential_is_sent(provider):
    sent(ask(provider), request(provider), environ={"OPENAI_API_KEY": KEY})
    assert KEY not in str(provider.requests[0].headers)


def test_a_proxy_of_the_machine_gets_nothing_that_goes_to_loopback(provider, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (came,) = sent(ask(provider), request(provider))
    assert came.status == 200


def test_a_proxy_of_the_machine_gets_what_goes_elsewhere(provider, monkeypatch):
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", provider.url)
    monkeypatch.setenv("http_proxy", provider.url)
    elsewhere = "http://models.example/v1"
    job = Ask(elsewhere, "m", "x", api_key_env="K")
    sent(job, replace(request(provider), url=elsewhere + "/chat/completions"), environ={"K": KEY})
    assert provider.count == 1
    said = provider.requests[0]
    assert (said.header("host"), said.header("authorization")) == ("models.example", f"Bearer {KEY}")


@pytest.mark.parametrize("value", ["localhost", "[::1]", "*"])
def test_hosts_without_proxy_are_nothing_where_there_is_no_proxy(provider, monkeypatch, value):
    for name in ("http", "https", "all"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)
    monkeypatch.setenv("NO_PROXY", value)
    (came,) = sent(Ask("http://models.example/v1", "m", "x"), request(provider))
    assert came.status == 200


def test_cookies_of_one_answer_go_with_no_other_request(provider):
    provider.script([replace(openai_chat("a"), headers=(*openai_chat("a").headers, ("set-cookie", "who=me")))])
    sent(ask(provider), request(provider), request(provider))
    assert [one.header("cookie") for one in provider.requests] == [None, None]


def test_each_request_says_who_asks_unless_it_says_so_itself(provider):
    own = replace(request(provider), headers=(("User-Agent", "sdk/1"),))
    sent(ask(provider), request(provider), own)
    first, second = provider.requests
    assert first.header("user-agent").startswith("onetake/") and second.header("user-agent") == "sdk/1"
    assert {one.header("accept-encoding") for one in provider.requests} == {"gzip, deflate"}


def test_nobody_listens(provider):
    job, one = ask(provider), request(provider)
    provider.close()
    (came,) = sent(job, one)
    assert (came.kind, came.label) == (Kind.AGAIN, "connection")


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("after", [0, 30])
def test_a_body_that_breaks_off_is_no_answer(provider, reset, after):
    provider.script([replace(openai_chat("hello"), cut_after=after, reset=reset)])
    (came,) = sent(ask(provider), request(provider))
    assert (came.kind, came.label) == (Kind.AGAIN, "cut")


def test_the_status_of_an_error_tells_enough_where_its_body_breaks_off(provider):
    provider.script([replace(openai_error(429), cut_after=10)])
    (came,) = sent(ask(provider), request(provider))
    assert came.status == 429 and is_cut(came)


def test_a_stream_without_its_terminal_event_is_cut(provider):
    provider.script([openai_stream("a b c", ending="cut"), openai_stream("a b c")])
    cut, whole = sent(ask(provider), request(provider, stream=True), request(provider, stream=True))
    assert is_cut(cut) and not is_cut(whole)


def test_an_answer_after_the_time_limit_is_never_the_next_requests(provider):
    late = threading.Event()
    provider.script([replace(openai_chat("late"), hold=late), openai_chat("in time")])

    async def run():
        sender = Sender(ask(provider), timeout=0.2, environ={})
        first = await sender.send(request(provider, "one"))
        late.set()
        second = await sender.send(request(provider, "two"))
        await sender.close()
        return first, second

    first, second = asyncio.run(run())
    assert (first.kind, first.label) == (Kind.AGAIN, "timeout")
    assert b"in time" in second.body


def test_a_process_that_was_stopped_takes_the_answers_that_wait_for_it(provider):
    jump = [0.0]

    def answer(received):
        jump[0] = 120.0
        return openai_chat("paid for")

    provider.script(answer)

    async def run():
        loop = asyncio.get_running_loop()
        real = loop.time
        loop.time = lambda: real() + jump[0]
        sender = Sender(ask(provider), timeout=20, environ={})
        came = await sender.send(request(provider))
        await sender.close()
        return came

    came = asyncio.run(run())
    assert not isinstance(came, Fault) and b"paid for" in came.body


def test_what_cannot_be_an_address_is_no_answer(provider):
    (came,) = sent(ask(provider), Request("POST", "ftp://h/x", (), b"{}"))
    assert came.kind is Kind.ACCESS


@pytest.mark.parametrize(
    "url",
    [
        "http://\u2603.example/x",
        "http://xn--0.example/x",
        "http://127.0.0.1:99999/x",
        "http://h:port/x",
        "http://[::1/x",
    ],
)
def test_a_host_or_port_that_is_none_is_no_answer_whoever_refuses_it(provider, url):
    elsewhere = Ask("http://models.example/v1", "m", "x")
    for job in (ask(provider), elsewhere):
        (came,) = sent(job, Request("POST", url, (), b"{}"))
        assert isinstance(came, Fault) and came.label in NOT_SENT


def test_headers_go_as_their_bytes_were(provider):
    own = replace(request(provider), headers=(("x-title", "caf\u00e9 "), ("x-tab", "a\tb"), ("x-none", "")))
    sent(ask(provider), own)
    assert [provider.requests[0].header(name) for name in ("x-title", "x-tab", "x-none")] == ["caf\u00e9", "a\tb", ""]


@pytest.mark.parametrize(
    ("name", "value"),
    [("authorization", f"Bearer {KEY}\n"), ("x-api-key", f"{KEY}\u20ac"), ("x-title", "a\r\nb: c"), ("x title", KEY)],
)
def test_a_header_that_cannot_be_sent_is_that_requests_fault_and_no_value_is_quoted(provider, name, value):
    own = replace(request(provider), headers=((name, value),))
    bad, good = sent(ask(provider), own, request(provider))
    assert (bad.kind, bad.label, good.status, provider.count) == (Kind.UNSENDABLE, "header", 200, 1)
    assert value.strip() not in bad.said and KEY not in bad.said


def test_what_a_client_raises_that_it_does_not_name_is_no_answer(provider, monkeypatch):
    async def raises(asked):
        raise RuntimeError(f"bad: {KEY}")

    own = replace(request(provider), headers=(("authorization", f"Bearer {KEY}"),))
    monkeypatch.setattr(Sender, "_way", lambda self: raises)
    (came,) = sent(ask(provider), own)
    assert (came.kind, str(came), came.label in NOT_SENT) == (Kind.ACCESS, "client: bad: …", False)


def test_no_fault_quotes_the_credential(provider):
    sender = Sender(ask(provider, api_key_env="K"), timeout=1, environ={"K": KEY})
    assert KEY not in sender._said(ValueError(f"bad header: Bearer {KEY}"), request(provider))
    asyncio.run(sender.close())


def test_certificates_that_cannot_be_read_are_told_before_anything_is_sent(tmp_path, monkeypatch):
    (tmp_path / "bad.pem").write_text("none")
    for place in (tmp_path / "bad.pem", tmp_path / "gone.pem"):
        monkeypatch.setenv("SSL_CERT_FILE", str(place))
        with pytest.raises(UsageError, match="SSL_CERT_FILE"):
            Sender(Ask("https://models.example/v1", "m", "x"), timeout=1, environ={})
