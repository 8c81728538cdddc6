"""What is one call of urllib3: retries, redirects, pools and proxies."""

from __future__ import annotations

import io
import json
import threading
from dataclasses import replace

import pytest
import urllib3

from onetake.adapters import urllib3_calls
from onetake.testing.provider import bytes_reply, openai_chat, openai_error

_JSON = {"content-type": "application/json"}


@pytest.fixture
def client():
    """A pool manager that retries nothing."""
    with urllib3.PoolManager(retries=False) as opened:
        yield opened


def _text(response):
    return json.loads(response.data)["choices"][0]["message"]["content"]


def _statuses(session):
    return [entry.response.status for entry in session.recorded]


def test_a_status_that_is_retried_is_seen_try_by_try(url, provider, session, body):
    retries = urllib3.Retry(total=3, status_forcelist=[503], allowed_methods=None, backoff_factor=0)
    content = json.dumps(body("are you there?")).encode()

    def ask():
        with urllib3.PoolManager(retries=retries) as client:
            response = client.request("POST", url, body=io.BytesIO(content), headers=_JSON)
        return _text(response), [attempt.status for attempt in response.retries.history], type(response.retries)

    provider.script([openai_error(503), openai_error(503), openai_chat("yes")])
    with session("once", keep=["status:503"]) as opened:
        first = ask()
    assert first == ("yes", [503, 503], urllib3.Retry)
    assert [(entry.response.status, entry.ordinal) for entry in opened.recorded] == [(503, 0), (503, 1), (200, 2)]
    assert [request.body for request in provider.requests] == [content] * 3
    provider.close()
    with session("none", keep=["status:503"]) as opened:
        assert ask() == first
    assert len(opened.played) == 3


@pytest.mark.parametrize("raising", [True, False])
def test_a_status_that_stays_is_the_clients_own_end(url, provider, session, raising, body):
    retries = urllib3.Retry(
        total=1, status_forcelist=[503], allowed_methods=None, backoff_factor=0, raise_on_status=raising
    )

    def ask():
        with urllib3.PoolManager(retries=retries) as client:
            return client.request("POST", url, body=json.dumps(body("hello?")), headers=_JSON).status

    provider.script([openai_error(503)] * 2)
    for mode in ("once", "none"):
        with session(mode, keep=["status:503"]) as opened:
            if raising:
                with pytest.raises(urllib3.exceptions.MaxRetryError, match="too many 503"):
                    ask()
            else:
                assert ask() == 503
            assert len(opened.requests) == 2
        provider.close()


def test_a_refusal_is_asked_once_whatever_is_retried(url, provider, session, body):
    with session("none") as opened, opened.expect_refusal(), urllib3.PoolManager(retries=urllib3.Retry(10)) as client:
        client.request("POST", url, body=json.dumps(body("new")), headers=_JSON)
    assert (len(opened.requests), len(opened.refusals), provider.count) == (1, 1, 0)


def test_a_provider_that_is_not_there_is_urllib3s_own_error(client, url, provider, session, body):
    provider.close()
    with session("once") as opened:
        with pytest.raises(urllib3.exceptions.NewConnectionError):
            client.request("POST", url, body=json.dumps(body("anyone?")), headers=_JSON)
        with urllib3.PoolManager() as retrying, pytest.raises(urllib3.exceptions.MaxRetryError):
            retrying.request(
                "POST", url, body=json.dumps(body("anyone?")), headers=_JSON, retries=urllib3.Retry(2, backoff_factor=0)
            )
    assert (opened.recorded, opened.rejects, len(opened.requests)) == ((), (), 2)


def test_a_pool_of_its_own_follows_redirects_inside_its_call(provider, session):
    pool = urllib3.connection_from_url(provider.url)
    moved = replace(bytes_reply(b"", "text/plain", 307), headers=(("location", "/v1/chat/completions"),))
    provider.script([moved, openai_chat("moved")])

    def ask():
        return pool.request("POST", "/old/v1/chat/completions", body=b'{"messages": []}', headers=_JSON)

    with session("once") as opened:
        assert _text(ask()) == "moved"
    assert _statuses(opened) == [200]
    provider.close()
    with session("none"):
        assert _text(ask()) == "moved"


def test_another_host_is_refused_by_the_pool_itself(provider, session):
    pool = urllib3.connection_from_url(provider.url)
    with session("once") as opened, pytest.raises(urllib3.exceptions.HostChangedError):
        pool.urlopen("POST", "http://api.example/v1/chat/completions", retries=False)
    assert opened.requests == ()


def test_through_a_proxy_no_byte_leaves_either(provider, session):
    """urllib3 opens a tunnel before it has a request to send."""
    with urllib3.ProxyManager(provider.url, retries=False) as client, session("none") as opened:
        for url in ("http://api.openai.com/v1/chat/completions", "https://api.openai.com/v1/chat/completions"):
            with opened.expect_refusal() as expected:
                client.request("POST", url, body=b"{}", headers=_JSON)
            assert f"POST {url}" in str(expected.refusals[0])
    assert provider.count == 0
    assert [request.url for request in opened.requests] == [
        "http://api.openai.com/v1/chat/completions",
        "https://api.openai.com/v1/chat/completions",
    ]


def test_what_went_through_a_proxy_is_replayed_without_it(client, provider, session):
    url = "http://api.openai.com/v1/chat/completions"
    provider.script([openai_chat("by proxy")])
    with session("once") as opened, urllib3.ProxyManager(provider.url) as proxied:
        assert _text(proxied.request("POST", url, body=b'{"messages": []}', headers=_JSON)) == "by proxy"
    assert [entry.request.url for entry in opened.recorded] == [url]
    provider.close()
    with session("none"):
        assert _text(client.request("POST", url, body=b'{"messages": []}', headers=_JSON)) == "by proxy"


@pytest.mark.parametrize(
    ("pool", "path", "url"),
    [
        (("http", "api.example", 80), "/a?b=c#d", "http://api.example/a?b=c"),
        (("https", "api.example", 443), "/a%20b", "https://api.example/a%20b"),
        (("https", "api.example", 8443), "/\u00e4 b", "https://api.example:8443/%C3%A4%20b"),
        (("http", "::1", 8080), "/v1", "http://[::1]:8080/v1"),
        (("http", "proxy.example", 3128), "http://api.example/v1", "http://api.example/v1"),
    ],
)
def test_the_url_is_the_one_that_leaves(pool, path, url):
    kind = urllib3.HTTPSConnectionPool if pool[0] == "https" else urllib3.HTTPConnectionPool
    assert urllib3_calls.absolute(kind(pool[1], pool[2]), path) == url


def test_eight_threads_on_one_pool(provider, session):
    pool = urllib3.connection_from_url(provider.url, maxsize=8, block=True)
    asked = [json.dumps({"messages": [{"role": "user", "content": f"row {n}"}]}) for n in range(40)]
    found = {}

    def ask(start):
        for content in asked[start::8]:
            found[content] = pool.request("POST", "/v1/chat/completions", body=content, headers=_JSON).data

    def all_at_once():
        threads = [threading.Thread(target=ask, args=(start,)) for start in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return dict(found)

    with session("once") as opened:
        first = all_at_once()
    assert len(opened.recorded) == len(first) == 40
    provider.close()
    found.clear()
    with session("none"):
        assert all_at_once() == first
