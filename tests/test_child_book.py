"""Refusals on their way from child processes to the one that opened the session."""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import pickle
import time

import pytest

from onetake.child_book import ChildBook, Tally
from onetake.errors import ChildError, ContractError, InteractionNotFound, NotStored
from onetake.ledger import Ledger
from onetake.model import Response


@pytest.fixture
def books(tmp_path):
    """The parent's book and a child's, on one folder."""
    folder = tmp_path / ".onetake" / "children" / "1"
    return ChildBook(folder, tmp_path, reads=True), ChildBook(folder, tmp_path, reads=False)


def texts(refusals):
    return [str(refusal) for refusal in refusals]


def test_each_refusal_arrives_once_and_whole(books):
    parent, child = books
    first, second = InteractionNotFound("why", "one", "c"), ContractError("json", "two")
    child.tell(first, "1:2")
    (told,), _ = parent.told()
    assert (str(told), parent.shown(told), parent.shown(first)) == (str(first), "1:2", "")
    child.tell(second, "")
    assert texts(parent.told()[0]) == [str(second)]
    assert parent.told() == ([], [])


def test_the_process_that_opened_the_session_writes_nothing(tmp_path):
    book = ChildBook(tmp_path / "1", tmp_path, reads=True)
    book.tell(InteractionNotFound("why", "one"), "")
    book.count("replayed", "ab", 0)
    book.note("old")
    assert list(tmp_path.iterdir()) == []


def test_what_differed_in_a_child_arrives_whole(books, tmp_path):
    parent, child = books
    one = {"asked": "POST ä \ud800", "kinds": ["prompt"], "counts": True}
    child.differs(one)
    parent.differs(one)
    assert parent.told() == ([], [])
    assert parent.tally.differing == [one]
    (file,) = child.folder.iterdir()
    file.write_bytes(file.read_bytes() + b"differs W10=\ndiffers !\n")
    assert [type(refusal) for refusal in parent.told()[0]] == [ChildError, ChildError]


def test_what_children_did_is_counted_with_what_they_said(books):
    parent, child = books
    child.count("replayed", "ab", 0)
    child.count("recorded", "cd", 1)
    child.note("an ä and\na line")
    assert parent.told() == ([], [])
    child.count("replayed", "ab", 0)
    child.count("rejected", "ef", 2)
    child.count("unstored", "gh", 0)
    child.note("an ä and\na line")
    for key in ("12", "34"):
        child.count("failed", key, 0)
    child.count("recorded", "34", 0)
    parent.told()
    recorded, notes = [("cd", 1), ("34", 0)], {"an ä and\na line": None}
    assert parent.tally == Tally([("ab", 0)] * 2, recorded, [("ef", 2)], notes, {"12"}, [("gh", 0)])


@pytest.mark.parametrize("line", [b"replayed ab\n", b"replayed ab x\n", b"note !\n", b"dreamt ab 0\n"])
def test_a_count_that_cannot_be_read_is_a_refusal_that_nobody_knows(books, line):
    parent, child = books
    (file,) = child.folder.iterdir()
    file.write_bytes(line)
    ((refusal,), _) = parent.told()
    assert (type(refusal), parent.tally) == (ChildError, Tally())


def test_the_half_line_of_a_killed_child_is_left_alone(books):
    parent, child = books
    child.tell(InteractionNotFound("why", "one"))
    (file,) = child.folder.iterdir()
    with file.open("ab") as half:
        half.write(b"+ 1 gASV")
    assert len(parent.told()[0]) == 1
    assert parent.told() == ([], [])


def test_an_answer_that_is_on_no_disk_for_its_secrets_does_not_get_there(books):
    child = books[1]
    child.tell(NotStored("asked", "why", Response(200, (), b"a secret")))
    (file,) = child.folder.iterdir()
    (told,) = books[0].told()[0]
    assert told.args == ("asked", "why", None)
    assert b"secret" not in file.read_bytes()


def test_what_the_childs_program_handled_by_name_counts_as_handled(books, capsys):
    ledger, childs = Ledger(books[0]), Ledger(books[1])

    def refuse(name):
        childs.write(error := ContractError("json", name).as_exception())
        raise error

    with contextlib.suppress(Exception):
        refuse("swallowed")
    try:
        refuse("handled")
    except ContractError as error:
        assert error.kind == "json"
    assert [line.args[1] for line in ledger.open] == ["swallowed", "handled"]  # nobody knows yet
    childs.tell_handled()
    assert [line.args[1] for line in ledger.open] == ["swallowed"]
    assert len(ledger.all) == 2


