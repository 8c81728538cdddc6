from __future__ import annotations

import inspect

import pytest

import onetake.testing
from onetake.stores.memory import MemoryStore
from onetake.testing import StoreConformance


class Overwriting(MemoryStore):
    def add(self, key, ordinal, data, label=""):
        self.replace(key, ordinal, data, label)
        return True


class KeepsTheCallersBytes(MemoryStore):
    def _put(self, wanted, data):
        self._entries[wanted] = data
        self._changes += 1


class Still(MemoryStore):
    def stamp(self):
        return 0


class Unchecked(MemoryStore):
    def add_side(self, name, data):
        self._sides[name] = data


class Suite(StoreConformance):
    processes = False


@pytest.mark.parametrize(
    ("store", "test", "more"),
    [
        (Overwriting, "test_add_never_overwrites", ()),
        (Overwriting, "test_one_of_many_threads_wins", ()),
        (KeepsTheCallersBytes, "test_bytes_come_back_as_they_went", (b"x",)),
        (Unchecked, "test_a_sidecar_has_the_digest_of_its_name", ()),
    ],
)
def test_a_store_that_is_wrong_fails_the_suite(store, test, more):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        getattr(Suite(), test)(store(), *more)
    getattr(Suite(), test)(MemoryStore(), *more)


def test_a_stamp_that_stands_still_fails_the_suite(tmp_path):
    suite = Suite()
    suite.make = lambda folder: Still()
    with pytest.raises(AssertionError):
        suite.test_the_stamp_moves_when_another_adds_or_removes(tmp_path)


def test_a_suite_says_how_its_store_is_opened(tmp_path):
    with pytest.raises(NotImplementedError):
        StoreConformance().make(tmp_path)


def test_all_exports_are_there_and_nothing_else():
    for name in onetake.testing.__all__:
        assert inspect.isclass(getattr(onetake.testing, name))
    with pytest.raises(AttributeError, match="StoreConformanse"):
        _ = onetake.testing.StoreConformanse
