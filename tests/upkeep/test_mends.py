"""What to do about a finding is a command that can be run."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import click
import pytest

from onetake.cli import commands
from onetake.format import load_entry
from onetake.model import Mode
from onetake.upkeep import mends


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("tests/test_a.py::Class::test_b[x y]", 'pytest --record-mode=all "tests/test_a.py::Class::test_b[x y]"'),
        ("tests/conftest.py::client", "pytest --record-mode=all tests"),
        ("tests/test_a.py::client", "pytest --record-mode=all tests/test_a.py"),
        (None, 'record it again: `onetake run --mode all -- PROGRAM`, or mode="all" in the code'),
        (["no", "text"], 'record it again: `onetake run --mode all -- PROGRAM`, or mode="all" in the code'),
    ],
)
def test_who_recorded_an_entry_records_it_again(folder, test, said):
    (path,) = folder.record()
    entry = replace(load_entry(path.read_bytes(), lambda name: None), provenance={"test": test})
    assert mends.record_again(entry, Mode.ALL, path) == said


def test_one_command_records_what_several_tests_missed():
    tests = [(f"t.py::test_{name}", Path("cassettes")) for name in "abcdefg"]
    again = "pytest --record-mode=new_episodes t.py::test_a t.py::test_b"
    assert mends.record_all([*tests[:2], tests[0]], Mode.NEW_EPISODES) == again
    assert isinstance(mends.record_all(tests[:2], Mode.NEW_EPISODES), mends.Command)
    assert mends.record_all(tests[:1], Mode.ALL) == "pytest --record-mode=all t.py::test_a"
    every = mends.record_all(tests, Mode.NEW_EPISODES)
    assert shlex.split(every)[2:] == [test for test, _ in tests]
    assert isinstance(every, mends.Command)
    many = [(f"t.py::test_{number:02}", Path("cassettes")) for number in range(23)]
    _, command, rest = mends.record_all(many, Mode.NEW_EPISODES).split("`")
    assert shlex.split(command)[2:] == [test for test, _ in many[:20]]
    assert rest == ", then the same for 3 more"
    assert mends.record_all([], Mode.ALL).startswith("record it again: `onetake run --mode all")


@pytest.mark.parametrize(
    ("here", "test", "asked"),
    [
        ("app", "tests/test_a.py::test_b[x]", "tests/test_a.py::test_b[x]"),
        ("app/tests", "tests/test_a.py::test_b", "test_a.py::test_b"),
        ("app/tests/cassettes", "tests/test_a.py::test_b", "../test_a.py::test_b"),
        ("", "tests/test_a.py::test_b", "app/tests/test_a.py::test_b"),  # several projects in one repository
        ("other", "tests/test_a.py::test_b", "../app/tests/test_a.py::test_b"),
        ("app/tests", "app/tests/test_a.py::test_b", "test_a.py::test_b"),  # it ran above the settings' folder
        ("app/tests", "tests/conftest.py::client", "."),
        ("app", "tests/conftest.py::client", "tests"),
        ("app/tests", "tests/test_gone.py::test_b", "tests/test_gone.py::test_b"),
    ],
)
def test_a_command_names_a_test_from_the_current_folder(tmp_path, monkeypatch, here, test, asked):
    entry = tmp_path / "app/tests/cassettes/test_a/test_b/x.json"
    entry.parent.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for name in ("test_a.py", "conftest.py"):
        (tmp_path / "app/tests" / name).write_text("")
    monkeypatch.chdir(tmp_path / here)
    said = mends.record_by(test, Mode.ALL, entry)
    assert shlex.split(said) == ["pytest", "--record-mode=all", asked]
    assert mends.record_all([(test, entry.parent)] * 2, Mode.ALL) == said


def test_paths_are_quoted_for_a_shell_and_told_from_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mends.show(tmp_path / "x.json") == "onetake show x.json"
    assert mends.show(Path("a b/x.json")) == 'onetake show "a b/x.json"'
    assert mends.diff(Path("x.json"), Path("a b/y.json")) == 'onetake diff x.json "a b/y.json"'


def test_the_commands_of_upkeep_name_what_they_are_about(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mends.check(tmp_path / "a") == "onetake check a"
    assert mends.rekey(Path("a b")) == 'onetake rekey "a b"'
    assert mends.adopt(Path("a")) == "onetake adopt a"
    assert mends.prune(Path("a")) == "onetake prune a"
    assert mends.prune(Path("a"), "--orphans") == "onetake prune a --orphans"
    assert mends.told(mends.rekey(Path("a"))) == "onetake rekey a\n(it shows what it would do; --yes does it)"
    assert mends.told(mends.prune(Path("a"), "--sidecars --yes")) == "onetake prune a --sidecars --yes"
    assert mends.vouch(Path("a/x.json"), importing=False).startswith("onetake vouch a/x.json --reason ")
    assert mends.vouch(Path("a/x.json"), importing=True).startswith("onetake vouch a/x.json --import --reason ")
    assert mends.freeze("a b") == 'onetake contract freeze "a b"'


@pytest.mark.parametrize(
    "mend",
    [
        mends.show(Path("x")),
        mends.check(Path("x")),
        mends.diff(Path("x"), Path("y")),
        mends.rekey(Path("x")),
        mends.adopt(Path("x")),
        mends.prune(Path("x"), "--orphans"),
        mends.prune(Path("x"), "--superseded"),
        mends.vouch(Path("x"), importing=False),
        mends.vouch(Path("x"), importing=True),
        mends.freeze("x"),
        mends.record_by(None, Mode.ALL, Path("x")),
    ],
)
def test_every_command_that_a_mend_names_exists_and_takes_it(mend):
    line = shlex.split(mend[mend.index("onetake ") :].partition("`")[0])[1:]
    command, words = commands, line
    while isinstance(command, click.Group) and words:
        _, command, words = command.resolve_command(click.Context(command), words)
    assert command.make_context("onetake", list(words), resilient_parsing=False) is not None


def test_a_folder_that_is_called_as_an_option_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mends.rekey(Path("--yes")) == "onetake rekey ./--yes"
    assert mends.diff(Path("-x/a.json"), Path("-x/b.json")) == "onetake diff ./-x/a.json ./-x/b.json"
