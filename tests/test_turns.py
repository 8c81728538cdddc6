import threading
from dataclasses import replace

import pytest

from onetake.model import Cut, Response
from onetake.steps import Live, Replay
from onetake.turns import Turn


def test_concurrent_questions_hold_ordinals_of_their_own():
    turn = Turn()
    assert [turn.hold() for _ in range(3)] == [0, 1, 2]


def test_what_is_let_go_is_held_again_by_the_next_question():
    turn = Turn()
    turn.hold(), turn.hold()
    turn.let_go(0)
    assert turn.hold() == 0


def test_an_answered_ordinal_is_never_held_again():
    turn = Turn()
    assert turn.use(turn.hold())
    assert turn.hold() == 1


def test_a_held_ordinal_that_an_answer_claimed_cannot_be_answered_from_the_cassette():
    turn = Turn()
    held = turn.hold()
    assert turn.claim(9, set()) == held == 0
    assert not turn.use(held)
    assert turn.hold() == 1


def test_answers_claim_the_first_free_ordinal_in_the_order_in_which_they_come():
    turn = Turn()
    turn.hold(), turn.hold()
    assert (turn.claim(9, set()), turn.claim(9, set())) == (0, 1)


def test_an_answer_claims_no_ordinal_that_has_an_entry():
    assert Turn().claim(9, {0, 1, 3}) == 2


def test_a_held_ordinal_that_another_process_took_is_used_up():
    turn = Turn()
    assert turn.claim(turn.hold(), {0}) == 1
    turn.let_go(0)
    assert turn.hold() == 2


def test_a_claim_that_could_not_be_written_is_free_again():
    turn = Turn()
    turn.claim(9, set())
    turn.unuse(0)
    assert turn.claim(9, set()) == 0


@pytest.mark.parametrize("threads", [2, 8])
def test_threads_never_hold_the_same_ordinal(threads):
    turn, held, start = Turn(), [], threading.Barrier(threads)

    def hold():
        start.wait()
        held.extend(turn.hold() for _ in range(50))

    workers = [threading.Thread(target=hold) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sorted(held) == list(range(threads * 50))


def live(direct, who):
    step = direct(repeats="same").ask("q", who)
    assert not hasattr(step, "future")
    return step


def test_others_wait_for_the_leader_until_it_lands(direct):
    turn, leader, other = Turn(), live(direct, "a"), live(direct, "b")
    assert turn.awaited(other.flow) is None
    assert turn.take_off(leader, done=False)
    assert not turn.take_off(other, done=False)
    future = turn.awaited(other.flow)
    assert not future.done()
    turn.land(leader)
    assert future.done()
    assert turn.awaited(other.flow) is None


def test_the_leaders_own_flow_never_waits_for_it(direct):
    turn, leader, again = Turn(), live(direct, "a"), live(direct, "a")
    turn.take_off(leader, done=False)
    assert turn.awaited(again.flow) is None
    assert turn.take_off(again, done=False)
    turn.land(again)
    assert turn.awaited(live(direct, "b").flow) is not None, "a call beside the leader does not end its lead"


def test_who_looked_before_an_answer_was_there_looks_again(direct):
    turn, late = Turn(), live(direct, "b")
    with turn.writing() as is_first:
        assert is_first
    assert not turn.take_off(late, done=False)
    assert turn.take_off(late, done=True)


def test_a_request_that_waits_is_counted_once(direct):
    talk = direct(repeats="same")
    leader = talk.ask("q", "a")
    waiting = talk.ask("q", "b")
    talk.answer(leader, "one")
    assert waiting.future.done()
    assert isinstance(talk.ask("q", "b"), Replay)
    assert len(talk.engine.requests) == 2


def test_br_090_ten_equal_requests_make_one_call(direct):
    talk = direct(repeats="same")
    leader = talk.ask("q", 0)
    waiting = [talk.ask("q", number) for number in range(1, 10)]
    talk.answer(leader, "one")
    assert all(step.future.done() for step in waiting)
    assert [talk.call("q") for _ in waiting] == ["one"] * 9
    assert len(talk.entries()) == 1


@pytest.mark.parametrize("failure", ["abandoned", "refused", "an error status"])
def test_br_090_a_failure_is_no_answer_for_those_who_wait(direct, failure):
    talk = direct(repeats="same", on_reject="pass")
    leader, waiting = talk.ask("q", "a"), talk.ask("q", "b")
    if failure == "abandoned":
        talk.engine.abandon(leader)
    else:
        talk.answer(
            leader, Response(429) if failure == "an error status" else replace(direct.said("x"), cut=Cut.PROVIDER)
        )
    assert waiting.future.done()
    second = talk.ask("q", "b")
    assert isinstance(second, Live)
    talk.answer(second, "good")
    assert talk.call("q") == "good"


def test_who_cannot_wait_goes_live_and_the_answer_added_first_serves_both(direct):
    talk = direct(repeats="same")
    leader, beside = talk.ask("q", "a"), talk.ask("q", "b", may_wait=False)
    own = talk.ask("q", "a")
    assert all(isinstance(step, Live) for step in (leader, beside, own))
    assert [talk.answer(step, text).body for step, text in ((own, "1"), (leader, "2"), (beside, "3"))] == [
        direct.said("1").body
    ] * 3
    assert len(talk.entries()) == 1


def test_under_all_the_answer_written_first_serves_everyone_too(direct):
    recording = direct()
    recording.call("q", "old")
    talk = direct(recording.store, "all", repeats="same")
    leader, beside = talk.ask("q", "a"), talk.ask("q", "b", may_wait=False)
    answers = {}
    start = threading.Barrier(2)

    def answer(step, text):
        start.wait()
        answers[text] = talk.answer(step, text).body

    workers = [threading.Thread(target=answer, args=pair) for pair in ((leader, "x"), (beside, "y"))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(set(answers.values())) == 1
    assert direct(recording.store, "none").call("q") == talk.call("q")


def test_of_those_who_write_an_answer_for_everyone_one_is_first():
    turn = Turn()
    with pytest.raises(OSError, match="full"), turn.writing():
        raise OSError("full")
    assert not turn.done
    first = []
    for _ in range(2):
        with turn.writing() as is_first:
            first.append(is_first)
    assert (first, turn.done) == ([True, False], True)
