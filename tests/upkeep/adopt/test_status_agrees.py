"""What `status` says of what a run missed, as `adopt` and the replay say it."""

from __future__ import annotations

import pytest

from onetake.upkeep.adopt.planning import plan
from onetake.upkeep.statuses import status

PROMPT = "Sort ticket 7919: the printer in room 104729 burns, and nobody knows for how long it has done so"


@pytest.mark.parametrize(("more", "offered"), [({"store": False}, True), ({"model": "gpt-6"}, False)])
def test_adopt_is_offered_where_it_takes_the_answer(folder, answer, direct, more, offered):
    folder.record((PROMPT, answer))
    folder.miss(direct.chat(PROMPT, **more))
    folder.ran(why="tests failed")
    (one,) = (one for one in status(folder.root).entries if one.advice == "orphan")
    assert one.mend.startswith("pytest --record-mode=new_episodes")
    assert ("onetake adopt" in f"{one.reason} {one.mend}") is offered


@pytest.mark.parametrize("how", ["schema", "schema_version", "answer", None])
def test_adopt_is_not_offered_where_the_gate_would_refuse_the_answer(folder, answer, direct, items, how):
    (path,) = folder.record((PROMPT, answer))
    folder.miss(direct.chat(PROMPT, store=False))
    folder.ran(why="tests failed")
    if how == "schema":  # which the answer satisfies
        items["properties"]["label"] = {"enum": ["bug", "wish"]}
        folder.schema(items)
    elif how == "schema_version":
        folder.settings("schema_version = 2")
    elif how == "answer":
        folder.edit_answer(path, answer, '{"label": 5, "tags": []}')
    (one,) = status(folder.root).entries
    assert (one.advice, one.mend) == ("orphan", "pytest --record-mode=new_episodes tests/test_a.py::test_b")
    (group,) = plan(folder.root).groups
    assert ("onetake adopt" in one.reason) is (not group.refused) is (how is None)
    assert group.mend == (one.mend if how else "")


def test_br_135_the_folder_of_a_renamed_test_is_told_its_new_name(folder, answer):
    (path,) = folder.record((PROMPT, answer), folder="cassettes/test_a/test_b-y-x", test="t.py::test_b[y-x]")
    new = "cassettes/test_a/test_b-x-y"
    (refused,) = folder.miss(PROMPT, folder=new, test="t.py::test_b[x-y]")
    assert [one.advice.value for one in status(folder.root).entries] == ["replay"]  # no run is on record
    folder.ran(folder=new, why="tests failed")
    (one,) = status(folder.root).entries
    assert (one.path, one.advice.value) == (path, "orphan")
    assert one.reason == "t.py::test_b[x-y] asked for this very request, and its own folder holds no entry"
    assert one.mend == f"if this test was renamed, rename that folder to {new}"
    assert one.mend in str(refused)


def test_what_a_run_used_is_not_told_to_move_to_a_test_that_asks_the_same(folder, answer):
    (path,) = folder.record((PROMPT, answer), folder="cassettes/test_a/one", test="t.py::one")
    folder.miss(PROMPT, folder="cassettes/test_a/two", test="t.py::two")
    folder.ran(folder="cassettes/test_a/two", why="tests failed")
    folder.ran(used=[path], folder="cassettes/test_a/one", why="tests failed")
    assert [one.advice.value for one in status(folder.root).entries] == ["replay"]
