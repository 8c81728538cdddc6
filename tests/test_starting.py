"""The doors by which a program starts other processes, and what they hand on."""

from __future__ import annotations

import ntpath
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import onetake
from onetake import starting
from onetake.starting import HOOK, VARIABLE, python_path, with_seed

SEP = os.pathsep


@pytest.mark.parametrize(
    ("path", "hooked", "unhooked"),
    [
        ("", HOOK, ""),
        ("mine", f"{HOOK}{SEP}mine", "mine"),
        (HOOK, HOOK, ""),
        (f"mine{SEP}{HOOK}{SEP}other", f"{HOOK}{SEP}mine{SEP}other", f"mine{SEP}other"),
        (f"{SEP}mine{SEP}", f"{HOOK}{SEP}{SEP}mine{SEP}", f"{SEP}mine{SEP}"),
    ],
)
def test_the_hook_is_first_and_once_or_not_there_and_the_rest_stays(path, hooked, unhooked):
    assert python_path(path, hooked=True) == hooked
    assert python_path(path, hooked=False) == unhooked


@pytest.mark.parametrize(
    ("env", "seed", "carried"),
    [
        ({}, "", {}),
        ({}, "{}", {VARIABLE: "{}", "PYTHONPATH": HOOK}),
        ({"A": "1", VARIABLE: "old"}, "{}", {"A": "1", VARIABLE: "{}", "PYTHONPATH": HOOK}),
        ({"PYTHONPATH": "mine"}, "{}", {VARIABLE: "{}", "PYTHONPATH": f"{HOOK}{SEP}mine"}),
        ({VARIABLE: "old", "PYTHONPATH": HOOK}, "", {"PYTHONPATH": ""}),
        ({b"PYTHONPATH": b"mine", b"A": b"1"}, "{}", {b"A": b"1", VARIABLE: "{}", "PYTHONPATH": f"{HOOK}{SEP}mine"}),
        ({b"ONETAKE_SESSION": b"old"}, "", {}),
    ],
)
def test_an_environment_gets_the_seed_or_loses_it(env, seed, carried):
    before = dict(env)
    assert with_seed(env, seed) == carried
    assert env == before


@pytest.mark.parametrize("name", ["PYTHONPATH", "PythonPath", "pythonpath"])
def test_where_names_have_no_case_there_is_one_path(monkeypatch, name):
    monkeypatch.setattr(os.path, "normcase", ntpath.normcase)
    found = with_seed({name: "mine", "onetake_session": "old"}, "{}")
    assert found == {VARIABLE: "{}", "PYTHONPATH": f"{HOOK}{SEP}mine"}


def test_where_names_have_case_another_variable_is_left_alone(monkeypatch):
    monkeypatch.setattr(os.path, "normcase", lambda name: name)
    assert with_seed({"PythonPath": "theirs"}, "{}") == {
        "PythonPath": "theirs",
        VARIABLE: "{}",
        "PYTHONPATH": HOOK,
    }


def test_without_a_seed_nothing_of_ours_is_sent_to_a_child():
    assert b"onetake.starting" not in pickle.dumps(starting._Seed(""))
    assert b"onetake.starting" in pickle.dumps(starting._Seed("{}"))


_SPAWN = """
import multiprocessing, sys
sys.path.insert(0, SOURCE)


def job():
    print("ran", "onetake" in sys.modules, flush=True)


if __name__ == "__main__":
    import onetake

    with onetake.use_cassette("c", mode="off"):
        pass
    process = multiprocessing.get_context(METHOD).Process(target=job)
    process.start()
    process.join()
    print(process.exitcode)
"""


@pytest.mark.parametrize("method", ["spawn", pytest.param("forkserver", marks=pytest.mark.slow)])
def test_after_a_session_a_child_need_not_be_able_to_import_onetake(tmp_path, method):
    if method == "forkserver" and not hasattr(os, "fork"):
        pytest.skip("needs fork")
    (tmp_path / "onetake.toml").touch()
    source = str(Path(onetake.__file__).parents[1])
    program = tmp_path / "program.py"
    program.write_text(_SPAWN.replace("SOURCE", repr(source)).replace("METHOD", repr(method)))
    # The interpreter that the virtual environment is made of has no onetake; it gets one at run time only.
    bare = [os.path.realpath(sys.executable), str(program)]
    env = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "PYTHONPATH")}
    done = subprocess.run(bare, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "ran False\n0\n", done.stderr
