"""What in a query is a credential, and what is only called like one."""

from __future__ import annotations

from pathlib import Path

import pytest

from onetake.key import Keyer
from onetake.key.credentials import CREDENTIAL_QUERY, KEY, SIGNED_QUERY, credential_names, looks_like_one
from onetake.key.url import split
from onetake.model import Request


@pytest.mark.parametrize("name", sorted(CREDENTIAL_QUERY))
def test_credentials_in_the_query_never_count(name):
    assert split(f"https://h/?{name}=s&v=1&{name.upper()}=t").query == (("v", "1"),)


def test_parts_of_a_signed_url_go_with_their_signature_only():
    assert split("https://h/?se=1&sp=r&expires=2").query == (("expires", "2"), ("se", "1"), ("sp", "r"))
    assert split("https://h/?se=1&sp=r&expires=2&SIG=x").query == (("expires", "2"),)
    assert split("https://h/?Expires=2&Policy=p&Signature=x&se=1").query == (("se", "1"),)
    assert credential_names("https://h/", [("SIG", "1"), ("se",), ("x", "2")]) == {"sig", "se"}


@pytest.mark.parametrize(
    "url",
    [
        "https://generativelanguage.googleapis.com/v1beta/models?key=k",
        "https://me@GoogleAPIs.com:443/x?key=k",
        "https://proxy.example.com/v1beta/files/7?KEY=k",
        "http://127.0.0.1:1/x/models/e:batchEmbedContents?key=k",
        "/v1beta/moved?key=k",
    ],
)
def test_google_is_asked_with_key(url):
    place, _, query = url.partition("?")
    assert credential_names(place, [tuple(query.split("="))]) == {KEY}


def test_elsewhere_what_is_looked_up_by_key_is_no_credential():
    def key(url):
        return Keyer().key(Request("GET", url))

    assert key("http://kv.example.com/get?key=alice") != key("http://kv.example.com/get?key=bob")
    assert key("http://kv.example.com/get?key=" + "0aB1" * 8) == key("http://kv.example.com/get?key=" + "9zY8" * 8)
    assert key("http://kv.example.com/get?Key=REDACTED&n=1") == key("http://kv.example.com/get?n=1")
    assert key("http://notgoogleapis.com/?key=a") != key("http://notgoogleapis.com/?key=b")


@pytest.mark.parametrize("value", ["AIzaSyD-9tSrke72Pou", "12345678-abcdef0123456789abcdef012", "0123456789abcdef0123"])
def test_an_api_key_is_known_by_its_look(value):
    assert looks_like_one(value)


@pytest.mark.parametrize(
    "value", ["REDACTED", "your-api-key", "dummy_key_1", "xxx", "***", "[secret 1]", "<key>", "EXAMPLE"]
)
def test_so_is_what_stands_for_one(value):
    assert looks_like_one(value)


@pytest.mark.parametrize(
    "value",
    [
        *("", "alice", "token", "7", "users/1", "uploads/2026/a.png", "monthly-report-2026-11-30", "secret-santa"),
        *(
            "550e8400-e29b-41d4-a716-446655440000",
            "configuration",
            "20261130123456789012",
            "schl\u00fcssel0123456789ab",
        ),
        "secret" + "-1" * 45 + "q",
    ],
)
def test_the_name_of_a_thing_is_none(value):
    assert not looks_like_one(value)


def test_every_name_in_the_lists_is_lower_case_and_in_the_reference():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "key.md").read_text(encoding="utf-8")
    names = {KEY, *CREDENTIAL_QUERY, *SIGNED_QUERY, *SIGNED_QUERY["sig"], *SIGNED_QUERY["signature"]}
    assert {name.lower() for name in names} == names
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
