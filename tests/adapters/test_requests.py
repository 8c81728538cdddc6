"""requests, over urllib3: the conformance suite, its own bodies, ways to read and errors, and mocks beside us."""

from __future__ import annotations

import io
import json
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
import requests
import urllib3
from requests.adapters import HTTPAdapter

from onetake.errors import AdapterError
from onetake.testing import AdapterConformance, Answer
from onetake.testing.provider import bytes_reply, openai_chat, openai_error, openai_stream

_KNOWN = [name for name in ("gzip", "deflate", "br", "zstd") if name in urllib3.HTTPResponse.CONTENT_DECODERS]


class TestRequests(AdapterConformance):
    read_error = requests.exceptions.ChunkedEncodingError
    encodings = _KNOWN

    def send(self, method, url, *, headers, body):
        with requests.Session() as client:
            response = client.request(method, url, headers=dict(headers), data=body)
            return Answer(response.status_code, tuple(response.headers.items()), response.content)

    @contextmanager
    def stream(self, method, url, *, headers, body):
        with (
            requests.Session() as client,
            client.request(method, url, headers=dict(headers), data=body, stream=True) as response,
        ):
            yield response.iter_content(None)


@pytest.fixture
def client():
    """A session of requests."""
    with requests.Session() as opened:
        yield opened


_WHOLE = json.dumps({"messages": [{"role": "user", "content": "ä"}]}).encode()
_BODIES = {
    "json": lambda: {"json": json.loads(_WHOLE)},
    "bytes": lambda: {"data": _WHOLE},
    "text": lambda: {"data": _WHOLE.decode()},
    "file": lambda: {"data": io.BytesIO(_WHOLE)},
    "generator": lambda: {"data": (_WHOLE[at : at + 7] for at in range(0, len(_WHOLE), 7))},
}


@pytest.mark.parametrize("make", _BODIES.values(), ids=_BODIES.keys())
def test_br_040_br_077_every_kind_of_body(make, client, url, provider, session):
    def ask():
        return client.post(url, **{"headers": {"content-type": "application/json"}} | make()).content

    ask()
    with session("once") as opened:
        first = ask()
    bare, seen = provider.requests
    assert (seen.body, sorted(dict(seen.headers))) == (bare.body, sorted(dict(bare.headers)))
    assert json.loads(opened.recorded[0].request.body) == json.loads(_WHOLE)
    provider.close()
    with session("none"):
        assert ask() == first


def test_br_037_br_075_a_multipart_upload(client, provider, session):
    def post(content):
        files = {"file": ("a.png", io.BytesIO(content), "image/png")}
        return client.post(provider.url + "/v1/images/edits", data={"prompt": "more"}, files=files).content

    host = provider.url.removeprefix("http://")
    provider.script([bytes_reply(b"\x89PNG one", "image/png")])
    with session("once", hosts=[host]):
        post(b"\xff\xd8\x00\x3d\xfe")
    assert b"\xff\xd8\x00\x3d\xfe" in provider.requests[0].body
    provider.close()
    with session("none", hosts=[host]) as opened, opened.expect_refusal():
        assert post(b"\xff\xd8\x00\x3d\xfe") == b"\x89PNG one"
        post(b"\xff\xd8\x00\x3d\xff")


_WAYS = {
    "iter_content(None)": lambda response: list(response.iter_content(chunk_size=None)),
    "iter_content(1)": lambda response: list(response.iter_content(1)),
    "iter_content(7)": lambda response: list(response.iter_content(7)),
    "iter_lines": lambda response: list(response.iter_lines()),
    "iter_lines(text)": lambda response: list(response.iter_lines(chunk_size=3, decode_unicode=True)),
    "iteration": list,
    "content": lambda response: [response.content],
    "raw.read": lambda response: [response.raw.read()],
    "raw.stream": lambda response: list(response.raw.stream(5, decode_content=True)),
}


