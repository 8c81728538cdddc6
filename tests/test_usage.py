"""The usage ledger: what it keeps."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from onetake.stores.sqlite import SqliteStore
from onetake.usage import (
    CassetteUsage,
    UsageRun,
    Used,
    entries_in,
    holds_replies,
    is_to_come,
    ledgers_in,
    read_run,
    used_of,
    write_run,
)

A, B, C = (("a" * 16, 0), ("b" * 16, 0), ("c" * 16, 3))
AT = "2020-11-30T10:00:00Z"


def run_of(used=()):
    return UsageRun(AT, cassettes={"tape": CassetteUsage(frozenset(used))})


def test_what_is_written_is_read_again_and_git_does_not_see_it(tmp_path):
    tests = {"t.py::ü": frozenset({C}), "t.py::none": frozenset()}
    used = CassetteUsage(frozenset({A, C}), frozenset({B}), tests=tests)
    cassettes = {"b/ü": used, "a": CassetteUsage(known=False)}
    run = UsageRun(AT, "c0ffee", "d0", "not all tests passed", cassettes)
    path = write_run(tmp_path, run)
    assert read_run(path) == run
    assert json.loads(path.read_bytes()) == {
        "onetake_usage": 1,
        "at": AT,
        "commit": "c0ffee",
        "files": "d0",
        "why": "not all tests passed",
        "cassettes": {
            "a": {"known": False},
            "b/ü": {"used": [[*A], [*C]], "unused": [[*B]], "tests": {"t.py::none": [], "t.py::ü": [1]}},
        },
    }
    assert (tmp_path / ".onetake" / ".gitignore").read_bytes() == b"*\n"
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_old_runs_go(tmp_path):
    written = [write_run(tmp_path, run_of(used=[A])) for _ in range(33)]
    assert ledgers_in(tmp_path) == written[:2:-1]
    assert sorted(written[-30:]) == sorted((tmp_path / ".onetake" / "usage").iterdir())


def test_a_ledger_of_the_future_outlives_no_true_one(tmp_path):
    written = [write_run(tmp_path, run_of(used=[A])) for _ in range(30)]
    to_come = written[0].with_name("99990101T000000.000000Z-aaaaaaaa.json")
    to_come.write_bytes(written[0].read_bytes())
    assert (is_to_come(to_come), is_to_come(written[0])) == (True, False)
    new = write_run(tmp_path, run_of(used=[A]))
    assert ledgers_in(tmp_path) == [to_come, new, *written[:0:-1]]


def test_only_files_that_are_named_as_ledgers_are(tmp_path):
    path = write_run(tmp_path, run_of())
    for name in ("zz.json", "20261130T100000.000000Z-aaaaaaaa.json.json", "x\n.json"):
        (path.parent / name).write_bytes(path.read_bytes())
    assert ledgers_in(tmp_path) == [path]


DAMAGED = [
    b"",
    b"[]",
    b"{",
    b"\xff",
    b'{"onetake_usage": 2, "at": "x", "cassettes": {}}',
    b'{"onetake_usage": 1, "cassettes": {}}',
    b'{"onetake_usage": 1, "at": "x", "cassettes": {"a": {"used": [["a"]]}}}',
    b"[" * 100_000,
    b'{"onetake_usage": 1, "at": 5, "cassettes": {}}',
    *(
        b'{"onetake_usage": 1, "at": "%s", "cassettes": {"a": {"used": [["a", 0]], "tests": %s}}}'
        % (AT.encode(), tests)
        for tests in (b"[]", b'{"t": 0}', b'{"t": [1]}', b'{"t": [-1]}', b'{"t": [true]}', b'{"t": [["a", 0]]}')
    ),
    b'{"onetake_usage": 1, "at": "2020-02-31T00:00:00Z", "cassettes": {}}',
    b'{"onetake_usage": 1, "at": "9999-01-01T00:00:00Z", "cassettes": {}}',
    b'{"onetake_usage": 1, "at": "%s", "commit": 5, "cassettes": {}}' % AT.encode(),
    b'{"onetake_usage": 1, "at": "%s", "why": {"a": 1}, "cassettes": {}}' % AT.encode(),
    b'{"onetake_usage": 1, "at": "%s", "cassettes": {"a": {"used": [["a", 1e999]]}}}' % AT.encode(),
    b'{"onetake_usage": 1, "at": "%s", "cassettes": {"a": {"used": [["a", true]]}}}' % AT.encode(),
    b'{"onetake_usage": 1, "at": "%s", "cassettes": {"a": {"used": [["a", %s]]}}}' % (AT.encode(), b"9" * 6000),
    b'{"onetake_usage": 1, "at": "%s", "cassettes": {"a": {"unused": {"a": 1}}}}' % AT.encode(),
    b'{"onetake_usage": 1, "at": "%s", "cassettes": {"a": {"known": "no"}}}' % AT.encode(),
    b'{"onetake_usage": 1, "at": "%s", "cassettes": {}, "more": 1}' % AT.encode(),
]


@pytest.mark.parametrize("data", DAMAGED)
def test_a_ledger_that_is_damaged_or_of_another_version_says_nothing(tmp_path, data):
    (tmp_path / "a.json").write_bytes(data)
    assert read_run(tmp_path / "a.json") is None
    assert read_run(tmp_path / "none.json") is None


def test_what_counts_is_whole_and_green():
    assert (run_of().counts, UsageRun(AT, why="a worker crashed").counts) == (True, False)


def test_a_ledger_that_is_not_written_leaves_nothing_behind(tmp_path):
    write_run(tmp_path, run_of())
    blocked = tmp_path / "blocked"
    (blocked / ".onetake").mkdir(parents=True)
    (blocked / ".onetake" / "usage").touch()
    with pytest.raises(OSError):
        write_run(blocked, run_of())
    assert sorted(path.name for path in (blocked / ".onetake").iterdir()) == [".gitignore", "usage"]


def test_used_goes_through_plain_types(tmp_path):
    one = Used(tmp_path, tmp_path / "tape", frozenset({A, C}), known=False)
    assert used_of(json.loads(json.dumps(one.as_plain()))) == one


def test_the_entries_of_a_store_that_is_one_file_are_listed_as_those_of_a_folder(tmp_path):
    with closing(SqliteStore(tmp_path / "calls.db")) as store:
        store.add("a" * 64, 0, b"{}", "chat-m")
        store.add("a" * 64, 1, b"{}")
    assert entries_in(tmp_path / "calls.db") == {
        ("a" * 16, 0): f"chat-m-{'a' * 16}.json",
        ("a" * 16, 1): f"{'a' * 16}-1.json",
    }
    (tmp_path / "other.db").write_bytes(b"a text")
    assert entries_in(tmp_path / "other.db") == {}


def test_batches_keep_replies_in_a_file_and_where_their_ledger_lies(tmp_path):
    (tmp_path / "calls").mkdir()
    assert holds_replies(tmp_path / "calls.db")
    assert not holds_replies(tmp_path / "calls")
    (tmp_path / ".onetake" / "batch").mkdir(parents=True)
    (tmp_path / ".onetake" / "batch" / "calls.intents.db").touch()
    assert holds_replies(tmp_path / "calls")
