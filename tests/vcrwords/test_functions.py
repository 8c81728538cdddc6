"""A suite's functions for vcrpy: what they do to a request and an answer, and what they say of one by its URL alone."""

from __future__ import annotations

import copy
import re

import pytest

from onetake.model import Request, Response
from onetake.preparing import BrokenFunctionError
from onetake.vcrwords import filters
from onetake.vcrwords.functions import Outline, matches, passes, prepares, prepares_answers

REQUEST = Request("POST", "https://h/p", (("x-a", "1"),), b"body")


def _without_body(request):
    return request if request.body else None


def _without_header(request):
    return request if "x-a" in request.headers else None


def _swallows(request):
    try:
        return request if request.body == b"body" else None
    except Exception:  # noqa: BLE001 - as suites do
        return None


def _of_a_copy(request):
    return _swallows(copy.deepcopy(request))


@pytest.mark.parametrize("function", [_without_body, _without_header, _swallows, _of_a_copy])
def test_a_function_that_decides_by_what_is_not_known_yet_lets_nothing_pass(function):
    assert prepares([("before_record_request", function)])(REQUEST) == REQUEST
    assert passes([("before_record_request", function)])("POST", "https://h/p") == ""


def test_a_function_that_decides_by_method_and_url_is_named_by_its_key_whatever_filters_look_at():
    seen = []

    def picky(request):
        seen.append((request.method, request.uri, repr(request)))
        return None if request.path == "/free" else request

    steps = [
        ("filter_headers", filters.headers(["x-a"])),
        ("filter_post_data_parameters", filters.post_data(["a"], nested=False)),
        ("filter_query_parameters", filters.query([("q", "0")])),
        ("ignore_hosts", filters.hosts([re.compile("a[.].*")], local=False)),
        ("before_record_request", picky),
    ]
    names = passes(steps)
    assert names("POST", "https://a.com/free") == "ignore_hosts"
    assert names("POST", "https://b.com/free?q=1") == "before_record_request"
    assert names("POST", "https://b.com/paid") == ""
    assert seen[0] == ("POST", "https://b.com/free?q=0", "<Request (POST) https://b.com/free?q=0>")


def test_vcrpys_own_filters_find_nothing_in_an_outline_and_stop_nobody():
    vcr = pytest.importorskip("vcr")
    mine = vcr.VCR(
        filter_headers=["x-a"],
        filter_post_data_parameters=["a"],
        ignore_hosts=["a.com"],
        before_record_request=_without_body,
    )
    names = passes([("it", mine.get_merged_config()["before_record_request"])])
    assert (names("POST", "https://a.com/"), names("POST", "https://b.com/")) == ("it", "")


def test_what_was_looked_at_is_told_of():
    outline = Outline("GET", "https://h/")
    assert not hasattr(outline, "body")
    assert not hasattr(copy.copy(outline), "headers")
    assert outline.looked_at == ["body", "headers"]
    outline.headers = {"x": "1"}
    assert (outline.host, outline.looked_at) == ("h", ["body", "headers"])


def test_what_breaks_is_named_by_its_key():
    def breaks(*_, **__):
        raise KeyError("x")

    steps = [("filter_headers", filters.headers([("x-a", breaks)])), ("before_record_request", _without_body)]
    with pytest.raises(BrokenFunctionError, match=r"^the suite's own filter_headers broke: KeyError: 'x'$"):
        prepares(steps)(REQUEST)
    with pytest.raises(BrokenFunctionError, match="own before_record_response broke: KeyError"):
        prepares_answers([breaks])(Response(200))
    with pytest.raises(BrokenFunctionError, match="own before_record_response broke: TypeError"):
        prepares_answers([lambda _: 7])(Response(200))
    with pytest.raises(BrokenFunctionError, match="own match_on broke: KeyError"):
        matches(breaks)(REQUEST, REQUEST)


def test_functions_follow_each_other_until_one_leaves_out():
    def longer(request):
        request.body += b"!"
        return request

    twice = prepares([("a", longer), ("b", longer)])
    assert twice(REQUEST).body == b"body!!"
    assert prepares([("a", lambda _: None), ("b", longer)])(REQUEST) is None
    said = []
    assert prepares_answers([lambda response: None, said.append])(Response(200)) is None
    assert said == []
    assert matches(lambda asked, stored: asked.body == stored.body)(REQUEST, REQUEST)
