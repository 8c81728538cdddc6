"""What a client refuses by errors of its own: told first, and without what is secret in it."""

from __future__ import annotations

import httpx
import httpx2
import pytest

from onetake.batch.job import Ask
from onetake.batch.sendable import UnsendableError, check_address, has_proxy, raw
from onetake.batch.sending import Sender
from onetake.errors import UsageError

_VARIABLES = [f"{name}_proxy" for name in ("http", "https", "all", "no", "ftp")]
CLIENTS = pytest.mark.parametrize("client", [httpx, httpx2])


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """An environment without any proxy; returns what sets one."""
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch.setenv


@CLIENTS
@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY", "ftp_proxy"])
@pytest.mark.parametrize("value", ["localhost,127.0.0.1", "*", "[::1]"])
def test_a_variable_that_names_no_proxy_of_the_web_is_none(bare, client, name, value):
    bare(name, value)
    assert not has_proxy(client, verify=False)


@CLIENTS
@pytest.mark.parametrize("name", ["http_proxy", "HTTPS_PROXY", "all_proxy"])
@pytest.mark.parametrize("value", ["http://u:word@p.example:3128", "p.example:3128", "https://p.example"])
def test_a_proxy_is_one(bare, client, name, value):
    bare(name, value)
    bare("no_proxy", "localhost, .example")
    assert has_proxy(client, verify=False)


@CLIENTS
@pytest.mark.parametrize("name", ["http_proxy", "https_proxy", "all_proxy"])
@pytest.mark.parametrize(
    "value",
    ["ftp://u:word@h", "socks4://u:word@h:1", "http://u:word@[::1", "http://u:word@h:port", "http://u:word@h:99999",
     "http://u:word@h:0", "http://", "http://u:word@a..b:1", "http://u:word@" + "a" * 64 + ":1",
     "http://u:word@\u2603.example:1", "http://u:word@h:1\n"],
)  # fmt: skip
def test_what_names_no_proxy_is_told_by_its_variable_and_not_quoted(bare, client, name, value):
    bare(name, value)
    with pytest.raises(UsageError, match=name.upper()) as told:
        has_proxy(client, verify=False)
    assert ":word" not in str(told.value)


@CLIENTS
@pytest.mark.parametrize("value", ["socks5://u:word@h:1", "socks5h://u:word@h:1"])
def test_a_proxy_that_needs_a_package_says_which(bare, client, value):
    if _has_socksio():
        pytest.skip("socksio is installed")
    bare("http_proxy", value)
    with pytest.raises(UsageError, match=r"HTTP_PROXY .*pip install socksio") as told:
        has_proxy(client, verify=False)
    assert ":word" not in str(told.value)


def _has_socksio():
    from importlib.util import find_spec

    return find_spec("socksio") is not None


@pytest.mark.parametrize("value", ["[::1]", "localhost,\u2603.example", "http://h:x"])
def test_hosts_without_proxy_that_a_client_does_not_take_are_told(bare, value):
    bare("http_proxy", "http://p.example:1")
    bare("no_proxy", value)
    assert has_proxy(httpx2, verify=False), "which takes them for hosts that nobody has"
    with pytest.raises(UsageError, match="NO_PROXY"):
        has_proxy(httpx, verify=False)


def test_a_proxy_that_is_none_is_no_matter_for_this_machine(bare):
    bare("http_proxy", "socks4://h")
    assert Sender(Ask("http://127.0.0.1:9/v1", "m", "x"), timeout=1, environ={})
    with pytest.raises(UsageError, match="HTTP_PROXY"):
        Sender(Ask("http://models.example/v1", "m", "x"), timeout=1, environ={})


@CLIENTS
def test_an_address_whose_host_is_none_is_told(client):
    for url in ("http://127.0.0.1:8000/v1", "https://api.example", "http://[::1]:1/v1", "http://my_host/v1"):
        check_address(client, url)
    with pytest.raises(UsageError, match="base_url"):
        check_address(client, "http://\u2603.example/v1")


def test_headers_are_bytes_as_they_were_meant():
    assert raw((("X-A", " caf\u00e9\t"), ("b", ""), ("c", "1  2"))) == [
        (b"X-A", b"caf\xe9"),
        (b"b", b""),
        (b"c", b"1  2"),
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [("a", "x\ny"), ("a", "x\0"), ("a", "\x7f"), ("a", "\u20ac"), ("a\n", "x"), ("", "x"), ("\u00e9", "x")],
)
def test_a_header_that_cannot_be_sent_is_told_without_its_value(name, value):
    with pytest.raises(UnsendableError) as told:
        raw(((name, value),))
    assert value not in told.value.args[0].replace("holds a character", "").replace("the header a", "") or value == "x"
