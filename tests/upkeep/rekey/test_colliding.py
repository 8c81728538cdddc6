"""Several entries that come to one key: which ordinals they get, or why they stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onetake.upkeep.rekey.colliding import Collision, Mover, Resident, arrange, meeting

KEY = "f" * 64
AT = [f"2026-03-01T10:00:{second:02}Z" for second in range(10)]


def mover(name, answer="a", at="", ordinal=0, test="t.py::test_a"):
    """An entry of a key of its own, `<key>` or `<key>-<ordinal>`."""
    key = name.partition("-")[0]
    return Mover(Path(name), b"", key, ordinal, KEY, answer.encode(), at, test, "chat", ordinal)


def there(answer, made_of=None):
    return Resident(Path(f"there-{answer}"), None if answer is None else answer.encode(), made_of and Path(made_of))


def arranged(movers, residents=None, first=(), means_one=None):
    """The ordinals by name; where nothing is done, the collision."""
    found = arrange(movers, residents or {}, [Path(name) for name in first], means_one)
    return found if isinstance(found, Collision) else {one.path.name: ordinal for one, ordinal in found}


def test_the_entries_of_one_key_keep_their_ordinals_gaps_too():
    movers = [mover("k-0", "a", ordinal=0), mover("k-2", "b", ordinal=2)]
    assert arranged(movers) == {"k-0": 0, "k-2": 2}
    assert arranged(movers, means_one=True) == {"k-0": 0, "k-2": 2}


def test_the_answers_of_one_key_that_others_left_close_up():
    movers = [replace(mover("k-1", "a", ordinal=1), place=0), replace(mover("k-3", "b", ordinal=3), place=1)]
    assert arranged(movers) == {"k-1": 0, "k-3": 1}


def test_equal_answers_are_repeats_in_a_fixed_order():
    movers = [mover("b", at=AT[1]), mover("a", at=AT[1]), mover("c", at=AT[0]), mover("d")]
    assert arranged(movers) == {"d": 0, "c": 1, "a": 2, "b": 3}
    assert arranged(movers[::-1], means_one=True) == {"d": 0, "c": 1, "a": 2, "b": 3}


def test_other_answers_follow_their_times():
    movers = [mover("a", "x", AT[2]), mover("b", "y", AT[1]), mover("c", "z", AT[3])]
    assert arranged(movers) == {"b": 0, "a": 1, "c": 2}


def test_times_are_moments_whatever_their_offset():
    movers = [mover("a", "x", "2026-03-01T10:00:00+09:00"), mover("b", "y", "2026-03-01T05:00:00Z")]
    assert arranged(movers) == {"a": 0, "b": 1}
    same = [mover("a", "x", "2026-03-01T10:00:00+09:00"), mover("b", "y", "2026-03-01T01:00:00")]
    assert arranged(same).why.endswith("it is not known which was recorded first")


UNKNOWN = {
    "with a time that is none": [mover("a", "x", "soon"), mover("b", "y", AT[1])],
    "of one second": [mover("a", "x", AT[1]), mover("b", "y", AT[1])],
    "without a time": [mover("a", "x", ""), mover("b", "y", AT[1])],
    "all without a time": [mover("a", "x"), mover("b", "y")],
    "younger than the next of its key": [
        mover("a-0", "x", AT[3], 0),
        mover("a-1", "y", AT[1], 1),
        mover("b", "z", AT[2]),
    ],
    "one of three": [mover("a", "x", AT[1]), mover("b", "x", AT[2]), mover("c", "y", AT[2])],
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_where_the_order_is_not_known_nothing_is_done(name):
    found = arranged(UNKNOWN[name])
    assert isinstance(found, Collision)
    assert "it is not known which was recorded first" in found.why
    assert set(found.met.paths) == {one.path for one in UNKNOWN[name]}
    assert "--first " in found.mend
    assert "onetake diff " in found.mend


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_user_says_the_order(name):
    names = [one.path.name for one in reversed(UNKNOWN[name])]
    assert arranged(UNKNOWN[name], first=names) == {name: number for number, name in enumerate(names)}
    assert arranged(UNKNOWN[name], first=names[:-1]) == {name: number for number, name in enumerate(names)}


def test_equal_answers_within_a_second_need_no_order():
    movers = [mover("a", "x", AT[1]), mover("b", "x", AT[1]), mover("c", "y", AT[2])]
    assert arranged(movers) == {"a": 0, "b": 1, "c": 2}


@pytest.mark.parametrize(
    ("means_one", "from_test", "is_done"),
    [(None, True, True), (None, False, False), (True, True, False), (False, False, True), (False, True, True)],
)
def test_other_answers_need_that_answers_may_follow_each_other(means_one, from_test, is_done):
    test = "t.py::test_a" if from_test else ""
    movers = [mover("a", "x", AT[1], test=test), mover("b", "y", AT[2], test=test)]
    found = arranged(movers, means_one=means_one)
    assert (found == {"a": 0, "b": 1}) is is_done
    assert is_done or "one answer is meant" in found.why


TESTS = ["t.py::test_a", "t.py::test_b", ""]


@pytest.mark.parametrize("others", [(1,), (2,), (0, 1)])
def test_no_test_is_given_the_answer_of_another_one_unless_a_person_says_which_is_first(others):
    movers = [mover("a", "x", AT[1]), *(mover(f"b{n}", "y", AT[2 + n], test=TESTS[n]) for n in others)]
    found = arranged(movers, means_one=False)
    assert isinstance(found, Collision)
    assert "they become one request of several tests, and their answers differ" in found.why
    assert (found.met.differ, found.met.tests) == (True, tuple(one.test for one in movers))
    assert found.mend.endswith("say which answer all these tests get first: `--first a`")
    names = [one.path.name for one in movers]
    assert arranged(movers, first=["a"], means_one=False) == {name: number for number, name in enumerate(names)}
    assert arranged(movers, {0: there("x", "a")}, means_one=False) == {
        name: number for number, name in enumerate(names)
    }, "it was said"


def test_equal_answers_of_several_tests_are_repeats():
    movers = [mover("a", "x", AT[1]), mover("b", "x", AT[1], test=TESTS[1])]
    assert arranged(movers) == {"a": 0, "b": 1}
    assert arranged(movers[:1], {0: there("x")}) == {"a": 1}
    assert (meeting(movers).differ, meeting(movers).tests) == (False, tuple(TESTS[:2]))


def test_another_answer_under_the_key_is_not_touched():
    found = arranged([mover("a", "x")], {0: there("y")}, means_one=False)
    assert (found.why, found.met.paths) == ("another answer is stored under the new key", (Path("there-y"), Path("a")))


def test_a_file_that_cannot_be_read_keeps_its_place():
    found = arranged([mover("a", "x")], {3: there(None)})
    assert "is taken by there-None, which cannot be read" in found.why


def test_repeats_of_what_is_there_come_behind_it_in_free_places():
    movers = [mover("a", "x", AT[2]), mover("b", "x", AT[1])]
    assert arranged(movers, {0: there("x"), 2: there("x")}, means_one=True) == {"b": 1, "a": 3}


# What a stopped run left


def test_what_was_placed_stays_there_and_the_rest_follows():
    movers = [mover("a", "x", AT[2]), mover("b", "y", AT[1]), mover("c", "z", AT[3])]
    assert arranged(movers, {0: there("y", "b")}) == {"b": 0, "a": 1, "c": 2}
    assert arranged(movers, {0: there("y", "b"), 1: there("x", "a")}) == {"b": 0, "a": 1, "c": 2}
    assert arranged(movers[2:], {0: there("y"), 1: there("x"), 2: there("z", "c")}) == {"c": 2}


def test_what_was_placed_tells_the_order_that_the_user_chose():
    movers = UNKNOWN["of one second"]
    assert arranged(movers, {0: there("y", "b")}) == {"b": 0, "a": 1}


def test_the_entries_of_one_key_go_on_where_they_were():
    movers = [mover("k-0", "a", ordinal=0), mover("k-1", "b", ordinal=1)]
    assert arranged(movers, {0: there("a", "k-0")}) == {"k-0": 0, "k-1": 1}
    assert arranged(movers[1:], {0: there("a"), 1: there("b", "k-1")}) == {"k-1": 1}


def test_repeats_go_on_behind_what_was_there():
    movers = [mover("a", "x", AT[2]), mover("b", "x", AT[1])]
    assert arranged(movers, {0: there("x"), 1: there("x", "b")}) == {"b": 1, "a": 2}
