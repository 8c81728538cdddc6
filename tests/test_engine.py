from dataclasses import replace

import pytest

from onetake.contract import Contract
from onetake.errors import InteractionNotFound, UsageError
from onetake.model import Cut, Request, Response
from onetake.steps import Flow, Live
from onetake.stores.memory import MemoryStore

SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z" * 2


def test_what_was_recorded_is_replayed(direct):
    recording = direct()
    assert recording.call("q", "a") == "a"
    replaying = direct(recording.store, "none")
    assert replaying.call("q") == "a"
    assert replaying.engine.played == [(entry.key, 0) for entry in recording.engine.recorded]


def test_br_033_another_body_to_the_same_url_is_another_request(direct):
    recording = direct()
    recording.call("A", "to A"), recording.call("B", "to B")
    replaying = direct(recording.store, "none")
    assert (replaying.call("B"), replaying.call("A")) == ("to B", "to A")
    with pytest.raises(InteractionNotFound):
        replaying.ask("C")


def test_br_005_a_setting_of_the_client_is_part_of_the_request(direct):
    recording = direct()
    recording.call(direct.chat("q", temperature=0), "cold")
    replaying = direct(recording.store, "none")
    with pytest.raises(InteractionNotFound, match=r"temperature: asked 0\.7, stored 0"):
        replaying.ask(direct.chat("q", temperature=0.7))
    assert replaying.call(direct.chat("q", temperature=0)) == "cold"


def test_br_045_turns_whose_last_message_is_a_tools_have_keys_of_their_own(direct):
    def turn(call_id, result):
        return direct.chat("q", tail=[{"role": "tool", "tool_call_id": call_id, "content": result}])

    recording = direct()
    for call_id, result in (("1", "sunny"), ("1", "rain"), ("2", "sunny")):
        recording.call(turn(call_id, result), f"{call_id} {result}")
    replaying = direct(recording.store, "none")
    for call_id, result in (("2", "sunny"), ("1", "rain"), ("1", "sunny")):
        assert replaying.call(turn(call_id, result)) == f"{call_id} {result}"


def test_br_143_what_is_recorded_now_never_answers_a_later_call_of_the_session(direct):
    recording = direct()
    assert [recording.call("q", answer) for answer in "abc"] == ["a", "b", "c"]
    assert [entry.ordinal for entry in recording.entries()] == [0, 1, 2]
    replaying = direct(recording.store, "none")
    assert [replaying.call("q") for _ in "abc"] == ["a", "b", "c"]


def test_br_047_asking_more_often_than_recorded_says_both_counts(direct):
    recording = direct()
    recording.call("q", "a"), recording.call("q", "b")
    replaying = direct(recording.store, "none")
    replaying.call("q"), replaying.call("q")
    with pytest.raises(InteractionNotFound) as caught:
        replaying.ask("q")
    assert caught.value.args[0] == "this request was asked 3 times and recorded twice"
    assert "the request is the same" in str(caught.value)
    assert 'repeats = "same"' in str(caught.value)


def test_br_050_same_gives_the_first_stored_answer_to_everyone(direct):
    recording = direct()
    recording.call("q", "a"), recording.call("q", "b")
    replaying = direct(recording.store, "none", repeats="same")
    assert [replaying.call("q") for _ in range(3)] == ["a", "a", "a"]


def test_an_abandoned_call_lets_its_retry_have_the_same_ordinal(direct):
    recording = direct()
    recording.call("q", "old a"), recording.call("q", "old b")
    again = direct(recording.store, "all")
    first = again.ask("q")
    again.engine.abandon(first)
    assert (first.ordinal, again.ask("q").ordinal) == (0, 0)


def test_answers_take_ordinals_in_the_order_in_which_they_come(direct):
    recording = direct()
    steps = [recording.ask("q") for _ in range(3)]
    for step, text in zip(reversed(steps), "xyz", strict=True):
        recording.answer(step, text)
    replaying = direct(recording.store, "none")
    assert [replaying.call("q") for _ in range(3)] == ["x", "y", "z"]


def test_a_failed_call_leaves_no_hole(direct):
    recording = direct()
    first, second = recording.ask("q"), recording.ask("q")
    recording.answer(second, "kept")
    recording.answer(first, Response(500))
    assert direct(recording.store, "none").call("q") == "kept"


class Meddling(MemoryStore):
    """A store in which something else happens just before an entry is read."""

    before = None

    def get(self, key, ordinal):
        before, self.before = self.before, None
        if before:
            before()
        return super().get(key, ordinal)


def test_an_answer_that_is_kept_while_another_caller_looks_is_not_given_to_it(direct):
    recording = direct(Meddling())
    first, second = recording.ask("q"), recording.ask("q")
    recording.answer(second, "a")
    recording.store.before = lambda: recording.answer(first, "b")
    assert isinstance(recording.ask("q"), Live)
    assert [entry.ordinal for entry in recording.entries()] == [0, 1]


