"""Which of several stored requests gives its answer to a miss."""

from __future__ import annotations

import json

import pytest

from onetake.stores.naming import parse_name
from onetake.upkeep.adopt.planning import plan
from onetake.upkeep.statuses import status
from onetake.usage import CassetteUsage, UsageRun, write_run

SHARED = "cassettes/shared"
DISK, FAN = "Ticket: the disk of server 7 is full", "Ticket: the fan of server 7 is slow"
DAYS = ("2026-03-01T10:00:00Z", "2026-03-02T10:00:00Z", "2026-03-03T10:00:00Z", "2026-03-04T10:00:00Z")


def donors(folder):
    """Return what is asked in the entries whose answers would be given away, and why others are refused."""
    groups = plan(folder.root).groups
    old = [folder.load(one.old).request.body for group in groups for one in group.adoptions]
    return [json.loads(body)["messages"][0]["content"] for body in old], [one.refused for one in groups if one.refused]


def orphans(folder):
    return sorted(one.path.name for one in status(folder.root).entries if one.advice == "orphan")


@pytest.fixture
def edited(folder, direct, answer):
    """Return a function that records a prompt, then its edit, and has runs use the one and then the other."""

    def run(*, is_whole):
        prompts = "Sort the tickets of today, please", "Sort all the tickets of today"
        (old,) = folder.record((prompts[0], answer))
        new = next(path for path in folder.record((prompts[1], answer)) if path != old)
        folder.rewrite(old, recorded_at=DAYS[0]), folder.rewrite(new, recorded_at=DAYS[2])
        slots = [frozenset({parse_name(path.name)}) for path in (old, new)]
        first, then = CassetteUsage(used=slots[0]), CassetteUsage(slots[1], slots[0] if is_whole else frozenset())
        for at, usage in ((DAYS[1], first), (DAYS[3], then)):
            why = "" if is_whole else "tests were selected"
            write_run(folder.root, UsageRun(at, why=why, cassettes={"cassettes/test_a/test_b": usage}))
        return old, new

    return run


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_entry_in_use_goes_before_a_nearer_one_that_it_took_the_place_of(folder, edited, is_whole):
    _, new = edited(is_whole=is_whole)
    (refused,) = folder.miss("Sort the tickets of today, please!")
    folder.ran(why="tests failed")
    assert donors(folder) == (["Sort all the tickets of today"], [])
    assert new.name in orphans(folder)
    assert f"cassettes/test_a/test_b/{new.name} (not played yet)" in str(refused)


def test_what_was_passed_over_still_answers_where_nothing_else_is_like_it(folder, direct, edited):
    edited(is_whole=True)
    folder.miss(direct.chat("Sort all the tickets of today", store=False), "Sort the tickets of today, please!")
    assert sorted(donors(folder)[0]) == ["Sort all the tickets of today", "Sort the tickets of today, please"]


def test_at_equal_distance_the_newest_answers(folder, direct, answer):
    words = ("qqq", "jjj", "zzz", "kkk")
    for word, day in zip(words, (DAYS[1], DAYS[3], DAYS[0], DAYS[2]), strict=True):
        before = set(folder.root.glob("cassettes/test_a/test_b/*.json"))
        folder.record((f"Paint it {word} today", answer))
        (path,) = set(folder.root.glob("cassettes/test_a/test_b/*.json")) - before
        folder.rewrite(path, recorded_at=day)
    (refused,) = folder.miss("Paint it with a brush today")
    assert donors(folder) == (["Paint it jjj today"], [])
    assert 'stored "Paint it jjj today"' in str(refused)


def test_an_answer_of_a_test_that_missed_nothing_is_refused_to_another_test(folder, direct, answer):
    folder.record((FAN, answer), folder=SHARED, test="t.py::test_fan")
    folder.miss(f"{FAN} and loud", folder=SHARED, test="t.py::test_disk")
    (why,) = donors(folder)[1]
    assert donors(folder)[0] == []
    assert why == "t.py::test_fan recorded its answer, and did not miss this: another test is asking"


def test_an_answer_that_no_test_recorded_is_refused_to_a_test(folder, direct, answer):
    folder.record((FAN, answer), folder=SHARED, test="")
    folder.miss(direct.chat(FAN, store=False), folder=SHARED, test="t.py::test_disk")
    assert "nobody knows which test recorded its answer" in donors(folder)[1][0]


def test_what_another_test_asked_in_the_same_words_is_not_explained_by_a_worse_one(folder, direct, answer):
    folder.record((FAN, answer), folder=SHARED, test="t.py::test_fan")
    folder.record((DISK, answer), folder=SHARED, test="t.py::test_disk")
    folder.miss(direct.chat(FAN, store=False), folder=SHARED, test="t.py::test_disk")
    assert (donors(folder)[0], len(donors(folder)[1])) == ([], 1)
    folder.miss(direct.chat(FAN, store=False), folder=SHARED, test="t.py::test_fan")
    assert donors(folder) == ([FAN, DISK], [])
    assert plan(folder.root).groups[0].tests == ("t.py::test_disk", "t.py::test_fan")


def test_the_folder_of_a_renamed_test_was_renamed_with_it_and_is_its_own(folder, direct, answer):
    folder.record((FAN, answer), folder="cassettes/t/A.test_new", test="t.py::A::test_old")
    folder.miss(direct.chat(FAN, store=False), folder="cassettes/t/A.test_new", test="t.py::A::test_new")
    assert donors(folder) == ([FAN], [])


def test_what_no_test_recorded_answers_what_no_test_asks(folder, direct, answer):
    folder.record((FAN, answer), folder=SHARED, test="")
    folder.miss(direct.chat(FAN, store=False), folder=SHARED, test="")
    assert donors(folder) == ([FAN], [])


def test_all_answers_to_a_request_go_together_and_status_counts_them_so(folder, direct, answer):
    folder.record((FAN, answer), (FAN, answer))
    folder.miss(direct.chat(FAN, store=False))
    folder.ran(why="tests failed")
    (group,) = plan(folder.root).groups
    assert [one.entry.ordinal for one in group.adoptions] == [0, 1]
    assert orphans(folder) == sorted(one.old.name for one in group.adoptions)
