"""The built-in matchers against vcrpy's own, and a project's."""

from __future__ import annotations

import itertools

import pytest

from onetake.vcrwords import matching
from onetake.vcrwords.requests import VcrRequest

vcr_matchers = pytest.importorskip("vcr.matchers")
vcr_request = pytest.importorskip("vcr.request")

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
REQUESTS = (
    ("GET", "https://h", b"", {}),
    ("GET", "https://h/", b"", {}),
    ("POST", "https://h:443/?b=2&a=1", b'{"x": 1, "y": 2}', JSON),
    ("POST", "https://h/?a=1&b=2", b'{"y":2,"x":1}', JSON),
    ("POST", "https://h/?a=1&b=2", b'{"y":2,"x":2}', JSON),
    ("POST", "HTTPS://h:0?a=1&b=2&c=", b"", {}),
    ("POST", "http://h/?a=1", b"a=1&b=2", FORM),
    ("POST", "http://h/?a=1", b"b=2&a=1", FORM),
)


@pytest.mark.parametrize(
    "name", ["method", "uri", "scheme", "host", "port", "path", "query", "headers", "raw_body", "body"]
)
def test_built_in_matchers_say_what_vcrpys_say(name):
    theirs = getattr(vcr_matchers, name)
    ours = matching.compare_all([name], {})
    for one, other in itertools.product(REQUESTS, repeat=2):
        expected = vcr_matchers._evaluate_matcher(theirs, vcr_request.Request(*one), vcr_request.Request(*other))[0]
        assert ours(VcrRequest(*one), VcrRequest(*other)) is expected, (name, one, other)


def test_a_projects_own_goes_before_the_built_in_and_says_no_by_false_or_by_an_assertion():
    def says(one, other):
        assert one.path == other.path

    one, other = VcrRequest(*REQUESTS[0]), VcrRequest(*REQUESTS[2])
    assert not matching.compare_all(["method"], {})(one, other)
    assert matching.compare_all(["method"], {"method": lambda one, other: True})(one, other)
    assert not matching.compare_all(["method"], {"method": lambda one, other: 0})(one, other)
    assert not matching.compare_all(["own"], {"own": says})(one, other)
    assert matching.compare_all(["own"], {"own": says})(one, one)
    assert matching.is_known("own", {"own": says})
    assert not matching.is_known("own", {})
    with pytest.raises(KeyError):
        matching.compare_all(["own"], {})
