"""Which misses count, over the cassettes and projects below a folder."""

from __future__ import annotations

import re

from onetake.upkeep.adopt.adopting import Plan
from onetake.upkeep.adopt.planning import plan


def shown(found):
    return [(group.reason, len(group.misses), len(group.adoptions), group.refused) for group in found.groups]


def test_nothing_was_missed(folder):
    folder.record()
    assert plan(folder.root) == Plan((), ())
    folder.miss("Sort this")  # what is stored
    assert plan(folder.root) == Plan((), ())


def test_only_cassettes_below_the_folder_count(folder, direct, answer):
    for name in ("a", "b"):
        folder.record((name, answer), folder=f"cassettes/{name}")
        folder.miss(direct.chat(name, store=False), folder=f"cassettes/{name}", test=f"t.py::{name}")
    assert [group.tests for group in plan(folder.root / "cassettes/b").groups] == [("t.py::b",)]
    assert len(plan(folder.root).groups[0].misses) == 2


def test_a_project_inside_another_has_misses_of_its_own(folder, direct, answer, tmp_path):
    inner = (
        type(folder)((tmp_path / "packages/inner"), direct)
        if (tmp_path / "packages/inner").mkdir(parents=True) is None
        else None
    )
    inner.record(("one", answer))
    inner.miss(direct.chat("one", store=False))
    assert shown(plan(folder.root)) == [("body$.store: added false", 1, 1, "")]


def test_a_test_that_is_no_more_is_forgotten_once_all_tests_passed(folder, upgraded):
    upgraded("one")
    for path in (*folder.root.glob(".onetake/missed/*/*"), *folder.root.glob("cassettes/*/*/*.json")):
        path.write_bytes(re.sub(rb'at": "20\d\d-', b'at": "2020-', path.read_bytes()))
    folder.ran(why="tests failed")
    assert len(plan(folder.root).groups) == 1
    folder.ran()
    assert plan(folder.root).groups == ()


def test_a_line_of_a_book_that_cannot_be_read_is_said_and_the_others_count(folder, answer):
    folder.record(("Sort this thing please", answer))
    folder.miss("Sort this thing, please")
    (book,) = (folder.root / ".onetake/missed").rglob("*.jsonl")
    book.write_bytes(b'{"onetake_missed": 1, "request": 5}\n' + book.read_bytes())
    made = plan(folder.root)
    assert made.left == ((book, "a line of it cannot be read"),)
    assert len(made.groups) == 1
