"""Refusals on their way from child processes to the one that opened the session."""

from __future__ import annotations

import contextlib

import pytest

from onetake.child_book import ChildBook
from onetake.errors import ContractError, InteractionNotFound, NotStored
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
    child.tell(first)
    assert texts(parent.told()[0]) == [str(first)]
    child.tell(second)
    assert texts(parent.told()[0]) == [str(second)]
    assert parent.told() == ([], [])


def test_the_process_that_opened_the_session_writes_nothing(books, tmp_path):
    books[0].tell(InteractionNotFound("why", "one"))
    assert list(tmp_path.iterdir()) == []


def test_the_half_line_of_a_killed_child_is_left_alone(books):
    parent, child = books
    child.tell(InteractionNotFound("why", "one"))
    (file,) = child.folder.iterdir()
    with file.open("ab") as half:
        half.write(b"+gASV")
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
    assert not child.folder.parent.exists()
    child.tell(InteractionNotFound("why", "two"))
    assert [told.args[1] for told in parent.told()[0]] == ["two"]
