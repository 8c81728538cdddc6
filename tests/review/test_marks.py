from __future__ import annotations

import os

import pytest

from onetake.errors import StoreError
from onetake.review import marks

ONE, TWO = "1" * 64, "2" * 64


def test_what_is_noted_is_read_and_hidden_from_git(tmp_path):
    assert marks.read(tmp_path) == frozenset()
    for mark in (ONE, TWO, ONE):
        marks.note(tmp_path, mark)
    assert marks.read(tmp_path) == {ONE, TWO}
    assert (tmp_path / ".onetake" / ".gitignore").read_bytes() == b"*\n"


def test_lines_that_are_no_marks_are_passed_over(tmp_path):
    marks.note(tmp_path, ONE)
    book = tmp_path / ".onetake" / "review" / "accepted"
    book.write_bytes(b"\xff\n" + ONE[:30].encode() + b"\n" + TWO.encode() + b"\n")
    assert marks.read(tmp_path) == {TWO}
    book.unlink()
    book.mkdir()
    assert marks.read(tmp_path) == frozenset()


@pytest.mark.skipif(os.name == "nt", reason="a file in the place of a folder is told otherwise there")
def test_what_cannot_be_noted_says_so(tmp_path):
    marks.note(tmp_path, ONE)
    book = tmp_path / ".onetake" / "review" / "accepted"
    book.unlink()
    book.mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        marks.note(tmp_path, TWO)
