"""Each filter against vcrpy's own: what one makes of a request, the other makes too."""

from __future__ import annotations

import json
import re

import pytest

from onetake.vcrwords import filters
from onetake.vcrwords.requests import VcrRequest

vcr_filters = pytest.importorskip("vcr.filters")
vcr_request = pytest.importorskip("vcr.request")

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PARTS = {"Content-Type": "multipart/form-data; boundary=xx"}
FIELDS = (
    b'--xx\r\nContent-Disposition: form-data; name="key"\r\n\r\nsecret\r\n'
    b'--xx\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n\xff\x00\r\n--xx--\r\n'
)


def _both(body, headers, method="POST", uri="https://h/p?a=1&key=k&b=&key=two"):
    return VcrRequest(method, uri, body, dict(headers)), vcr_request.Request(method, uri, body, dict(headers))


def _shown(request):
    return request.method, request.uri, request.body, {name.lower(): value for name, value in request.headers.items()}


def _starred(key, value, request):
    return f"*{value}*" if key != "b" else None


RULES = (["key"], [("key", "X")], [("key", _starred)], ["key", ("a", "Y"), ("b", None)], ["nothing"])


@pytest.mark.parametrize("rules", RULES)
def test_headers(rules):
    ours, theirs = _both(b"", {"Key": "secret", "A": "1", "Other": "o"})
    pairs = [rule if isinstance(rule, tuple) else (rule, None) for rule in rules]
    assert _shown(filters.headers(rules)(ours)) == _shown(vcr_filters.replace_headers(theirs, pairs))


@pytest.mark.parametrize("rules", RULES)
def test_query(rules):
    ours, theirs = _both(b"", {})
    pairs = [rule if isinstance(rule, tuple) else (rule, None) for rule in rules]
    found, expected = filters.query(rules)(ours), vcr_filters.replace_query_parameters(theirs, pairs)
    assert found.query == expected.query
    assert found.uri.partition("?")[0] == "https://h/p"


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (json.dumps({"key": "secret", "a": {"key": "deep"}, "b": [1, {"key": "deeper"}]}).encode(), JSON),
        (b'["key"]', JSON),
        (b"key=sec%20ret&a=1&b=2&flag&key=two", FORM),
        (b"\xff=\xfe&key=1", FORM),
        (FIELDS, PARTS),
        (b"", JSON),
    ],
)
@pytest.mark.parametrize("method", ["POST", "PUT"])
@pytest.mark.parametrize("nested", [False, True])
def test_post_data(rules, body, headers, method, nested):
    ours, theirs = _both(body, headers, method)
    pairs = [rule if isinstance(rule, tuple) else (rule, None) for rule in rules]
    if body == b'["key"]' and not nested and pairs[0][0] == "key":
        return  # theirs breaks on a JSON list, ours leaves it
    found = filters.post_data(rules, nested=nested)(ours).body
    expected = vcr_filters.replace_post_data_parameters(theirs, pairs, recursive=nested).body
    if headers is JSON and body:
        found, expected = json.loads(found), json.loads(expected)
    assert found == expected


def test_json_that_no_rule_touches_keeps_its_bytes():
    body = b'{ "a":1.50, "u":"\\u00e9" }'
    ours, _ = _both(body, JSON)
    assert filters.post_data(["key"], nested=True)(ours).body == body


@pytest.mark.parametrize(
    ("said", "local", "host", "is_left_out"),
    [
        (["a.com"], False, "a.com", True),
        (["a.com"], False, "b.a.com", False),
        ([re.compile(r".*[.]a[.]com")], False, "b.a.com", True),
        ([], True, "127.0.0.1", True),
        ([], True, "a.com", False),
        ("a.com", False, "a.com", True),
    ],
)
def test_hosts(said, local, host, is_left_out):
    request = VcrRequest("GET", f"https://{host}:8443/x", b"", {})
    assert (filters.hosts(said, local=local)(request) is None) is is_left_out


def test_sensitive_values_give_way_wherever_they_stand():
    request = VcrRequest("GET", "https://h/s3cret", b'{"x": "s3cret"}', {"X-Key": "s3cret"})
    changed = filters.sensitive({"<KEY>": "s3cret", "<NONE>": None})(request)
    assert _shown(changed) == ("GET", "https://h/<KEY>", b'{"x": "<KEY>"}', {"x-key": "<KEY>"})
    with pytest.raises(TypeError):
        filters.sensitive([("<KEY>", lambda request, response: "x")])
