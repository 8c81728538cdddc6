"""Files are looked through for secrets many at once, and one by one where that look may have seen something."""

from __future__ import annotations

import pytest

from onetake.cassette_files import list_folders
from onetake.scrub import Scrubber
from onetake.upkeep import checked, secrets
from onetake.upkeep.checked import Checked, clear_of, few, secrets_in
from onetake.upkeep.findings import Code
from onetake.upkeep.holding import holding_of
from onetake.upkeep.limits import TookTooLongError

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


@pytest.fixture
def files(folder, answer):
    """Return what was checked of three entries."""

    def read():
        (holding,) = [held for listed in list_folders(folder.root) if (held := holding_of(listed))]
        return [Checked(held, [], (), Scrubber(), is_verified=held.entry is not None) for held in holding.read()]

    folder.record(("one", answer), ("two", answer), ("three", answer))
    return read


def test_entries_without_a_secret_are_clear_together(files):
    assert clear_of(files(), Scrubber()) == [True, True, True]


def test_one_with_a_secret_has_each_looked_through_by_itself(folder, files):
    path = files()[1].held.path
    folder.edit(path, '"recorder"', f'"note": "{SECRET}",\n    "recorder"')
    some = files()
    assert clear_of(some, Scrubber()) == [False, False, False]
    assert [[one.code for one in secrets_in(file)] for file in some] == [[], [Code.SECRET], []]


def test_what_cannot_be_read_is_looked_for_no_more_and_spoils_nothing(files):
    path = files()[0].held.path
    path.write_bytes(path.read_bytes()[:100])
    broken, *others = files()
    assert clear_of([broken._replace(scrubber=None), *others], Scrubber()) == [True, True, True]


def test_a_look_that_takes_too_long_clears_none(files, monkeypatch):
    def endless(found, scrubber):
        raise TookTooLongError("it took more than 10 seconds")

    monkeypatch.setattr(secrets, "clear_together", endless)
    assert clear_of(files(), Scrubber()) == [False, False, False]


def test_few_are_read_before_the_first_is_told(files, monkeypatch):
    read = []

    def reading():
        for one in files() * 2:
            read.append(one)
            yield one

    assert [len(some) for some in few(reading(), 4)] == [4, 2]
    assert len(next(few(reading(), 1))) == 1
    assert len(read) == 6 + 1
    monkeypatch.setattr(checked, "_LARGEST", 1)
    assert [len(some) for some in few(reading(), 4)] == [1] * 6
