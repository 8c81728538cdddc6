"""A process that is killed between making a file and naming it: what it leaves is told, swept and never in the way."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from onetake.format import dump_entry

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="nobody knows there whether a process lives")

SECRET = "sk-proj-" + "a1B2c3D4" * 6
STOPPING = """
import sys
from onetake.stores import files

write = files.write

def stop(descriptor, data):
    write(descriptor, data)
    print("written", flush=True)
    sys.stdin.read()
    files.write = write

files.write = stop

from onetake.cli import commands

commands.main(sys.argv[1:])
"""


@pytest.fixture
def stopped(project):
    """Return a function that runs a command as far as its first file is whole under a temporary name: the process."""
    running = []

    def start(*words):
        command = [sys.executable, "-c", STOPPING, *map(str, words)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        running.append(subprocess.Popen(command, cwd=project, **pipes))
        assert running[-1].stdout.readline() == b"written\n"
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def entries(store, make_entry, project):
    """Two entries that today's rules give other keys."""
    found = store(make_entry("one", contract=None), make_entry("two", contract=None))
    (project / "onetake.toml").write_text('[key]\nignore = ["$.model"]\n')
    return found


def kill(process):
    process.kill()
    process.communicate()


def left_in(folder="cassettes/a"):
    return sorted(Path(folder).glob(".onetake-*"))


@pytest.fixture
def left(entries, stopped):
    """What a killed `rekey --yes` left."""
    kill(stopped("rekey", "--yes"))
    (found,) = left_in()
    assert all(map(Path.exists, entries))
    return found


def findings(run, *words):
    document = json.loads(run("check", "--json", *words)[1])
    return {(one["code"], one["path"]): one["mend"] for one in document["findings"] if one["code"] != "outdated-key"}


@pytest.mark.parametrize("command", ["rekey", "pin"])
def test_what_a_killed_process_left_is_told_until_the_command_that_mends_it_ran(entries, stopped, run, command):
    words = {"rekey": ("--yes",), "pin": entries[:1]}[command]
    kill(stopped(command, *words))
    (path,) = left_in()
    (mend,) = findings(run).values()
    assert findings(run) == {("unused-sidecar", path.as_posix()): mend}
    assert run("check")[0] == 1
    assert mend == "onetake prune cassettes/a --sidecars --yes"
    whole = path.read_bytes()
    assert path.as_posix() in run("prune", "cassettes/a")[1]
    assert left_in() == [path]
    code, out, _ = run(*mend.split()[1:])
    assert code == 0
    assert "moved 1 file" in out
    assert findings(run) == {}
    assert left_in() == []
    (trashed,) = Path(".onetake/trash/cassettes/a").iterdir()
    assert trashed.read_bytes() == whole
    assert run("prune", "--sidecars", "--yes")[:2] != (0, out)
    assert trashed.exists()


def test_the_secrets_in_it_are_told(entries, make_entry, run):
    (path := Path("cassettes/a/.onetake-0123456789abcdef.tmp")).write_bytes(
        dump_entry(make_entry(f"my key is {SECRET}", contract=None))[0]
    )
    found = findings(run)
    assert set(found) == {("unused-sidecar", path.as_posix()), ("secret", path.as_posix())}
    assert found["secret", path.as_posix()].endswith(f"then: {found['unused-sidecar', path.as_posix()]}")


def test_rekey_that_is_run_again_ends_what_it_began(left, run):
    assert run("rekey")[0] == 0
    assert left.exists(), "without --yes nothing is done"
    code, out, _ = run("rekey", "--yes")
    assert (code, left_in()) == (0, [])
    assert "2 of 2 entries re-keyed" in out


def test_rekey_sweeps_where_it_has_nothing_else_to_do_too(entries, run, stopped):
    assert run("rekey", "--yes")[0] == 0
    kill(stopped("pin", next(Path("cassettes/a").glob("*.json"))))
    assert left_in()
    assert "all have their keys of today" in run("rekey", "--yes")[1]
    assert left_in() == []


def test_whoever_writes_into_the_folder_sweeps_it(left, entries, store, make_entry):
    store(make_entry("three"))
    assert left_in() == []


@pytest.mark.parametrize("line", [("pin", "0"), ("rekey", "--yes"), ("store", "fsck", "--repair", "folder")])
def test_commands_that_change_the_folder_sweep_it(left, entries, run, line):
    words = [{"0": entries[0], "folder": "cassettes/a"}.get(word, word) for word in line]
    run(*words)
    assert left_in() == []


@pytest.mark.parametrize(
    "line", [("status",), ("list",), ("check",), ("prune",), ("rekey",), ("store", "stats", "cassettes/a")]
)
def test_what_only_looks_changes_nothing(left, run, line):
    run(*line)
    assert left_in() == [left]


def test_what_a_living_process_writes_is_left_to_it(entries, run, stopped, store, make_entry):
    process = stopped("pin", entries[0])
    (path,) = left_in()
    assert findings(run) == {}
    assert path.name not in run("prune")[1]
    for line in (("prune", "--sidecars", "--yes"), ("store", "fsck", "--repair", "cassettes/a"), ("pin", entries[1])):
        run(*line)
    store(make_entry("three", contract=None))
    assert left_in() == [path]
    _, err = process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert left_in() == []
    assert b"pinned" in entries[0].read_bytes()


def test_it_is_told_in_folders_without_entries_and_beside_the_settings(project, run):
    names = [".onetake-1.tmp", "empty/.onetake-2.tmp", "cassettes/_raw/.onetake-3.tmp"]
    for name in names:
        (path := project / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    found = findings(run)
    assert set(found) == {("unused-sidecar", name) for name in names[:2]}
    for mend in found.values():
        assert run(*mend.split()[1:])[0] == 0
    assert findings(run) == {}


def test_git_does_not_take_what_is_left_where_init_ran(left, run, project):
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    run("init")
    said = subprocess.run(["git", "status", "--porcelain", "-uall"], cwd=project, capture_output=True, text=True).stdout
    assert left.name not in said
    assert re.search(r"cassettes/a/\S+\.json", said)
