"""Requests and responses in vcrpy's shape: what does not change stays as it is, to the byte."""

from __future__ import annotations

import pytest

from onetake.model import Request, Response
from onetake.vcrwords.requests import (
    VcrHeaders,
    as_vcr,
    from_vcr,
    response_as_vcr,
    response_from_vcr,
    stored_as_vcr,
)

REQUEST = Request("POST", "https://h:8443/p/q?b=2&a=1", (("X-A", "1"), ("x-b", "2"), ("X-A", "3")), b'{"a":1}')


def test_a_request_has_vcrpys_parts_and_comes_back_as_it_was():
    request = as_vcr(REQUEST)
    assert (request.scheme, request.protocol, request.host, request.port, request.path) == (
        *("https", "https", "h", 8443, "/p/q"),
    )
    assert request.query == [("a", "1"), ("b", "2")]
    assert request.url == request.uri == REQUEST.url
    assert dict(request.headers) == {"X-A": "1", "x-b": "2"}
    assert repr(request) == "<Request (POST) https://h:8443/p/q?b=2&a=1>"
    assert from_vcr(request, REQUEST) == REQUEST


def test_what_a_function_changes_is_changed():
    request = as_vcr(REQUEST)
    request.uri = "https://other/"
    request.body = "é"
    request.headers["x-a"] = ["9"]
    del request.headers["X-B"]
    request.headers["New"] = "n"
    headers = (("X-A", "9"), ("X-A", "9"), ("New", "n"))
    assert from_vcr(request, REQUEST) == Request("POST", "https://other/", headers, "é".encode())
    request.body = None
    assert from_vcr(request, REQUEST).body == b""
    assert as_vcr(Request("GET", "http://h/")).port == 80


def test_headers_are_found_in_any_case():
    headers = VcrHeaders([("A", "1")])
    assert "a" in headers
    copy = headers.copy()
    copy["a"] = "2"
    assert (dict(headers), dict(copy), len(copy), repr(copy)) == ({"A": "1"}, {"A": "2"}, 1, "{'A': '2'}")


@pytest.mark.parametrize("decoded", ["", "gzip"])
def test_a_response_comes_back_as_it_was_and_as_a_function_has_it(decoded):
    headers = (("Content-Encoding", "gzip"), ("X-A", "1"), ("X-A", "2"))
    response = Response(201, headers, b"text", decoded=decoded)
    shape = response_as_vcr(response)
    assert shape["status"] == {"code": 201, "message": "Created"}
    assert ("Content-Encoding" in shape["headers"]) is not bool(decoded)
    assert shape["headers"]["X-A"] == ["1", "2"]
    assert response_from_vcr(shape, response) == response
    shape["body"]["string"], shape["headers"]["X-A"], shape["status"]["code"] = "other", "3", 299
    changed = response_from_vcr(shape, response)
    assert (changed.status, changed.body, changed.headers[-1]) == (299, b"other", ("X-A", "3"))
    assert response_as_vcr(Response(299))["status"]["message"] == ""


def test_a_header_that_an_entry_does_not_keep_is_named_with_the_setting_that_keeps_it():
    stored, asked = stored_as_vcr(Request("GET", "http://a/", (("A", "1"),))), as_vcr(Request("GET", "http://a/"))
    assert (stored.headers["a"], stored.headers.get("x-tenant"), "x-tenant" in stored.headers) == ("1", None, False)
    with pytest.raises(
        KeyError, match="x-tenant: the entry holds no such header; `headers` in the settings' `key` keep"
    ):
        stored.headers.copy()["x-tenant"]
    with pytest.raises(KeyError, match=r"^'x-tenant'$"):
        asked.headers["x-tenant"]
