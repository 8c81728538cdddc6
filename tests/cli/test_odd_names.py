"""Names that cannot be seen whole on a screen: what is told of them names them, and what is to be run can be run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ODD = "\u202e\u200b\ufeff"
SPELLED = r"\u202e\u200b\ufeff"


@pytest.fixture
def odd(store, make_entry, project):
    """Two entries of one request, with other answers, in a folder and files whose names hold what nobody sees."""
    first, second = store(
        make_entry(contract=None), make_entry(said="No.", ordinal=1, contract=None), folder=f"c{ODD}s"
    )
    found = [path.rename(path.with_name(f"x{ODD}-{path.name[-23:]}")) for path in (first, second)]
    broken = found[0].with_name(f"y{ODD}-{'0' * 16}.json")
    broken.write_text("{")
    (project / "onetake.toml").write_text('repeats = "same"\n')
    return [*found, broken]


def paths_in(value, names=("path", "a", "b", "new_path", "cassette")):
    """Yield the paths of a JSON document."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name in names and isinstance(member, str):
                yield member
            yield from paths_in(member, names)
    elif isinstance(value, list):
        for member in value:
            yield from paths_in(member, names)


LINES = {
    "list": ("list",),
    "show": ("show", "0"),
    "diff": ("diff", "0", "1"),
    "status": ("status",),
    "check": ("check",),
    "pin": ("pin", "0"),
    "vouch": ("vouch", "0", "1", "--reason", "read"),
    "rekey": ("rekey",),
    "prune": ("prune", "--older-than", "1d"),
}


@pytest.mark.parametrize("name", LINES)
def test_the_name_is_told_whole_and_in_json_it_is_the_name(odd, run, name):
    words = [str(odd[int(word)]) if word.isdigit() else word for word in LINES[name]]
    out = run(*words)[1]
    assert not set(out) & set(ODD)
    assert SPELLED in out
    document = run(*words, "--json")[1]
    assert document.isascii()
    found = set(paths_in(json.loads(document)))
    named = [path for path in found if path.endswith(".json")]
    assert named
    assert all(ODD in path and Path(path).exists() for path in named)


def test_an_error_tells_the_name_whole(odd, run):
    assert SPELLED in run("show", odd[2])[2]
    assert SPELLED in run("show", odd[2].with_name(f"z{ODD}.json"))[2]


def commands_in(document):
    """Return the commands that the findings of a check tell."""
    told = (one["mend"] for one in json.loads(document)["findings"])
    return {line.split(";")[0].strip("`") for line in told if line.startswith("onetake ")}


@pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="needs bash")
def test_a_command_that_is_told_runs_in_a_shell(odd, run, project):
    told = commands_in(run("check", "--json")[1])
    assert {line.split()[1] for line in told} >= {"diff"}
    text = run("check")[1]
    for line in told:
        assert line in text
        script = f'onetake() {{ {sys.executable} -m onetake "$@"; }}; {line}'
        done = subprocess.run(["bash", "-c", script], cwd=project, capture_output=True, timeout=60)
        assert (done.returncode, done.stderr) == (1, b"")
        assert SPELLED.encode() in done.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_review_tells_the_name_whole(odd, run):
    subprocess.run(["git", "init", "-q"], check=True)
    assert SPELLED in run("review", "--list")[1]
    document = json.loads(run("review", "--list", "--json")[1])
    assert {change["path"] for change in document["changes"]} >= {Path(*one.parts[-2:]).as_posix() for one in odd[:2]}


def test_what_an_entry_says_shows_what_nobody_sees(run, store, make_entry):
    (path,) = store(make_entry(asked=f"a{ODD}b"))
    assert f"a{SPELLED}b" in run("show", path, "--request")[1]
