"""urllib.request and xmlrpc, which sit on http.client."""

from __future__ import annotations

import http.client
import io
import json
import urllib.error
import urllib.request
import xmlrpc.client
from contextlib import contextmanager
from dataclasses import replace

import pytest

from onetake.errors import InteractionNotFound
from onetake.testing import AdapterConformance, Answer
from onetake.testing.provider import openai_chat, openai_error, text_reply


class _BrokenOffError(Exception):
    """Either of the two kinds of error that a body which breaks off raises; the suite wants one class."""


class _Follow307(urllib.request.HTTPRedirectHandler):
    """urllib follows the redirect of a POST only as a GET, and a 307 not at all; the suite asks for the latter."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if code != 307:
            return super().redirect_request(req, fp, code, msg, headers, newurl)
        again = urllib.request.Request(newurl, req.data, dict(req.header_items()), method=req.get_method())
        again.remove_header("Host")
        return again


# Made once: each has a TLS context of its own, which takes longer to make than most tests.
_OPENER = urllib.request.build_opener(_Follow307, urllib.request.ProxyHandler({}))


class TestUrllib(AdapterConformance):
    colours = ("sync",)
    read_error = _BrokenOffError
    encodings = ()

    def send(self, method, url, *, headers, body):
        with _opened(method, url, headers, body) as response:
            return Answer(response.status, tuple(response.headers.items()), response.read())

    @contextmanager
    def stream(self, method, url, *, headers, body):
        with _opened(method, url, headers, body) as response:
            yield iter(lambda: response.read1(65536), b"")


@contextmanager
def _opened(method, url, headers, body):
    request = urllib.request.Request(url, body or None, dict(headers), method=method)
    try:
        response = _OPENER.open(request)
    except urllib.error.HTTPError as error:
        response = error  # the client's way to give a status of 400 and more
    try:
        with response:
            yield response
    except (http.client.IncompleteRead, ConnectionResetError) as error:
        raise _BrokenOffError from error


def _ask(url, text):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    return urllib.request.Request(url, body, {"Content-Type": "application/json"})


def _said(response):
    return json.load(response)["choices"][0]["message"]["content"]


def test_urlopen_is_recorded_once_and_replayed(provider, session, url):
    with session("once") as running, urllib.request.urlopen(_ask(url, "hello")) as response:
        first = _said(response)
    assert (provider.count, len(running.recorded)) == (1, 1)
    assert running.recorded[0].provenance["client"].startswith("http.client 3.")
    provider.close()
    with session("none"), urllib.request.urlopen(_ask(url, "hello")) as response:
        assert (response.status, response.url, response.reason) == (200, url, "OK")
        assert response.headers.get_content_type() == "application/json"
        assert _said(response) == first == "answer 1 to: hello"


def test_errors_of_the_provider_are_http_errors_at_replay_too(provider, session, url):
    provider.script([openai_error(429)])
    bodies = []
    for mode in ("once", "none"):
        with session(mode, keep=["status:429"]), pytest.raises(urllib.error.HTTPError) as raised:
            urllib.request.urlopen(_ask(url, "too much"))
        assert raised.value.code == 429
        with raised.value:
            bodies.append(raised.value.read())
        provider.close()
    assert bodies[0] == bodies[1] != b""


def test_a_refused_connection_is_the_clients_own_error(provider, session, url):
    provider.close()
    with session("once") as running, pytest.raises(urllib.error.URLError) as raised:
        urllib.request.urlopen(_ask(url, "anybody?"))
    assert isinstance(raised.value.reason, ConnectionRefusedError)
    assert (running.recorded, running.rejects, running.refusals) == ((), (), ())


def test_a_refusal_is_not_wrapped(provider, session, url):
    with session("none") as running, running.expect_refusal():
        with pytest.raises(InteractionNotFound) as raised:
            urllib.request.urlopen(_ask(url, "never recorded"))
        raise raised.value
    assert provider.count == 0


def test_redirects_become_gets_hop_by_hop(provider, session):
    host = provider.url.removeprefix("http://")
    provider.script([replace(text_reply("", 302), headers=(("location", "/new"),)), text_reply("here")])
    with session("once", hosts=[host]) as running, urllib.request.urlopen(provider.url + "/old") as response:
        assert (response.read(), response.url) == (b"here", provider.url + "/new")
    assert [entry.response.status for entry in running.recorded] == [302, 200]
    provider.close()
    with session("none", hosts=[host]), urllib.request.urlopen(provider.url + "/old") as response:
        assert (response.read(), response.url) == (b"here", provider.url + "/new")


@pytest.mark.parametrize("make", [io.BytesIO, lambda body: iter([body[:5], body[5:]])], ids=["file", "iterator"])
def test_bodies_that_are_read_once(provider, session, url, make):
    whole = _ask(url, "in pieces").data
    for mode in ("once", "none"):
        request = urllib.request.Request(url, make(whole), {"Content-Type": "application/json"})
        with session(mode) as running, urllib.request.urlopen(request) as response:
            assert _said(response) == "answer 1 to: in pieces"
        assert running.requests[0].body == whole
        provider.close()
    assert provider.requests[0].body == whole


def test_a_proxy_is_asked_for_the_absolute_url(provider, session):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": provider.url}))
    provider.script([openai_chat("through the proxy")])
    for mode in ("once", "none"):
        with session(mode) as running, opener.open(_ask("http://api.openai.com/v1/chat/completions", "hi")) as response:
            assert _said(response) == "through the proxy"
        assert running.requests[0].url == "http://api.openai.com/v1/chat/completions"
        provider.close()


def test_xmlrpc_calls_are_interactions_where_their_host_is_named(provider, session):
    host = provider.url.removeprefix("http://")
    answer = xmlrpc.client.dumps((["one", 2],), methodresponse=True)
    provider.script([text_reply(answer)])
    for mode in ("once", "none"):
        with session(mode, hosts=[host]), xmlrpc.client.ServerProxy(provider.url + "/RPC2") as server:
            assert server.give("me") == ["one", 2]
        provider.close()
