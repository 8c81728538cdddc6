"""What entries said earlier, as far as git has it."""

from __future__ import annotations

import json

import pytest

from onetake.upkeep.earlier import earlier


def texts(entries):
    return [entry.answer.choices[0].text for entry in entries]


@pytest.fixture
def changed(repository, answer):
    """An entry that said three things, one after the other, and was committed each time; the last is not committed."""
    (path,) = repository.folder.record(("x", answer), contract=None)
    repository.commit("Record")
    for old, new in ((answer, "two"), ("two", "three")):
        repository.folder.edit_answer(path, old, new)
        if new == "two":
            repository.commit("Record again")
    return path


def test_the_versions_come_newest_first_and_what_is_not_committed_is_none(changed, answer):
    assert texts(earlier(changed.parent, [changed])[changed]) == ["two", answer]


def test_a_file_that_git_does_not_know_has_none(changed):
    other = changed.with_name("chat-m-0123456789abcdef.json")
    assert earlier(changed.parent, [other]) == {}
    assert earlier(changed.parent, []) == {}


def test_without_git_there_are_none(folder, answer):
    (path,) = folder.record(("x", answer))
    assert earlier(path.parent, [path]) == {}


def test_a_version_that_cannot_be_read_is_left_out(changed, repository):
    changed.write_bytes(b"<<<<<<< HEAD\n")
    repository.commit("Merge")
    assert len(earlier(changed.parent, [changed])[changed]) == 2


def test_a_sidecar_that_lies_there_no_more_is_of_the_commit(repository, streamed, answer):
    (path,) = repository.folder.record(streamed, contract=None)
    repository.commit("Record")
    for side in (path.parent / "_raw").iterdir():
        side.unlink()
    (was,) = earlier(path.parent, [path])[path]
    assert json.loads(was.answer.choices[0].text) == json.loads(answer)
    assert was.response.body == streamed[1].body


def test_of_many_files_git_is_asked_for_all_of_their_folder(changed, answer):
    others = [changed.with_name(f"chat-m-{number:016x}.json") for number in range(300)]
    assert texts(earlier(changed.parent, [changed, *others])[changed]) == ["two", answer]