def test_a_call_ends_once(direct):
    recording = direct()
    step = recording.ask("q")
    recording.answer(step, "whole")
    recording.answer(step, replace(direct.said("half"), cut=Cut.LEFT))
    recording.engine.abandon(step)
    assert [entry.verdict for entry in recording.entries()] == ["good"]


@pytest.mark.parametrize(
    ("mode", "being_made", "live"),
    [
        ("none", True, False),
        ("once", True, True),
        ("once", False, False),
        ("new_episodes", False, True),
        ("all", 0, True),
    ],
)
def test_br_051_a_miss_goes_live_only_where_the_mode_records(direct, mode, being_made, live):
    talk = direct(mode=mode, being_made=being_made)
    if live:
        assert talk.call("q", "a") == "a"
        assert [entry.ordinal for entry in talk.entries()] == [0]
    else:
        with pytest.raises(InteractionNotFound):
            talk.ask("q")
        assert talk.entries() == []
        assert len(talk.ledger.open) == 1


def test_br_049_a_sealed_session_stays_sealed_after_its_last_entry(direct):
    recording = direct()
    recording.call("q", "a")
    replaying = direct(recording.store, "none")
    replaying.call("q")
    for _ in range(2):
        with pytest.raises(InteractionNotFound):
            replaying.ask("q")
    assert len(replaying.ledger.open) == 2


def test_br_144_all_replaces_and_the_new_answer_is_the_only_one(direct):
    recording = direct()
    recording.call("q", "old")
    assert direct(recording.store, "all").call("q", "new") == "new"
    assert [entry.ordinal for entry in recording.entries()] == [0]
    assert direct(recording.store, "none").call("q") == "new"


def test_all_adds_what_was_not_there(direct):
    recording = direct()
    recording.call("q", "old")
    again = direct(recording.store, "all")
    assert [again.call("q", text) for text in ("new", "more")] == ["new", "more"]
    assert [direct(recording.store, "none").call("q") for _ in range(1)] == ["new"]
    assert [entry.ordinal for entry in recording.entries()] == [0, 1]


def test_off_passes_and_other_modes_do_not(direct):
    assert direct(mode="off").engine.passes("POST", "https://api.openai.com/v1/chat/completions")
    assert not direct(mode="none").engine.passes("POST", "https://api.openai.com/v1/chat/completions")


def test_judging_asks_neither_clock_nor_git_and_writes_nothing(direct, monkeypatch):
    talk = direct(contracts=(Contract({}, name="c", on=lambda request: 1 / 0),))
    steps = [talk.ask(prompt) for prompt in "ab"]
    for name in ("provenance.provenance", "interactions.provenance", "interactions.time"):
        monkeypatch.setattr(f"onetake.{name}", None)
    first = [talk.engine.judge(step, direct.said("a")) for step in steps]
    again = [talk.engine.judge(step, direct.said("a")) for step in steps]
    assert [type(judged.judgement) for judged in (*first, *again)] == [ZeroDivisionError] * 4
    assert (talk.entries(), talk.entries(talk.rejects), talk.ledger.all) == ([], [], ())


def test_a_call_after_the_sessions_end_is_refused_in_its_name(direct):
    talk = direct()
    talk.engine.closed = True
    with pytest.raises(InteractionNotFound, match="the session on cassette has ended"):
        talk.ask("q")
    assert len(talk.ledger.open) == 1


def test_a_watched_file_that_is_missing_is_told_before_anything_is_asked(direct, tmp_path):
    contracts = (Contract({}, name="c", watch=["parse.py"]),)
    with pytest.raises(UsageError, match=r"parse\.py"):
        direct(contracts=contracts, root=tmp_path)
    with pytest.raises(UsageError, match=r"parse\.py"):
        direct(root=tmp_path).engine.begin(direct.chat("q"), Flow(1), contracts=contracts)


def test_a_decorated_functions_own_contract_goes_before_the_sessions(direct):
    talk = direct(contracts=(Contract({"type": "number"}, name="sessions"),))
    own = (Contract({"type": "string"}, name="own"),)
    step = talk.engine.begin(direct.chat("q"), Flow(1), contracts=own)
    talk.answer(step, '"a"')
    assert [entry.contract.name for entry in talk.entries()] == ["own"]


def test_a_stream_is_replayed_with_its_terminal_event(direct):
    asked = Request("POST", "https://api.anthropic.com/v1/messages", (), b'{"stream": true}')
    body = b'event: message_stop\ndata: {"type": "message_stop"}\n\n'
    talk = direct()
    talk.answer(talk.ask(asked), Response(200, (("content-type", "text/event-stream"),), body))
    assert direct(talk.store, "none").ask(asked).response.body == body
