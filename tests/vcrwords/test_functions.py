"""A suite's functions for vcrpy: what they do to a request and an answer, and what they say of one by its URL alone."""

from __future__ import annotations

import copy
import re

import pytest

from onetake.model import Request, Response
from onetake.preparing import BrokenFunctionError, UnkeptHeaderError
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


def test_what_leaves_nothing_out_lets_nothing_pass():
    steps = [("filter_headers", filters.headers(["x-a"])), ("filter_query_parameters", filters.query(["q"]))]
    assert passes(steps) is None


@pytest.mark.parametrize("look", [vars, lambda one: one._body, lambda one: one._headers, lambda one: one.headers])
def test_whoever_looks_at_what_is_not_known_yet_is_stopped_and_told_of_in_a_copy_too(look):
    for copied in (copy.copy, copy.deepcopy, lambda one: one):
        outline = Outline("GET", "https://h/")
        with pytest.raises((AttributeError, TypeError)):
            look(copied(outline))
        assert len(outline.looked_at) == 1
    outline.headers = {"x": "1"}
    assert (outline.host, len(outline.looked_at)) == ("h", 1)


def test_a_function_that_decides_by_the_url_of_a_copy_lets_pass():
    names = passes([("it", lambda request: None if copy.deepcopy(request).path == "/free" else request)])
    assert (names("GET", "https://h/free"), names("GET", "https://h/paid")) == ("it", "")


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
        matches(breaks)(REQUEST, REQUEST, {"x-a"}.__contains__)


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
    assert matches(lambda asked, stored: asked.body == stored.body)(REQUEST, REQUEST, {"x-a"}.__contains__)


def _pops(asked, stored):
    return asked.headers.pop("x-b", None) == stored.headers.pop("x-b", None)


def _swallowing(asked, stored):
    try:
        return stored.headers["x-b"] == asked.headers["x-b"]
    except KeyError:
        return True


@pytest.mark.parametrize(
    ("matcher", "what"),
    [
        (lambda asked, stored: asked.headers.get("X-B") == stored.headers.get("X-B"), "the header X-B"),
        (lambda asked, stored: ("x-b" in asked.headers) == ("x-b" in stored.headers), "the header x-b"),
        (lambda asked, stored: "x-b" not in stored.headers, "the header x-b"),
        (lambda asked, stored: dict(asked.headers) == dict(stored.headers), "all headers"),
        (lambda asked, stored: asked.headers == stored.headers.copy(), "all headers"),
        (lambda asked, stored: len(stored.headers) == 1, "all headers"),
        (_pops, "the header x-b"),
        (_swallowing, "the header x-b"),
    ],
)
def test_a_matcher_that_looks_at_a_header_of_which_nobody_knows_whether_it_came_is_refused_by_it(matcher, what):
    stored = Request("POST", "https://h/p", (("x-a", "1"),), b"body")
    for asked in (stored, Request("POST", "https://h/p", (("x-a", "1"), ("x-b", "2")), b"body")):
        with pytest.raises(UnkeptHeaderError, match=f"^the suite's own match_on looks at {what}, and entries do not"):
            matches(matcher)(asked, stored, {"x-a"}.__contains__)


def test_a_matcher_may_look_at_headers_that_are_kept_whether_they_came_or_not_and_print_all():
    def matcher(asked, stored):
        said = f"{stored.headers}"
        return said and all(asked.headers.get(name) == stored.headers.get(name) for name in ("x-a", "X-B"))

    asked = Request("POST", "https://h/p", (("x-a", "1"), ("x-b", "2")), b"body")
    keeps = {"x-a", "X-B"}.__contains__
    assert matches(matcher)(REQUEST, REQUEST, keeps)
    assert not matches(matcher)(asked, REQUEST, keeps)
