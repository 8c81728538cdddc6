"""`onetake prune`: what it says, what it does, and when it does nothing."""

from __future__ import annotations

import errno
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from onetake.cli.prune import _age
from onetake.errors import UsageError
from onetake.project_files import digest
from onetake.stores.naming import parse_name
from onetake.usage import CassetteUsage, UsageRun, write_run


@pytest.fixture
def ran(project):
    """Put a run of tests on record: the files that it left without use, and why it is no proof."""

    def ran(*unused, why="", used=()):
        slots = [frozenset(parse_name(path.name) for path in paths) for paths in (used, unused)]
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        write_run(
            project, UsageRun(at, files=digest(project), why=why, cassettes={"cassettes/a": CassetteUsage(*slots)})
        )

    return ran


@pytest.fixture
def two(store, make_entry):
    """The files of two entries."""
    return store(make_entry("one"), make_entry("two"))


def test_without_yes_it_says_what_it_would_do(run, two, ran):
    ran(two[0])
    code, out, err = run("prune", "--orphans")
    assert (code, err) == (0, "")
    assert "orphan: 1 file, " in out
    assert f"cassettes/a/{two[0].name}" in out
    assert "did not use it" in out
    assert out.rstrip().split("\n")[-1].endswith("to the trash: --yes does it")
    assert two[0].is_file()


def test_with_yes_it_moves_to_the_trash_and_empty_clears_that(project, run, two, ran):
    ran(two[0])
    code, out, _ = run("prune", "--orphans", "--yes")
    assert (code, two[0].exists(), two[1].exists()) == (0, False, True)
    assert "moved 1 file, 1.1 kB to the trash\n" in out
    assert "in the trash: 1 file, 1.1 kB" in run("prune")[1]
    assert "would remove 1 file, 1.1 kB from the trash for good" in run("prune", "--empty")[1]
    kept = project / ".onetake" / "trash" / "cassettes" / "a" / two[0].name
    assert kept.is_file()
    assert "removed 1 file, 1.1 kB from the trash for good" in run("prune", "--empty", "--yes")[1]
    assert not kept.exists()


@pytest.mark.parametrize("options", [("--orphans",), ("--orphans", "--yes"), ("--superseded", "--rejects", "--yes")])
def test_without_evidence_nothing_is_touched(run, two, ran, options):
    code, out, _ = run("prune", *options)
    assert code == 4
    assert "cannot be told in .: no run of tests is on record: run all tests, without selecting any" in out.replace(
        "in " + str(two[0].parents[2]), "in ."
    )
    assert out.endswith("nothing was touched\n")
    ran(two[0], why="not all tests passed")
    code, out, _ = run("prune", *options, "--json")
    said = json.loads(out)
    assert (code, said["done"], said["files"], len(said["unproved"])) == (4, False, [], 1)
    assert "not all tests passed" in said["unproved"][0]["why"]
    assert two[0].is_file()


def test_json_names_every_file_its_reasons_and_what_stays(run, two, ran, project):
    (project / "onetake.toml").write_text(f'pinned = ["{parse_name(two[1].name)[0]}", "none/such"]')
    ran(*two)
    said = json.loads(run("prune", "--orphans", "--older-than", "1d", "--json")[1])
    (file,) = said["files"]
    assert (file["path"], file["size"]) == (f"cassettes/a/{two[0].name}", two[0].stat().st_size)
    assert list(file["reasons"]) == ["orphan", "older-than"]
    assert said["total"] == {"files": 1, "bytes": file["size"]}
    assert [one["path"] for one in said["left"]] == [f"cassettes/a/{two[1].name}"]
    assert said["left"][0]["why"].startswith("pinned by the settings")
    assert (said["unmatched_pins"], said["limit"], said["in_trash"]) == (["none/such"], None, {"files": 0, "bytes": 0})
    assert (said["done"], said["busy"]) == (False, [])
    (project / "onetake.toml").write_text(f'pinned = ["{parse_name(two[1].name)[0]}"]')
    done = json.loads(run("prune", "--orphans", "--yes", "--json")[1])
    assert (done["done"], [one["path"] for one in done["files"]]) == (True, [f"cassettes/a/{two[0].name}"])


@pytest.mark.parametrize("reason", ["--orphans", "--stale", "--rejects", "--sidecars", "--empty", "--max-bytes=1B"])
def test_a_pin_that_names_no_entry_stops_it(run, two, ran, project, reason):
    (project / "onetake.toml").write_text('pinned = ["cassettes/typo"]')
    ran(*two)
    for place in ("rejects", "trash"):
        (project / ".onetake" / place / "cassettes/a").mkdir(parents=True)
        shutil.copy(two[0], project / ".onetake" / place / "cassettes/a")
    before = sorted(path for path in project.rglob("*.json"))
    assert run("prune", "--orphans")[0] == 0, "to look is no harm"
    code, out, _ = run("prune", reason, "--yes")
    assert (code, out.splitlines()[-1]) == (4, "nothing was touched")
    assert "and no entry: 'cassettes/typo'" in out
    assert json.loads(run("prune", reason, "--yes", "--json")[1])["files"] == []
    assert sorted(path for path in project.rglob("*.json")) == before


