"""The usage ledger: what it keeps, and what it proves."""

from __future__ import annotations

import json

import pytest

from onetake import usage
from onetake.usage import CassetteUsage, UsageRun, Used, read_run, unused_of, used_of, write_run

A, B, C = (("a" * 16, 0), ("b" * 16, 0), ("c" * 16, 3))
AT = "2026-11-30T10:00:00Z"


def folder_with(root, place, *slots):
    """Make a cassette of empty entries: only their names count here."""
    folder = root / place
    folder.mkdir(parents=True, exist_ok=True)
    for key, ordinal in slots:
        (folder / f"chat-{key}{f'-{ordinal}' if ordinal else ''}.json").touch()
    return folder


def run_of(place="tape", used=(), unused=(), *, why="", known=True):
    return UsageRun(AT, why=why, cassettes={place: CassetteUsage(frozenset(used), frozenset(unused), known)})


def test_what_is_written_is_read_and_git_does_not_see_it(tmp_path):
    cassettes = {"b/ü": CassetteUsage(frozenset({A, C}), frozenset({B})), "a": CassetteUsage(known=False)}
    run = UsageRun(AT, "c0ffee", True, "not all tests passed", cassettes)
    path = write_run(tmp_path, run)
    assert read_run(path) == run
    assert not run.counts
    assert json.loads(path.read_bytes()) == {
        "onetake_usage": 1,
        "at": AT,
        "commit": "c0ffee",
        "dirty": True,
        "why": "not all tests passed",
        "cassettes": {"a": {"known": False}, "b/ü": {"used": [[*A], [*C]], "unused": [[*B]]}},
    }
    assert (tmp_path / ".onetake" / ".gitignore").read_bytes() == b"*\n"
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_old_runs_go(tmp_path):
    written = [write_run(tmp_path, run_of(used=[A])) for _ in range(33)]
    assert sorted(written[-30:]) == sorted((tmp_path / ".onetake" / "usage").iterdir())


def test_a_whole_run_proves_what_it_left(tmp_path):
    folder_with(tmp_path, "tape", A, B, C)
    run = run_of(used=[A], unused=[B, C])
    write_run(tmp_path, run_of(used=[A], unused=[A, B, C]))
    write_run(tmp_path, run)
    evidence = unused_of(tmp_path)
    assert (evidence.run, evidence.unused, evidence.why) == (run, {"tape": {B, C}}, "")


@pytest.mark.parametrize(
    ("later", "left"),
    [
        (run_of(used=[B], why="tests were selected (-k)"), {"tape": {C}}),
        (run_of(used=[B, C], why="not all tests passed"), {}),
        (run_of(place="other", used=[B], why="not all tests passed"), {"tape": {B, C}}),
        (run_of(known=False, why="tests were selected (-k)"), {}),
    ],
)
def test_a_later_run_of_any_kind_takes_back_what_it_used(tmp_path, later, left):
    folder_with(tmp_path, "tape", A, B, C)
    write_run(tmp_path, run_of(used=[A], unused=[B, C]))
    write_run(tmp_path, later)
    assert unused_of(tmp_path).unused == left


def test_what_is_gone_is_not_named(tmp_path):
    folder = folder_with(tmp_path, "tape", A, B)
    write_run(tmp_path, run_of(unused=[A, B]))
    next(folder.glob("*bbbb*")).unlink()
    assert unused_of(tmp_path).unused == {"tape": {A}}
    next(folder.glob("*aaaa*")).unlink()
    assert unused_of(tmp_path).unused == {}


def test_a_cassette_outside_of_the_settings_folder_has_its_full_path(tmp_path):
    folder = folder_with(tmp_path, "elsewhere/tape", A)
    write_run(tmp_path / "root", run_of(str(folder), unused=[A]))
    assert unused_of(tmp_path / "root").unused == {str(folder): {A}}


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"onetake_usage": 2, "at": "x", "cassettes": {}}', b"\xff", b"1"])
def test_a_later_ledger_that_cannot_be_read_may_tell_of_a_use(tmp_path, data):
    folder_with(tmp_path, "tape", A)
    damaged = write_run(tmp_path, run_of(unused=[A], why="not all tests passed"))
    damaged.write_bytes(data)
    write_run(tmp_path, run_of(unused=[A]))
    assert unused_of(tmp_path).unused == {"tape": {A}}, "an earlier one cannot"
    later = write_run(tmp_path, run_of(why="not all tests passed"))
    later.write_bytes(data)
    evidence = unused_of(tmp_path)
    assert (evidence.run, evidence.unused) == (None, {})
    assert evidence.why.startswith(f".onetake/usage/{later.name} cannot be read")


def test_without_a_whole_run_nothing_is_proved(tmp_path):
    assert "run pytest without selecting tests" in unused_of(tmp_path).why
    write_run(tmp_path, run_of(used=[A], why="a worker crashed"))
    assert unused_of(tmp_path).run is None


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


def test_who_began_last_hears(tmp_path):
    one = Used(tmp_path, tmp_path / "tape", frozenset(), known=True)
    before = usage.is_heard()
    outer, inner = usage.listen(), usage.listen()
    try:
        usage.tell(one)
        usage.stop_listening(inner)
        usage.tell(one)
        usage.tell(one)
    finally:
        usage.stop_listening(outer)
    assert (len(inner), len(outer)) == (1, 2)
    assert usage.is_heard() == before
