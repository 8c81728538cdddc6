"""Which test asks for an entry today, by the runs on record."""

from __future__ import annotations

import pytest

from onetake.model import Mode
from onetake.stores.naming import parse_name
from onetake.upkeep import mends
from onetake.upkeep.askers import asker
from onetake.usage import CassetteUsage, UsageRun, write_run

OLD, NEW, OTHER = (f"tests/test_a.py::{name}" for name in ("test_b", "test_new", "test_other"))


@pytest.fixture
def ran(folder):
    """Return a function that puts a run on record: which files each test used of a cassette."""

    def ran(place="cassettes/test_a/test_b", /, **tests):
        ids = {
            f"tests/test_a.py::{name}": frozenset(parse_name(path.name) for path in used)
            for name, used in tests.items()
        }
        used = frozenset[tuple[str, int]]().union(*ids.values())
        return write_run(
            folder.root, UsageRun("2026-01-01T00:00:00Z", cassettes={place: CassetteUsage(used, tests=ids)})
        )

    return ran


@pytest.fixture
def two(folder, answer):
    """Two entries of one test."""
    return folder.record(("one", answer), ("two", answer))


def test_without_a_run_on_record_it_is_who_recorded_it(folder, two, ran):
    assert [asker(path, OLD) for path in two] == [OLD, OLD]
    ran("cassettes/another", test_new=two)
    assert [asker(path, OLD) for path in two] == [OLD, OLD]
    assert asker(folder.root / "cassettes/test_a/test_b/no entry.json", None) is None


def test_who_used_it_last_asks_for_it(two, ran):
    ran(test_b=two)
    ran(test_new=two[:1])
    assert [asker(path, OLD) for path in two] == [NEW, OLD]
    ran(test_other=two[:1], test_new=two[:1])
    assert [asker(two[0], recorded) for recorded in (OLD, OTHER, None)] == [NEW, OTHER, NEW]


def test_a_cassette_that_is_a_tests_own_is_that_tests(folder, two, ran):
    own = folder.root / "cassettes/test_a/test_new"
    two[0].parent.rename(own)
    ran("cassettes/test_a/test_new", test_new=(), test_other=())
    assert [asker(own / path.name, OLD) for path in two] == [NEW, NEW]


def test_a_run_of_one_test_says_nothing_of_what_others_asked_of_a_shared_cassette(folder, two, ran):
    ran(test_b=two[1:])
    ran(test_other=two[:1])
    assert [asker(path, OLD) for path in two] == [OTHER, OLD]


def test_a_new_run_is_seen_and_a_damaged_one_is_passed_over(two, ran):
    ran(test_new=two)
    assert asker(two[0], OLD) == NEW
    ran(test_new=()).write_bytes(b"{")
    assert asker(two[0], OLD) == NEW
    ran(test_other=two)
    assert asker(two[0], OLD) == OTHER


def test_the_command_that_records_an_entry_again_names_who_asks_for_it_today(folder, two, ran):
    entry = folder.load(two[0])
    assert mends.record_again(entry, Mode.ALL, two[0]) == f"pytest --record-mode=all {OLD}"
    ran(test_new=two)
    assert mends.record_again(entry, Mode.ALL, two[0]) == f"pytest --record-mode=all {NEW}"
    folder.rewrite(two[0], test=None)
    assert mends.record_again(folder.load(two[0]), Mode.ALL, two[0]) == f"pytest --record-mode=all {NEW}"
