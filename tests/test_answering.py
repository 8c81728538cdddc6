"""What becomes of an answer: it is judged as it came, and then what the suite makes of it is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.contract import Contract
from onetake.errors import ContractError, NotStored
from onetake.preparing import Preparing

OBJECT = Contract({"type": "object", "additionalProperties": True}, name="items", schema_version=1)


def test_what_a_function_makes_of_an_answer_is_kept_and_the_caller_gets_it_as_it_came(direct):
    recording = direct(preparing=Preparing(response=lambda response: direct.said("kept", status=response.status)))
    assert recording.call("q", "came") == "came"
    (entry,) = recording.entries()
    assert entry.answer.choices[0].text == "kept"
    assert direct(recording.store, "none", preparing=recording.engine.policy.preparing).call("q") == "kept"


def test_an_answer_that_a_function_drops_is_not_kept_and_one_that_it_spoils_is_judged(direct, capsys):
    dropping = direct(preparing=Preparing(response=lambda _: None))
    assert dropping.call("q", "came") == "came"
    assert (dropping.entries(), dropping.engine.recorded) == ([], [])
    spoiling = direct(preparing=Preparing(response=lambda response: replace(response, body=b"{")))
    with pytest.raises(ContractError, match="json"):
        spoiling.call("q", "came")
    assert spoiling.entries() == []
    assert "the suite's own before_record_response made a reject of the answer: POST" in capsys.readouterr().err


def test_a_function_that_breaks_on_an_answer_is_no_error_of_the_client(direct):
    def breaks(response):
        raise KeyError("x")

    with pytest.raises(NotStored, match="the suite's own before_record_response broke: KeyError: 'x'") as found:
        direct(preparing=Preparing(response=breaks)).call("q", "came")
    assert b"came" in found.value.response.body


@pytest.mark.parametrize("made", [None, '{"a": 1}'])
def test_an_answer_that_breaks_the_contract_is_a_reject_whatever_a_function_would_make_of_it(direct, made):
    asked = []

    def response(came):
        asked.append(came)
        return made and direct.said(made)

    asking = direct(contracts=(OBJECT,), preparing=Preparing(response=response))
    with pytest.raises(ContractError, match="violation"):
        asking.call("q", "no object")
    (aside,) = asking.entries(asking.rejects)
    assert (aside.answer.choices[0].text, asking.entries(), asked) == ("no object", [], [])
    assert asking.call("q", '{"b": 2}') == '{"b": 2}'
    assert [entry.answer.choices[0].text for entry in asking.entries()] == ([made] if made else [])


def test_a_function_that_makes_a_providers_error_of_an_answer_loses_nothing_in_silence(direct):
    asking = direct(preparing=Preparing(response=lambda came: replace(came, status=500)))
    with pytest.raises(NotStored, match=r"it made an error of the provider \(status:500\) of the answer") as found:
        asking.call("q", "came")
    assert b"came" in found.value.response.body
    assert asking.entries() == []


def test_what_the_provider_could_not_answer_is_noted_until_it_does(direct):
    asking = direct()
    asking.answer(asking.ask("q"), direct.said("down", status=500))
    assert [one.request for one in asking.engine.unanswered.values()] == [direct.chat("q")]
    asking.call("q", "up")
    assert asking.engine.unanswered == {}