@pytest.mark.parametrize("streamed", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("way", _WAYS)
def test_br_052_br_066_every_way_to_read(way, streamed, client, url, provider, session, body):
    provider.script([openai_stream("one zwölf") if streamed else openai_chat("one zwölf")] * 2)

    def read():
        with client.post(url, json=body("tell", stream=streamed), stream=True) as response:
            found = _WAYS[way](response)
        return type(found[0])().join(found)

    bare = read()
    with session("once") as opened:
        assert read() == bare
    assert [entry.verdict for entry in opened.recorded] == ["good"]
    provider.close()
    with session("none"):
        assert read() == bare


def test_br_073_what_a_response_says_of_itself(client, url, provider, session, body):
    said = []
    hook = lambda response, **_: said.append(response.status_code)  # noqa: E731
    with session("once"):
        first = client.post(url, json=body("who?"))
    provider.close()
    with session("none"):
        again = client.post(url, json=body("who?"), hooks={"response": hook})
    assert (again.ok, again.reason, again.url, again.encoding) == (True, "OK", url, first.encoding)
    assert again.json() == first.json()
    assert {name.lower(): value for name, value in again.headers.items()}["content-type"] == "application/json"
    assert (again.request.method, again.history, again.raw.version, said) == ("POST", [], 11, [200])
    assert again.elapsed is not None


def test_the_live_first_line_is_there_before_the_rest_is_sent(client, url, provider, session, body):
    go = threading.Event()
    provider.script([replace(openai_stream("one two"), hold=go, hold_before=1)])
    with session("once") as opened, client.post(url, json=body("tell", stream=True), stream=True) as response:
        lines = response.iter_lines()
        first = next(lines)
        assert not go.is_set()
        go.set()
        rest = list(lines)
    assert first.startswith(b"data: {")
    assert rest[-2:] == [b"data: [DONE]", b""] or rest[-1] in (b"data: [DONE]", b"")
    assert [entry.verdict for entry in opened.recorded] == ["good"]


def test_cookies_are_set_while_recording(client, url, provider, session, body):
    """At replay they are not: an entry keeps no cookie."""
    reply = openai_chat("crumbs")
    provider.script([replace(reply, headers=(("set-cookie", "a=1"), ("set-cookie", "b=2"), *reply.headers))])
    with session("once"):
        client.post(url, json=body("cookies?"))
    assert client.cookies.get_dict().items() >= {"a": "1", "b": "2"}.items()


def test_redirects_are_followed_by_requests_hop_by_hop(client, provider, session):
    moved = replace(bytes_reply(b"", "text/plain", 307), headers=(("location", "/new/v1/chat/completions"),))
    provider.script([moved, openai_chat("moved")])

    def ask():
        response = client.post(provider.url + "/old/v1/chat/completions", json={"messages": []})
        return response.json(), [hop.status_code for hop in response.history], response.url

    with session("once") as opened:
        first = ask()
    assert [entry.response.status for entry in opened.recorded] == [307, 200]
    provider.close()
    with session("none"):
        assert ask() == first


@pytest.mark.parametrize("kept", [True, False])
def test_a_status_that_is_retried(url, provider, session, kept, body):
    provider.script([openai_error(503), openai_chat("yes")])
    keep = ["status:503"] if kept else []

    def ask():
        with requests.Session() as client:
            retries = urllib3.Retry(total=2, status_forcelist=[503], allowed_methods=None, backoff_factor=0)
            client.mount("http://", HTTPAdapter(max_retries=retries))
            return client.post(url, json=body("hello?")).json()

    with session("once", keep=keep) as opened:
        first = ask()
    assert [entry.response.status for entry in opened.recorded] == ([503, 200] if kept else [200])
    assert provider.count == 2
    provider.close()
    with session("none", keep=keep) as opened:
        assert ask() == first
    assert len(opened.played) == (2 if kept else 1)


def test_a_status_that_stays_is_requests_own_error(url, provider, session, body):
    provider.script([openai_error(503)] * 2)

    def ask():
        with requests.Session() as client:
            retries = urllib3.Retry(total=1, status_forcelist=[503], allowed_methods=None, backoff_factor=0)
            client.mount("http://", HTTPAdapter(max_retries=retries))
            client.post(url, json=body("hello?"))

    for mode in ("once", "none"):
        with session(mode, keep=["status:503"]), pytest.raises(requests.exceptions.RetryError, match="too many 503"):
            ask()
        provider.close()


def test_a_refusal_passes_through_requests(client, url, provider, session, body):
    with session("none") as opened, opened.expect_refusal():
        client.post(url, json=body("new"))
    assert (len(opened.refusals), provider.count) == (1, 0)


def test_a_provider_that_is_not_there_is_requests_own_error(client, url, provider, session, body):
    provider.close()
    with session("once") as opened, pytest.raises(requests.exceptions.ConnectionError):
        client.post(url, json=body("anyone?"))
    assert (opened.recorded, opened.rejects) == ((), ())


@pytest.mark.parametrize(
    ("owner", "tool"), [(HTTPAdapter, "responses"), (requests.Session, "requests_mock")], ids=["responses", "mock"]
)
def test_br_084_a_mock_above_us_is_named_at_the_end(owner, tool, client, url, session, monkeypatch, body):
    made_up = requests.Response()
    made_up.status_code = 200

    def mocked(self, request, **kwargs):
        return made_up

    mocked.__module__ = f"{tool}.mocker"
    monkeypatch.setattr(owner, "send", mocked)
    with (
        pytest.raises(AdapterError, match=rf"{tool.replace('_', '-')} .*and onetake are both active"),
        session("once"),
    ):
        client.post(url, json=body("who answers?"))


def test_br_084_responses_itself_is_named(client, url, session, body):
    responses = pytest.importorskip("responses", reason="responses is not installed")
    with responses.RequestsMock() as mock:
        mock.add(responses.POST, url, json={"made": "up"})
        with pytest.raises(AdapterError, match=r"responses .*and onetake are both active"), session("once"):
            client.post(url, json=body("who answers?"))


def test_br_084_requests_mock_itself_is_named(client, url, session, body):
    requests_mock = pytest.importorskip("requests_mock", reason="requests-mock is not installed")
    with requests_mock.Mocker() as mock:
        mock.post(url, json={"made": "up"})
        with pytest.raises(AdapterError, match=r"requests-mock .*and onetake are both active"), session("once"):
            client.post(url, json=body("who answers?"))
