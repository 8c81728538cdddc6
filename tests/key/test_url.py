from __future__ import annotations

import json
from pathlib import Path

import pytest

from onetake.errors import UsageError
from onetake.key.url import (
    KEY_HEADERS,
    HeaderRule,
    OriginRule,
    pairs,
    split,
    url_text,
)


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://API.Example.com/v1", "https://api.example.com"),
        ("https://api.example.com:443/v1", "https://api.example.com"),
        ("http://api.example.com:443/v1", "http://api.example.com:443"),
        ("http://h:080", "http://h"),
        ("wss://h:443/x", "wss://h"),
        ("https://me:pass@word@h:8443?q", "https://h:8443"),
        ("http://[::1]:80/x", "http://[::1]"),
        ("http://[::1]/x", "http://[::1]"),
        ("http://[::1]:8080/x", "http://[::1]:8080"),
        ("http://h:/x", "http://h"),
        ("function:app.Labels.label", "function:"),
    ],
)
def test_the_origin_is_lower_case_without_user_and_default_port(url, origin):
    assert split(url).origin == origin


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://h", "/"),
        ("https://h?q=1", "/"),
        ("https://h/A%2fb//c/../", "/A%2fb//c/../"),
        ("https://h/x#f?g", "/x"),
        ("function:app.Labels.label", "app.Labels.label"),
        ("", ""),
    ],
)
def test_the_path_is_as_sent(url, path):
    assert split(url).path == path


def test_query_pairs_are_decoded_sorted_and_kept_twice():
    assert split("https://h/?b=2&a=%C3%A9+x&a=1&&c&c=&b=2&=").query == (
        *(("", ""),),
        *(("a", "1"), ("a", "é x"), ("b", "2"), ("b", "2"), ("c",), ("c", "")),
    )


def test_bytes_that_are_no_utf_8_are_not_lost():
    assert pairs(b"a=%FF&b=\xfe%") == [("a", "\udcff"), ("b", "\udcfe%")]
    assert split("https://h/?a=\ud800").query != split("https://h/?a=\ud801").query


def test_every_name_in_the_lists_is_lower_case():
    assert [name.lower() for name in KEY_HEADERS] == list(KEY_HEADERS)


def counted(rule: HeaderRule, *headers: tuple[str, str]) -> list[list[str]]:
    return json.loads(rule.read(headers)[2])


@pytest.mark.parametrize("name", KEY_HEADERS)
def test_each_built_in_header_counts_in_any_case(name):
    sent = name.replace("*", "-any")
    assert counted(HeaderRule(()), (sent.title(), " v "), ("x-other", "1")) == [[sent, "v"]]


def test_br_035_noise_of_clients_never_counts():
    noise = (
        *(
            ("User-Agent", "a"),
            ("X-Stainless-OS", "b"),
            ("content-length", "3"),
            ("traceparent", "00"),
            ("Cookie", "c=d"),
        ),
        *(
            ("Idempotency-Key", "k"),
            ("authorization", "Bearer x"),
            ("accept", "*/*"),
            ("x-request-id", "r"),
            ("host", "h"),
        ),
    )
    assert counted(HeaderRule(()), *noise) == []


def test_declared_headers_count_and_repeated_ones_are_sorted():
    rule = HeaderRule(("X-My-Tenant", "x-feature-*"))
    sent = (
        ("x-feature-b", "2"),
        ("X-Feature-A", "1"),
        ("x-my-tenant", "z"),
        ("x-my-tenant", "a"),
        ("x-my-tenants", "n"),
    )
    assert counted(rule, *sent) == [
        ["x-feature-a", "1"],
        ["x-feature-b", "2"],
        ["x-my-tenant", "a"],
        ["x-my-tenant", "z"],
    ]


def test_type_and_encodings_of_the_body_are_read_beside():
    sent = (("Content-Type", "a/b"), ("content-type", "c/d"), ("Content-Encoding", "gzip"), ("content-encoding", "br"))
    assert HeaderRule(()).read(sent) == ("a/b", "gzip,br", "[]")


@pytest.mark.parametrize("name", ["", "a b", "x:", "*", "x*y", "é"])
def test_a_wrong_header_name_is_refused(name):
    with pytest.raises(UsageError, match=r"key\.headers"):
        HeaderRule((name,))


@pytest.mark.parametrize("name", ["Cookie", "authorization", "x-api-key", "c*", "x-api-*"])
def test_a_header_with_credentials_is_refused(name):
    with pytest.raises(UsageError, match="carries credentials"):
        HeaderRule((name,))


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://127.0.0.1:8080/x", "local"),
        ("http://127.0.0.1/x", "local"),
        ("http://127.0.0.1:9000/x", "nine"),
        ("https://127.0.0.1:8080/x", "https://127.0.0.1:8080"),
        ("https://MY.azure.com:443/x", "openai"),
        ("https://my.azure.com:444/x", "https://my.azure.com:444"),
        ("http://[::1]:7/x", "six"),
    ],
)
def test_origins_become_their_word_and_an_exact_port_goes_first(url, word):
    rule = OriginRule(
        {
            "http://127.0.0.1:*": "local",
            "http://127.0.0.1:9000": "nine",
            "HTTPS://my.azure.com": "openai",
            "http://[::1]:*": "six",
        }
    )
    assert rule.word(split(url)) == word


@pytest.mark.parametrize(
    "origin",
    ["api.example.com", "https://", "https://h/", "https://h/v1", "https://*", "h:80", "https://a@h", "https://h:x"],
)
def test_a_wrong_origin_is_refused(origin):
    with pytest.raises(UsageError, match=r"key\.origins.*is no origin"):
        OriginRule({origin: "w"})


def test_an_empty_word_is_refused():
    with pytest.raises(UsageError, match="empty"):
        OriginRule({"https://h": ""})


def test_the_members_of_a_url_are_canonical_json():
    assert url_text("https://h/x?b=1&a", OriginRule({})) == '"origin":"https://h","path":"/x","query":[["a"],["b","1"]]'


def test_the_reference_lists_every_header():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "key.md").read_text(encoding="utf-8")
    assert [name for name in KEY_HEADERS if f"`{name}`" not in page] == []
