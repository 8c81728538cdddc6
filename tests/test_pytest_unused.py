"""What is unused, from plain facts."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from onetake.pytest_unused import Facts, facts_of, find_unused, identity, merged
from onetake.stores.directory import DirectoryStore
from onetake.usage import Used
from onetake.writing import write

A, B = (("a" * 16, 0), ("b" * 16, 0))


@pytest.fixture
def tape(tmp_path):
    """A cassette of two entries, which a test of test_it.py owns; only their names count here."""
    folder = tmp_path / "cassettes" / "test_it" / "test_x"
    folder.mkdir(parents=True)
    for key, _ in (A, B):
        (folder / f"chat-{key}.json").touch()
    return folder


def used(folder, *slots, known=True):
    return Used(folder.parents[2], folder, frozenset(slots), known)


def found(tape, sessions, outside=(), left_out=None, **facts):
    root = tape.parents[2]
    here = Facts(modules={os.path.realpath(root / "test_it.py")}, **facts)
    unused = find_unused(merged(sessions, outside), here, {root: root / "test_b.py"} if left_out else {}, root)
    return [(one.folder, set(one.entries), one.of) for one in unused]


def test_what_no_session_used(tape):
    assert found(tape, [used(tape, A)]) == [(tape, {B}, 2)]
    assert found(tape, [used(tape, A), used(tape, B)]) == []
    assert found(tape, [used(tape, A)], left_out=True) == [(tape, {B}, 2)], "it is the test's own"


def test_one_folder_by_two_paths(tape, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(tape.parent)
    assert found(tape, [used(tape, A), used(link / "test_x", B)]) == []
    assert identity(tape / "missing") == identity(link / "test_x" / "missing")


@pytest.mark.parametrize("facts", [{"spared": {"itself"}}, {"sessions": "unknown"}])
def test_what_is_not_known_is_spared(tape, facts):
    if "spared" in facts:
        assert found(tape, [used(tape, A)], spared={str(tape)}) == []
    else:
        assert found(tape, [used(tape, A), used(tape, known=False)]) == []


def test_what_others_may_share(tape, tmp_path):
    shared = tmp_path / "cassettes" / "shared" / "of" / "all"
    shared.parent.mkdir(parents=True)
    tape.rename(shared)
    one = Used(tmp_path, shared, frozenset({A}), known=True)
    assert found(tape, [one]) == [(shared, {B}, 2)]
    assert found(tape, [one], left_out=True) == []
    assert found(tape, [one], partly={"/some/test_module.py"}) == []
    assert found(tape, [one], spared={"/some/cassette"}) == [(shared, {B}, 2)]
    assert found(tape, [], [one]) == [(shared, {B}, 2)]
    assert found(tape, [], [one], spared={"/some/cassette"}) == []


def test_what_cannot_be_read_is_nobodys_to_call_abandoned(tape):
    assert found(tape, []) == []


def test_facts_are_taken_together_and_go_through_plain_types():
    one = Facts({"a"}, {"b"}, {"c"}, {"d"}, {"g"}, 3, True)
    one.add(Facts({"e"}, set(), {"f"}, set(), {"h"}, 2, False))
    assert one == Facts({"a", "e"}, {"b"}, {"c", "f"}, {"d"}, {"g", "h"}, 3, False)
    assert facts_of(json.loads(json.dumps(one.as_plain()))) == one


def test_a_cassette_that_anything_else_opened_is_no_tests_own(tmp_path):
    used = Used(tmp_path, tmp_path / "tape", frozenset({A}), known=True, owned=True)
    assert [one.owned for one in merged([used, used], []).values()] == [True]
    assert [one.owned for one in merged([used, replace(used, owned=False)], []).values()] == [False]
    assert [one.owned for one in merged([used], [replace(used, owned=False)]).values()] == [False]


def test_replies_of_a_batch_are_not_for_tests_to_use(tape, direct):
    books = tape.parent / ".onetake" / "batch"
    books.mkdir(parents=True)
    (books / f"{tape.name}.intents.db").touch()
    talk = direct(DirectoryStore(tape), "once")
    talk.call("q", direct.said("a"))
    (entry,) = talk.engine.recorded
    assert found(tape, [used(tape)]) == [], "no test recorded any of them"
    write(DirectoryStore(tape), replace(entry, provenance={"test": "test_it.py::test_x"}), {}, over=True)
    assert found(tape, [used(tape)]) == [(tape, {(entry.key[:16], 0)}, 3)]
