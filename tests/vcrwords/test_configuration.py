"""A test's vcrpy configuration, merged: what each key comes to, and what is said of those that come to nothing."""

from __future__ import annotations

import pytest

from onetake.errors import UsageError
from onetake.model import Request
from onetake.vcrwords.configuration import (
    HONOURED,
    NOT_NEEDED,
    REFUSED,
    Configuration,
    Registry,
    refuse_unequalled,
    sensitive_steps,
    unknown_in,
)

REQUEST = Request("POST", "https://h/p?token=t", (("authorization", "s"), ("content-type", "application/json")), b"{}")


def test_every_key_is_of_one_kind():
    kinds = (HONOURED, set(NOT_NEEDED), set(REFUSED))
    assert len(set().union(*kinds)) == sum(map(len, kinds))


def test_nothing_said_does_nothing():
    nothing = Configuration({}, {})
    assert nothing.preparing == type(nothing.preparing)()
    assert nothing.match_on == ("method", "scheme", "host", "port", "path", "query")
    assert nothing.notes(legacy=False) == []


def test_filters_and_functions_come_in_vcrpys_order():
    def after_the_filters(request):
        assert "authorization" not in request.headers
        assert request.query == [("token", "T")]
        request.body = b'{"key": "hidden"}'
        return request

    said = {
        "filter_headers": ["authorization"],
        "filter_query_parameters": [("token", "T")],
        "before_record": after_the_filters,
        "filter_sensitive_data": {"<KEY>": "hidden"},
    }
    prepared = Configuration(said, {}).preparing.request(REQUEST)
    assert (prepared.url, prepared.body) == ("https://h/p?token=T", b'{"key": "<KEY>"}')
    assert [name for name, _ in prepared.headers] == ["content-type"]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"ignore_hosts": ["h"]}, ["ignore_hosts", ""]),
        ({"ignore_localhost": True}, ["", "ignore_localhost"]),
        ({"before_record": lambda request: None}, ["before_record"] * 2),
        ({"before_record_request": [lambda request: request, lambda request: None]}, ["before_record_request"] * 2),
    ],
)
def test_what_lets_a_request_pass_is_named(said, names):
    passes = Configuration(said, {}).preparing.passes
    assert [passes("POST", url) for url in ("https://h/p", "http://localhost:1/p")] == names


def test_allowed_hosts_are_expressions_from_the_beginning_in_a_list_or_a_text():
    for said in (["db[.]", "10."], "db[.],10."):
        connects = Configuration({"allowed_hosts": said}, {}).preparing.connects
        assert [connects(host) for host in ("db.internal", "10.0.0.1", "a.db.internal")] == [True, True, False]


def test_matchers_of_the_projects_own_decide():
    one = Configuration({"match_on": ["mine"]}, {"mine": lambda asked, stored: asked.path == stored.path})
    keeps = frozenset().__contains__
    assert one.preparing.matches(REQUEST, Request("GET", "https://other/p"), keeps)
    assert not one.preparing.matches(REQUEST, Request("GET", "https://other/q"), keeps)
    with pytest.raises(UsageError, match="no matcher 'yours' is registered"):
        Configuration({"match_on": ["method"], "additional_matchers": ["yours"]}, {})


def test_what_does_not_act_is_noted():
    said = {"colour": "red", "match_on": ["method"], "path": "x", "serializer": "json"}
    notes = Configuration(said, {}).notes(legacy=False)
    assert notes[0] == "colour: vcrpy has no such key"
    assert notes[1].startswith(
        "match_on (method) leaves out scheme, host, port, path, query: whole requests are compared"
    )
    assert Configuration(said, {}).notes(legacy=True) == notes[:1] == unknown_in(said)


def test_a_wrong_value_or_one_without_an_equal_is_refused():
    with pytest.raises(UsageError, match=r"^match_on takes a list"):
        Configuration({"match_on": "body"}, {})
    with pytest.raises(UsageError, match="custom_patches has no equal here"):
        refuse_unequalled({"custom_patches": [1], "skip_patchers": ()})
    with pytest.raises(UsageError, match="filter_sensitive_data by a function"):
        list(sensitive_steps({"X": print}))
    assert list(sensitive_steps(())) == []


def test_a_registry_tells_what_was_set():
    registry = Registry()
    registry.register_matcher("mine", print)
    registry.register_serializer("json", object())
    registry.filter_headers = ["x"]
    assert (registry.said, registry.matchers) == ({"filter_headers": ["x"]}, {"mine": print})
    registry.register_persister(print)
    assert registry.said["persister"] is print
