from __future__ import annotations

import pytest

from onetake import guard_peers
from onetake.guard_peers import Peer


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("API.OpenAI.com.", "api.openai.com"),
        ("ａｐｉ.openai.com", "api.openai.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("127.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("fe80::1%eth0", "fe80::1"),
        ("3com.example.com", "3com.example.com"),
        ("", ""),
    ],
)
def test_a_host_has_one_spelling(given, canonical):
    assert guard_peers.canonical_host(given) == canonical


@pytest.mark.parametrize("host", ["10.0.0.1", "127.1", "::1", "[fd00:ec2::254]", "2130706433"])
def test_an_address_is_asked_of_nobody(host):
    assert guard_peers.is_address(host)


@pytest.mark.parametrize("host", ["example.com", "1.example.com", "localhost", ""])
def test_a_name_is_no_address(host):
    assert not guard_peers.is_address(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "a.LOCALHOST", "0.0.0.0", "::", ""])
def test_this_machine(host):
    assert guard_peers.is_loopback(host)


@pytest.mark.parametrize(
    "host", ["10.0.0.1", "localhost.example.com", "128.0.0.1", "::2", "1.127.0.0.1.example", "127.evil.example"]
)
def test_another_machine(host):
    assert not guard_peers.is_loopback(host)


def test_an_address_keeps_the_name_that_it_was_last_looked_up_by(monkeypatch):
    monkeypatch.setattr(guard_peers, "_names", {})
    guard_peers.resolved("First.example", ["192.0.2.1", "2001:DB8::1"])
    guard_peers.resolved("second.example", ["192.0.2.1"])
    guard_peers.resolved("192.0.2.9", ["192.0.2.1"])
    assert Peer("192.0.2.1", 443).names == ("192.0.2.1", "second.example")
    assert Peer("2001:db8:0::1", 443).names == ("2001:db8::1", "first.example")
    assert str(Peer("192.0.2.1", 443)) == "second.example:443"
    assert Peer("192.0.2.2", None, "Third.example").names == ("192.0.2.2", "third.example")


def test_names_are_forgotten_after_some_thousands(monkeypatch):
    monkeypatch.setattr(guard_peers, "_names", {})
    for number in range(5000):
        guard_peers.resolved(f"h{number}.example", [f"10.0.{number // 256}.{number % 256}"])
    assert len(guard_peers._names) == 4096
    assert Peer("10.0.0.0", 80).names == ("10.0.0.0",)
    assert Peer("10.0.19.135", 80).names[1] == "h4999.example"


def test_hosts_come_as_text_or_bytes_or_not_at_all():
    assert [guard_peers.text_of(host) for host in ("a", b"b", bytearray(b"c"), None, 4)] == ["a", "b", "c", "", ""]
