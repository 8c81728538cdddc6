"""What a suite's own functions do in the engine: to requests, to answers, and to what is let pass."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake.errors import ContractError, InteractionNotFound, NotStored
from onetake.preparing import Preparing
from onetake.traffic import Route, Traffic


def test_without_functions_nothing_is_done():
    nothing = Preparing()
    assert (nothing.request, nothing.response, nothing.matches, nothing.passes, nothing.connects) == (None,) * 5


def test_traffic_lets_pass_what_functions_name_before_everything_else():
    traffic = Traffic(hosts=["a.com"])
    letting = traffic.letting(lambda method, url: url.endswith("/free"), lambda host: host == "db.internal")
    assert letting.verdict("GET", "https://a.com/free") is Route.IGNORED
    assert letting.verdict("GET", "https://a.com/paid") is Route.INTERACTION
    assert letting.connection("db.internal", 5432) is Route.IGNORED
    assert letting.verdict("GET", "https://db.internal/") is Route.INTERACTION
    assert traffic.verdict("GET", "https://a.com/free") is Route.INTERACTION
    assert traffic.connection("db.internal", 5432) is None


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


def test_what_a_function_makes_of_an_answer_is_kept_and_the_caller_gets_it_as_it_came(direct):
    recording = direct(preparing=Preparing(response=lambda response: direct.said("kept", status=response.status)))
    assert recording.call("q", "came") == "came"
    (entry,) = recording.entries()
    assert entry.answer.choices[0].text == "kept"
    assert direct(recording.store, "none", preparing=recording.engine.policy.preparing).call("q") == "kept"


def test_an_answer_that_a_function_drops_is_not_kept_and_one_that_it_spoils_is_judged(direct):
    dropping = direct(preparing=Preparing(response=lambda _: None))
    assert dropping.call("q", "came") == "came"
    assert (dropping.entries(), dropping.engine.recorded) == ([], [])
    spoiling = direct(preparing=Preparing(response=lambda response: replace(response, body=b"{")))
    with pytest.raises(ContractError, match="json"):
        spoiling.call("q", "came")
    assert spoiling.entries() == []


def test_a_function_that_breaks_on_an_answer_is_no_error_of_the_client(direct):
    def breaks(response):
        raise KeyError("x")

    with pytest.raises(NotStored, match="KeyError"):
        direct(preparing=Preparing(response=breaks)).call("q", "came")
