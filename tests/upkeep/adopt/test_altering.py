"""A stored request, changed byte for byte as its tree is."""

from __future__ import annotations

import json

import pytest

from onetake.key import Keyer
from onetake.model import Request
from onetake.upkeep.adopt.altering import altered
from onetake.upkeep.adopt.operations import applied, operations, tree_of
from onetake.upkeep.adopt.rewording import NoFitError

URL = "https://api.openai.com/v1/chat/completions"


def tree(request):
    return tree_of(Keyer().parts(request))


def changed(old, new, other=None):
    """Do to *other* (else *old*) what makes *new* of *old*; verified by its tree."""
    found = operations(tree(old), tree(new))
    other = other or old
    after = applied(found, tree(other))
    done = altered(other, found)
    assert tree(done) == after
    return done


def request(body, url=URL, *headers):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request("POST", url, (("Content-Type", "application/json"), *headers), data)


def test_a_field_is_added_in_the_style_of_the_body():
    spaced, compact = request({"a": "ä"}), request('{"a":"ä"}'.encode())
    new = request({"a": "ä", "store": False})
    assert changed(spaced, new).body == b'{"a": "\\u00e4", "store": false}'
    assert changed(spaced, new, compact).body == '{"a":"ä","store":false}'.encode()


def test_headers_and_query_cannot_be_changed():
    for other in (request({}, URL + "?x=1"), request({}, URL, ("anthropic-beta", "one"))):
        found = operations(tree(request({})), tree(other))
        with pytest.raises(NoFitError):
            altered(request({}), found)


def test_a_stated_length_is_restated():
    done = changed(request({}), request({"a": 1}), request({}, URL, ("Content-Length", "2")))
    assert ("Content-Length", str(len(done.body))) in done.headers


@pytest.mark.parametrize("other", [Request("POST", URL + "/x"), Request("GET", URL)])
def test_another_address_or_method_cannot_be_made(other):
    old = Request("POST", URL)
    found = operations(tree(old), tree(other))
    with pytest.raises(NoFitError):
        altered(old, found)


@pytest.mark.parametrize("body", [b"", b"\xff", b"{", b"[" * 100_000])
def test_a_body_that_is_no_json_is_not_changed(body):
    found = operations(tree(request({})), tree(request({"a": 1})))
    with pytest.raises(NoFitError):
        altered(request(body), found)
