"""URLs, headers, and the values that a request's own credentials tell."""

import base64

import pytest

from onetake.model import Request
from onetake.scrub.heads import HeaderList, cookie_values, known_values, without_credentials


@pytest.mark.parametrize(
    ("url", "left", "removed"),
    [
        ("https://h/v1?key=EXAMPLE", "https://h/v1", [("key", "EXAMPLE")]),
        ("https://h/v1?alt=sse&api_key=a%2Fb&x=1%202", "https://h/v1?alt=sse&x=1%202", [("api_key", "a/b")]),
        ("https://h/v1?API_KEY=1&Api-Key=2", "https://h/v1", [("api_key", "1"), ("api-key", "2")]),
        ("https://h/v1?token=1&token=2&b", "https://h/v1?b", [("token", "1"), ("token", "2")]),
        ("https://kv/v1?key=alice&api_key=2", "https://kv/v1?key=alice", [("api_key", "2")]),
        ("https://me:pa%40ss@h/p?q", "https://h/p?q", [("userinfo", "pa@ss")]),
        (
            "https://h/a?X-Amz-Signature=1&X-Amz-Date=2&n=3",
            "https://h/a?n=3",
            [("x-amz-signature", "1"), ("x-amz-date", "2")],
        ),
        ("https://b/a?se=1&sig=2&sp=r&page=4", "https://b/a?page=4", [("se", "1"), ("sig", "2"), ("sp", "r")]),
        ("https://h/cb#access_token=1&n=2", "https://h/cb#n=2", [("access_token", "1")]),
        (
            "https://h/up?upload_id=1&upload_protocol=resumable",
            "https://h/up?upload_protocol=resumable",
            [("upload_id", "1")],
        ),
    ],
)
def test_credentials_leave_the_url_whole(url, left, removed):
    assert without_credentials(url) == (left, removed)
    assert without_credentials(left) == (left, [])


@pytest.mark.parametrize(
    "url", ["https://h/a?", "https://h/a?se=1&b=", "https://h/v1/m:generate?alt=sse&", "function:app.label"]
)
def test_other_urls_keep_every_character(url):
    assert without_credentials(url) == (url, [])


@pytest.mark.parametrize(
    ("headers", "values"),
    [
        ([("Authorization", "Bearer abcdefgh")], ["abcdefgh"]),
        ([("authorization", "abcdefgh")], ["abcdefgh"]),
        ([("x-api-key", "abcdefgh"), ("X-Api-Key", "ijklmnop")], ["abcdefgh", "ijklmnop"]),
        (
            [("authorization", "Basic " + base64.b64encode(b"me:hunter22").decode())],
            [base64.b64encode(b"me:hunter22").decode(), "hunter22"],
        ),
        (
            [
                (
                    "authorization",
                    "AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/1/r/s, SignedHeaders=host, Signature=0123456789",
                )
            ],
            ["AKIAEXAMPLE", "0123456789"],
        ),
        ([("cookie", 'sid=0123456789; theme=dark; t="abcdefgh"')], ["0123456789", "abcdefgh"]),
        ([("x-acme-token", "abc12345")], ["abc12345"]),
        ([("x-auth-mode", "disabled")], []),
        ([("authorization", "Bearer short")], []),
        ([("authorization", "Bearer lm-studio")], []),
        ([("authorization", "Bearer [credential 1]")], []),
        ([("user-agent", "python-httpx2/2.16"), ("openai-organization", "acme-engineering")], []),
    ],
)
def test_known_values(headers, values):
    assert known_values(Request("POST", "https://h/", tuple(headers))) == values


def test_values_of_the_query_and_of_userinfo_are_known():
    assert known_values(Request("GET", "https://u:hunter22@h/?key=EXAMPLE%2DKEY&n=abcdefgh")) == [
        "hunter22",
        "EXAMPLE-KEY",
    ]


def test_values_of_cookies_that_a_response_sets():
    headers = (("Set-Cookie", "sid=0123456789; Path=/; HttpOnly"), ("set-cookie", "a=b"), ("x", "y=abcdefghij"))
    assert cookie_values(headers) == ["0123456789"]


def test_a_list_of_headers():
    keep = HeaderList(["accept", "X-Tenant-*", "authorization"])
    assert keep.keeps("Accept") and keep.keeps("x-tenant-id")
    assert not keep.keeps("accept-encoding") and not keep.keeps("Authorization") and not keep.keeps("tenant")


@pytest.mark.parametrize(
    "name", ["authToken", "accessToken", "hapikey", "appid", "pwd", "passwd", "sessionid", "JSESSIONID"]
)
def test_names_of_credentials_in_a_query(name):
    assert without_credentials(f"https://h/v1?n=1&{name}=x") == ("https://h/v1?n=1", [(name.lower(), "x")])


@pytest.mark.parametrize("name", ["session_id", "app", "tokens", "user", "id"])
def test_names_in_a_query_that_are_no_credentials(name):
    assert without_credentials(f"https://h/v1?{name}=abc1") == (f"https://h/v1?{name}=abc1", [])
