"""Where urllib3's bodies come from: the connection goes back to its pool first, whatever the answer is worth."""

from __future__ import annotations

import json

import pytest
import requests
import urllib3

from onetake.adapters.urllib3_streams import Held, Stored
from onetake.contract import Contract
from onetake.errors import ContractError
from onetake.model import Cut, Response
from onetake.testing.provider import openai_stream

_NO_OBJECT = Contract({"type": "object"}, name="x", schema_version=1)


@pytest.fixture
def pool(provider):
    """A pool of one connection, for which callers wait."""
    with urllib3.HTTPConnectionPool("127.0.0.1", int(provider.url.rpartition(":")[2]), maxsize=1, block=True) as opened:
        yield opened


def _opened(pool, body):
    content = json.dumps(body("no object", stream=True))
    headers = {"content-type": "application/json"}
    response = pool.urlopen("POST", "/v1/chat/completions", content, headers, preload_content=False)
    got = b""
    while b"[DONE]" not in got:
        got += response.read(1)
    return response


@pytest.mark.parametrize("leave", [lambda it: it.release_conn(), lambda it: it.close()], ids=["release", "close"])
def test_a_reject_leaves_its_connection_in_the_pool(provider, session, body, pool, leave):
    provider.script([openai_stream("no object")])
    with session("once", contract=_NO_OBJECT) as running, running.expect_refusal():
        response = _opened(pool, body)
        with pytest.raises(ContractError) as raised:
            leave(response)
        assert pool.pool.qsize() == 1
        raise raised.value
    assert [entry.verdict for entry in running.rejects] == ["reject:violation"]


def test_a_reject_leaves_the_connection_of_requests_in_its_pool(provider, session, body, url):
    provider.script([openai_stream("no object")])
    with requests.Session() as client, session("once", contract=_NO_OBJECT) as running, running.expect_refusal():
        client.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=1, pool_block=True))
        response = client.post(url, json=body("no object", stream=True), stream=True)
        got = b""
        while b"[DONE]" not in got:
            got += response.raw.read(1)
        with pytest.raises(ContractError) as raised:
            response.close()
        pools = client.get_adapter(url).poolmanager.pools
        assert [pools[key].pool.qsize() for key in pools.keys()] == [1]  # noqa: SIM118 - it cannot be iterated
        raise raised.value


def test_a_held_body_gives_its_pieces_whatever_is_asked_for():
    held = Held([b"one", b"two"])
    assert [held.read(1), held.read(100), held.read(1), held.read(1)] == [b"one", b"two", b"", b""]


_STREAM = (("content-type", "text/event-stream"),)


@pytest.mark.parametrize(
    ("response", "chunked"),
    [
        (Response(200, _STREAM, b"data: 1\n\n"), True),
        (Response(200, (), b"plain"), False),
        (Response(200, (), b"plain", cut=Cut.PROVIDER), True),
    ],
    ids=["stream", "whole", "cut"],
)
def test_a_stored_body_is_in_chunks_where_its_end_says_something(direct, response, chunked):
    asks = direct()
    asks.call("hello", "stored")
    entry = asks.entries()[0]
    object.__setattr__(entry, "response", response)
    stored = Stored(urllib3, asks.engine, entry)
    assert (stored.chunked, stored.read(1)) == (chunked, response.body)
    if response.cut is Cut.NO:
        assert stored.read(1) == b""
    else:
        with pytest.raises(urllib3.exceptions.ProtocolError, match="cut"):
            stored.read(1)
