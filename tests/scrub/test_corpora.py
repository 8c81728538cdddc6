"""Other people's cassettes: after scrub none of their secrets is left, and nothing harmless was taken."""

import base64
import gzip
import json
import re
from collections import Counter

import pytest

from onetake.model import Request, Response
from onetake.scrub import Scrubber, scan

yaml = pytest.importorskip("yaml")

LEFT = re.compile(
    rb"(?:org-|user-|proj_|phc_|sig=|upload_id=|Token=)SCRUBBED|ASIAIOSFODNN7EXAMPLE|eyJhbGciOi|apikey=[^%&\s]|set-cookie",
    re.IGNORECASE,
)
EVERY_KIND = set(
    b"apikey=t proj_scrubbed token=scrubbed asiaiosfodnn7example upload_id=scrubbed org-scrubbed user-scrubbed "
    b"phc_scrubbed sig=scrubbed eyjhbgcioi set-cookie".split()
)
"""What `LEFT` finds before: each kind of secret that the corpora hold."""
BODIES = {
    "request.body$.api_key": 7,
    "request.body?apikey": 1,
    "response.body$.access_token": 1,
    "response.body$.refresh_token": 1,
    "response.body$.data[0].url": 1,
    "response.body$.upload_url": 1,
}
"""Where, in all 240 interactions, something was taken from a body; looked at one by one."""


class _Loader(yaml.CSafeLoader):
    pass


def _tagged(loader, _, node):
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)[0]
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    return loader.construct_mapping(node, deep=True)


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", _tagged)


def _body(value):
    if isinstance(value, dict):
        value = base64.b64decode(value["base64_string"]) if "base64_string" in value else value.get("string", value)
    data = value if isinstance(value, bytes) else (value or "").encode() if not isinstance(value, dict | list) else None
    data = json.dumps(value).encode() if data is None else data
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def _side(side, *names):
    return _body(next((side[name] for name in ("parsed_body", *names) if side.get(name)), b""))


def _headers(value):
    lines = () if isinstance(value, dict) else value or ()
    pairs = (
        value.items()
        if isinstance(value, dict)
        else [line.strip().partition(": ")[::2] if isinstance(line, str) else line[:2] for line in lines]
    )
    every = ((name, one) for name, given in pairs for one in (given if isinstance(given, list) else [given]))
    return tuple((name, one.decode() if isinstance(one, bytes) else str(one)) for name, one in every)


def _interactions(folder):
    for path in sorted(folder.rglob("*.*")):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        tree = json.loads(data) if path.suffix == ".json" else yaml.load(data, Loader=_Loader)
        pairs = tree if isinstance(tree, list) else tree.get("interactions")
        pairs = [(one["request"], one["response"]) for one in pairs or ()] or zip(
            tree["requests"], tree["responses"], strict=True
        )
        for asked, got in pairs:
            status = got.get("status", got.get("status_code"))
            yield (
                Request(
                    asked["method"].upper(),
                    asked.get("uri") or asked.get("url") or "",
                    _headers(asked.get("headers")),
                    _side(asked, "body"),
                ),
                Response(
                    status["code"] if isinstance(status, dict) else status,
                    _headers(got.get("headers")),
                    _side(got, "body", "content"),
                ),
            )


@pytest.fixture(scope="module")
def scrubbed(corpora):
    found = []
    for request, response in _interactions(corpora / "vcrpy"):
        scrubbing = Scrubber().begin()
        found.append((scrubbing.request(request), scrubbing.response(response), scrubbing.spans, request, response))
    return found


def _written(request, response):
    heads = {"url": request.url, "headers": [*request.headers, *response.headers]}
    return json.dumps(heads).encode(), request.body, response.body


def test_none_of_their_secrets_is_left(scrubbed):
    before = b"\n".join(part for *_, request, response in scrubbed for part in _written(request, response))
    after = b"\n".join(part for request, response, *_ in scrubbed for part in _written(request, response))
    assert len(scrubbed) == 240
    assert {match.lower() for match in LEFT.findall(before)} == EVERY_KIND
    assert LEFT.findall(after) == []


def test_the_scan_finds_nothing_and_a_second_scrub_nothing_to_do(scrubbed):
    for request, response, *_ in scrubbed:
        assert [finding for part in _written(request, response) for finding in scan(part)] == []
        again = Scrubber().begin()
        assert again.request(request) is request and again.response(response) is response


def test_nothing_harmless_is_taken(scrubbed):
    taken = Counter(span for *_, spans, _, _ in scrubbed for span in spans if ".body" in span)
    credentials = {span: taken.pop(span) for span in list(taken) if "credentials" in span or ".error.message" in span}
    assert taken == BODIES
    assert len(credentials) == 7
    for request, response, spans, asked, got in scrubbed:
        if not any(".body" in span for span in spans):
            assert (request.body, response.body) == (asked.body, got.body)