def test_a_reject_that_was_pinned_stays(run, project, two):
    place = project / ".onetake/rejects/cassettes/a"
    place.mkdir(parents=True)
    rejects = [Path(shutil.copy(path, place)) for path in two]
    assert run("pin", rejects[0], "--reason", "for a talk")[0] == 0
    for options in (("--rejects",), ("--max-bytes", "1B")):
        out = run("prune", *options, "--yes")[1]
        assert ("pinned: for a talk" in out, rejects[0].is_file(), rejects[1].is_file()) == (True, True, False)
    assert run("pin", rejects[0], "--remove")[0] == 0
    assert run("prune", "--rejects", "--yes")[0] == 0
    assert not rejects[0].exists()


def test_what_is_in_the_trash_is_told_as_it_is_then_with_the_command_that_empties_it(run, two, ran):
    ran(two[0])
    run("prune", "--orphans", "--yes")
    ran(two[1])
    out = run("prune", "--orphans", "--yes")[1]
    assert "moved 1 file, 1.1 kB to the trash\nin the trash: 2 files, 2.3 kB; " in out
    assert out.endswith("`onetake prune --empty --yes` removes them for good\n")
    command = run("prune", "cassettes/a")[1].split("`")[1]
    assert command == "onetake prune cassettes/a --empty --yes"
    assert "removed 2 files, 2.3 kB from the trash for good\n" in run(*command.split()[1:])[1]
    assert "in the trash" not in run("prune")[1]


@pytest.mark.parametrize("place", [".onetake", ".onetake/pending/cassettes/a", "link"])
@pytest.mark.parametrize("command", ["prune", "status", "check", "rekey", "adopt"])
def test_what_is_no_cassette_is_no_place_to_look(run, project, two, place, command):
    (project / ".onetake/pending/cassettes/a").mkdir(parents=True)
    (project / "link").symlink_to(project / ".onetake", target_is_directory=True)
    said = f"onetake: {place}: what lies under .onetake/ is part of no cassette: name the folder of one\n"
    assert run(command, place)[::2] == (2, said)


def test_br_147_a_full_disk_is_told_with_the_place_and_nothing_is_lost(run, two, ran, monkeypatch):
    ran(*two)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("write", "place"):
        monkeypatch.setattr(f"onetake.stores.files.{name}", full)
    code, _, err = run("prune", "--orphans", "--yes")
    assert (code, err) == (5, "onetake: .onetake/trash/cassettes/a: No space left on device\n")
    assert two[0].is_file()


def test_a_name_forges_no_line_of_a_report(run, store, make_entry):
    (path,) = store(make_entry("one"))
    path.with_name(f"x\n1 entry checked: 0 errors\n-{'e' * 16}.json").write_text("{}")
    for command in ("check", "status", "list", "prune", "rekey"):
        assert "1 entry checked: 0 errors" not in run(command)[1].splitlines()


def test_without_a_reason_it_shows_each_and_does_nothing(run, two, ran):
    code, out, _ = run("prune")
    assert (code, out.split("\n")[0].startswith("which entries are unused cannot be told in ")) == (0, True)
    assert out.endswith("nothing to prune\n")
    ran(*two)
    code, out, _ = run("prune")
    assert (code, "orphan: 2 files" in out) == (0, True)
    assert out.rstrip().endswith("name the reasons that are to count, and --yes")
    code, _, err = run("prune", "--yes")
    assert (code, err.split(":")[1]) == (2, " --yes needs a reason")
    assert two[0].is_file()


def test_a_limit_that_is_not_reached_says_so(run, two, ran):
    ran(two[0], used=[two[1]])
    size = two[1].stat().st_size
    code, out, _ = run("prune", "--max-bytes", str(size), "--yes")
    assert (code, two[0].exists()) == (0, False)
    code, out, _ = run("prune", "--max-bytes", "1B")
    assert code == 4
    assert "1.1 kB more than 1 B are kept" in out
    said = json.loads(run("prune", "--max-bytes", "1B", "--json")[1])["limit"]
    assert (said["bytes"], said["over"]) == (1, size - 1)


def test_nothing_of_a_file_reaches_a_terminal_as_a_control_sequence(run, store, make_entry, ran, project):
    (path,) = store(
        make_entry("one", provenance={"recorded_at": "2026-01-01T00:00:00Z", "pinned": {"reason": "\x1b[2J"}})
    )
    (project / "onetake.toml").write_text('pinned = ["\\u001b[2J"]')
    ran(path)
    _, out, _ = run("prune", "--orphans")
    assert "pinned" in out
    assert "\x1b" not in out


def test_many_files_are_counted_and_not_all_are_listed(run, store, make_entry, ran):
    ran(*store(*(make_entry(f"n {number}") for number in range(25))))
    _, out, _ = run("prune", "--orphans")
    assert "orphan: 25 files" in out
    assert "and 5 more: --json names all" in out
    assert out.count("cassettes/a/") == 20


@pytest.mark.parametrize(
    ("word", "hours"),
    [("36h", 36), ("90d", 2160), ("12w", 2016), (" 1d ", 24), ("0d", 0), ("00001h", 1), ("99999w", 16_799_832)],
)
def test_ages(word, hours):
    assert _age(word).total_seconds() == hours * 3600


@pytest.mark.parametrize("word", ["", "90", "d", "-1d", "1.5d", "90 days", "1m", "100000d", "٩d"])
def test_what_is_no_age(word):
    with pytest.raises(UsageError, match="--older-than"):
        _age(word)
