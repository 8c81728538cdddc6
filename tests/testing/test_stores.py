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


class Unnumbered(MemoryStore):
    def ordinals(self, key):
        return {number for number in super().ordinals(key) if number == 0}


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


def test_ordinals_that_are_not_told_fail_the_suite(tmp_path):
    suite = Suite()
    suite.make = lambda folder: Unnumbered()
    with pytest.raises(AssertionError):
        suite.test_the_ordinals_that_another_added_are_told(tmp_path)


def test_a_suite_says_how_its_store_is_opened(tmp_path):
    with pytest.raises(NotImplementedError):
        StoreConformance().make(tmp_path)


def test_all_exports_are_there_and_nothing_else():
    for name in onetake.testing.__all__:
        assert inspect.isclass(getattr(onetake.testing, name))
    with pytest.raises(AttributeError, match="StoreConformanse"):
        _ = onetake.testing.StoreConformanse