def test_what_was_read_is_removed_and_a_child_that_is_still_there_is_heard(books, tmp_path):
    parent, child = books
    child.tell(InteractionNotFound("why", "one"))
    parent.remove()
    assert child.folder.exists()  # not read yet
    parent.told()
    parent.remove()
    assert list(child.folder.parent.iterdir()) == []
    child.tell(InteractionNotFound("why", "two"))
    assert [told.args[1] for told in parent.told()[0]] == ["two"]


def line_of(number, what):
    return b"+ %d %s\n" % (number, base64.b64encode(pickle.dumps(what)))


@pytest.mark.parametrize(
    "damage",
    [
        b"+ 7 gASV\n",
        b"+ 7 gASV+ 8 gASV\n",
        b"+gASV\n",
        b"\xff\xfe\n",
        b"- x\n",
        b"+ 7 Y29uZXRha2UuZXJyb3JzClJlZnVzYWxPZkxhdGVyCi4=\n",
        line_of(7, "a text"),
        line_of(7, InteractionNotFound("why", "x")).replace(b"+ 7 ", b"+ 7 !"),
    ],
    ids=[
        "torn",
        "torn-and-another",
        "no-number",
        "no-text",
        "no-such-number",
        "another-onetake",
        "no-refusal",
        "bytes",
    ],
)
def test_a_line_that_cannot_be_read_is_a_refusal_that_names_the_file_and_the_others_still_count(books, damage):
    parent, child = books
    child.tell(InteractionNotFound("why", "one"))
    (file,) = child.folder.iterdir()
    with file.open("ab") as book:
        book.write(damage)
    child.tell(two := InteractionNotFound("why", "two"))
    child.settled([two])
    told, settled = parent.told()
    assert [type(one) for one in told] == [InteractionNotFound, ChildError, InteractionNotFound]
    assert [one.args[1] for one in (told[0], told[2], *settled)] == ["one", "two", "two"]
    assert str(told[1]).startswith(f"a child process of this session said something that cannot be read: {file}")


def test_a_file_with_something_that_cannot_be_read_stays_for_a_person_to_look_at(books):
    parent, child = books
    child.tell(InteractionNotFound("why", "one"))
    (file,) = child.folder.iterdir()
    with file.open("ab") as book:
        book.write(b"?\n")
    parent.told()
    parent.remove()
    assert file.exists()


@pytest.mark.parametrize("written", [None, 0, 1, 30], ids=["refused", "nothing", "a-byte", "a-part"])
def test_what_could_not_be_written_at_once_goes_out_with_the_next_line_and_keeps_its_number(
    books, written, monkeypatch
):
    parent, child = books
    real, calls = os.write, []

    def full(descriptor, data):
        calls.append(data)
        if len(calls) > 1 or written is None:
            raise OSError(errno.ENOSPC, "full")
        return real(descriptor, data[:written])

    one, two = InteractionNotFound("why", "one"), InteractionNotFound("why", "two")
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        child.tell(one)
    assert parent.told() == ([], [])
    child.tell(two)
    child.settled([two])
    told, settled = parent.told()
    assert [refusal.args[1] for refusal in told] == ["one", "two"]
    assert [refusal.args[1] for refusal in settled] == ["two"]


def test_a_short_write_is_written_on(books, monkeypatch):
    parent, child = books
    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:5]))
        child.tell(InteractionNotFound("why", "one"))
    assert [told.args[1] for told in parent.told()[0]] == ["one"]


def test_a_refusal_whose_line_never_came_is_settled_without_a_word(books):
    parent, child = books
    (child.folder / "1-a.told").write_bytes(b"- 3\n")
    assert parent.told() == ([], [])


def test_what_a_killed_run_left_is_removed_after_a_week_and_never_what_may_be_at_work(books, tmp_path):
    parent, child = books
    old, young, used = (child.folder.with_name(name) for name in ("old", "young", "used"))
    for folder in (old, young, used):
        folder.mkdir(parents=True)
        (folder / "1-a.told").write_bytes(b"")
    week = time.time() - 8 * 24 * 3600
    for path in (old / "1-a.told", old, used):
        os.utime(path, (week, week))
    parent.told()
    parent.remove()
    assert sorted(folder.name for folder in child.folder.parent.iterdir()) == ["used", "young"]
