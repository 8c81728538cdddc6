from __future__ import annotations

from multiprocessing import Pipe
from pathlib import Path
from threading import Barrier

import pytest

from onetake.stores.directory import DirectoryStore
from onetake.testing import store_processes as work

SUITE = """
from onetake.stores.directory import DirectoryStore

class TestHere:
    class Inner:
        def make(self, tmp_path):
            return DirectoryStore(tmp_path / "cassette")
"""


@pytest.fixture
def origin(tmp_path):
    (tmp_path / "test_here.py").write_text(SUITE)
    return (str(tmp_path / "test_here.py"), "TestHere.Inner", tmp_path)


@pytest.fixture
def pipe():
    mine, its = Pipe(duplex=False)
    yield mine, its
    mine.close()
    its.close()


def test_a_store_is_opened_by_the_suites_own_file(origin, tmp_path):
    work.open_store(origin).add(work.key(1), 0, b"x")
    assert DirectoryStore(tmp_path / "cassette").get(work.key(1), 0) == b"x"


def test_a_file_that_is_no_python_is_named(tmp_path):
    with pytest.raises(ImportError, match="no Python file"):
        work.open_store((str(tmp_path / "suite.txt"), "X", tmp_path))


def test_a_race_reports_who_won_and_what_is_there(origin, pipe, tmp_path):
    DirectoryStore(tmp_path / "cassette").add(work.key("race", 1), 0, b"another's")
    work.race(origin, pipe[1], Barrier(1), "own", "label", 2)
    assert pipe[0].recv() == [(True, b"own 0"), (False, b"another's")]


def test_own_keys_are_added_and_counted(origin, pipe):
    for created in (3, 0):
        work.add_own(origin, pipe[1], Barrier(1), "own", 3)
        assert pipe[0].recv() == created


def test_big_entries_are_added_until_the_reader_is_gone(origin, pipe):
    pipe[0].close()
    with pytest.raises(BrokenPipeError):
        work.add_without_end(origin, pipe[1])
    assert work.open_store(origin).get(work.key("big", 0), 0) == work.whole(work.key("big", 0))


def test_some_are_added_and_replaced(origin, pipe):
    work.add_some(origin, pipe[1], 2)
    work.replace_some(origin, pipe[1], 8)
    assert (pipe[0].recv(), pipe[0].recv()) == ("open", "open")
    store = work.open_store(origin)
    assert [store.get(work.key("big", turn), 0) is not None for turn in range(3)] == [True, True, False]
    assert store.get(work.key("replaced"), 0) == b"7"
    assert Path(store.locate(work.key("replaced"), 0)).name.startswith("label1-")
