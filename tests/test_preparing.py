"""What a suite's own functions do in the engine: to requests, to answers, and to what is let pass."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake.cassette import Cassette
from onetake.errors import InteractionNotFound
from onetake.model import Request, Response
from onetake.preparing import BrokenFunctionError, Preparing
from onetake.stores.memory import MemoryStore
from onetake.traffic import Route, Traffic


def test_without_functions_nothing_is_done():
    nothing = Preparing()
    assert (nothing.request, nothing.response, nothing.matches, nothing.passes, nothing.connects) == (None,) * 5


def test_traffic_lets_pass_what_functions_name_before_everything_else():
    traffic = Traffic(hosts=["a.com"])
    letting = traffic.letting(lambda method, url: "it" * url.endswith("/free"), lambda host: host == "db.internal")
    assert letting.verdict("GET", "https://a.com/free") is Route.IGNORED
    assert letting.verdict("GET", "https://a.com/paid") is Route.INTERACTION
    assert letting.spares(["db.internal"], 5432)
    assert letting.verdict("GET", "https://db.internal/") is Route.INTERACTION
    assert traffic.verdict("GET", "https://a.com/free") is Route.INTERACTION
    assert not traffic.spares(["db.internal"], 5432)


def _without_stamp(request):
    body = json.loads(request.body)
    body.pop("stamp", None)
    return replace(request, body=json.dumps(body).encode())


def test_what_a_function_makes_of_a_request_is_keyed_compared_and_kept(direct):
    recording = direct(preparing=Preparing(request=_without_stamp))
    assert recording.call(direct.chat("q", stamp=1), "a") == "a"
    (entry,) = recording.entries()
    assert b"stamp" not in entry.request.body
    replaying = direct(recording.store, "none", preparing=Preparing(request=_without_stamp))
    assert replaying.call(direct.chat("q", stamp=2)) == "a"
    with pytest.raises(InteractionNotFound):
        direct(recording.store, "none").ask(direct.chat("q", stamp=2))


def test_what_breaks_is_told_under_its_key_once():
    def breaks(_):
        raise ValueError("no stamp")

    def told(_):
        raise BrokenFunctionError("filter_headers", ValueError("x"))

    request, response = Request("GET", "https://h/"), Response(200)
    assert Preparing().prepared(request) is request
    assert Preparing().kept(response) is response
    with pytest.raises(BrokenFunctionError, match=r"^the suite's own before_record_request broke: ValueError"):
        Preparing(request=breaks).prepared(request)
    with pytest.raises(BrokenFunctionError, match=r"^the suite's own before_record_response broke"):
        Preparing(response=breaks).kept(response)
    with pytest.raises(BrokenFunctionError, match=r"^the suite's own filter_headers broke: ValueError: x$"):
        Preparing(request=told).prepared(request)


@pytest.mark.parametrize("error", [None, ValueError("no stamp")])
def test_a_function_that_leaves_out_too_late_or_breaks_is_a_refusal_that_says_so(direct, error):
    def prepare(request):
        if error is not None:
            raise error

    asking = direct(preparing=Preparing(request=prepare))
    with pytest.raises(InteractionNotFound) as found:
        asking.ask("q")
    words = "broke: ValueError: no stamp" if error else "leaves this request out, and not by its method and URL alone"
    assert words in str(found.value)
    assert asking.ledger.all == (found.value,)


def test_a_matcher_that_breaks_is_a_refusal_that_names_it(direct):
    def matches(asked, stored, keeps):
        raise BrokenFunctionError("match_on", KeyError("topic"))

    recording = direct()
    recording.call("q", "a")
    imported = MemoryStore("imported")
    for entry in recording.entries():
        Cassette(imported).add(replace(entry, provenance={"imported_from": {"path": "a.yaml", "position": 0}}))
    asking = direct(imported, "none", match="legacy", preparing=Preparing(matches=matches))
    with pytest.raises(InteractionNotFound, match="the suite's own match_on broke: KeyError: 'topic'"):
        asking.ask("q")
