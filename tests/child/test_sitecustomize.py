"""How a Python that is started joins the session of the process that started it, or ends."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import onetake
from onetake import settings_start
from onetake.starting import HOOK, VARIABLE


@pytest.fixture
def cassette(tmp_path):
    """A cassette's folder in a project of its own."""
    (tmp_path / "onetake.toml").touch()
    before = settings_start.set_start(tmp_path)
    yield tmp_path / "c"
    settings_start.set_start(before)


@pytest.fixture
def too_old(tmp_path):
    """An environment in which a Python finds a onetake that it cannot load."""
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "onetake.py").write_text("raise ImportError('needs Python 3.11')\n")
    return {**os.environ, "PYTHONPATH": str(tmp_path / "old")}


def start(env):
    done = subprocess.run([sys.executable, "-c", "print('ran')"], env=env, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_a_python_that_cannot_load_onetake_ends_under_a_sealed_session(cassette, too_old):
    with onetake.use_cassette(cassette, mode="none"):
        code, out, err = start(too_old)
    assert (code, out) == (2, "")
    assert err == f"onetake: {sys.executable} cannot load onetake, and its session never goes live: needs Python 3.11\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell closes the stream here")
def test_it_ends_where_nobody_can_be_told_so_too(cassette, too_old):
    line = ["sh", "-c", 'exec "$0" -c "print(1)" 2>&-', sys.executable]
    with onetake.use_cassette(cassette, mode="none"):
        done = subprocess.run(line, env=too_old, stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("stream", ["sys.stderr", "None"])
def test_a_python_that_the_environment_names_a_session_to_ends_where_onetake_cannot_be_loaded(stream):
    pth = Path(onetake.__file__).parents[1] / "onetake.pth"
    code = "import os, sys; os.environ['ONETAKE_CASSETTE'] = 'c'; sys.modules['onetake.installing'] = None\n"
    code += f"sys.stderr = {stream}\nexec(open({str(pth)!r}).read())\nprint('ran')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert ("onetake: it cannot be loaded" in done.stderr) is (stream != "None")


@pytest.mark.parametrize("mode", ["once", "new_episodes", "all"])
def test_a_python_that_cannot_load_onetake_says_so_and_runs_where_calls_may_go_out(cassette, too_old, mode):
    with onetake.use_cassette(cassette, mode=mode):
        code, out, err = start(too_old)
    assert (code, out) == (0, "ran\n")
    assert err == f"onetake: {sys.executable} cannot load onetake, its calls are not intercepted: needs Python 3.11\n"


@pytest.mark.parametrize(
    ("seed", "code"), [("{", 2), ("[]", 2), ("{}", 2), ('{"mode": "none"}', 2), ('{"mode": "once"}', 0), ("", 0)]
)
def test_a_seed_that_says_nothing_is_not_taken_for_a_session_that_may_go_out(too_old, seed, code):
    # Past the doors of this process, which hand on its own session, and that is none.
    between = (
        "import os, sys\n"
        f"os.environ.update({{{VARIABLE!r}: {seed!r}, 'PYTHONPATH': {HOOK + os.pathsep + too_old['PYTHONPATH']!r}}})\n"
        "os.execv(sys.executable, [sys.executable, '-c', 'print(\"ran\")'])"
    )
    done = subprocess.run([sys.executable, "-c", between], env=too_old, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, "" if code else "ran\n"), done.stderr
    assert ("cannot load onetake" in done.stderr) is (seed != "")


def test_an_older_python_can_read_it():
    # What it says to one that is older than onetake, it has to say in words that that one knows.
    ast.parse(Path(HOOK, "sitecustomize.py").read_bytes(), feature_version=(3, 5))


def test_the_start_up_hook_runs_the_sitecustomize_that_it_stands_in_front_of(cassette, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("import sys\nsys.here = 'mine'\n")
    code = (
        "import sys, sitecustomize\n"
        "print(sys.here, sitecustomize.__file__, 'onetake.inherited' in sys.modules, sys.path)"
    )
    with onetake.use_cassette(cassette, mode="none"):
        env = {"PYTHONPATH": str(tmp_path / "mine")}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.split()[:3] == ["mine", str(tmp_path / "mine" / "sitecustomize.py"), "True"], done.stderr
    assert HOOK not in done.stdout


def test_a_python_without_onetake_loads_it_from_beside_the_hook(cassette, tmp_path):
    code = "import sys; print('onetake.inherited' in sys.modules)"
    with onetake.use_cassette(cassette, mode="none"):
        # The interpreter that the virtual environment is made of has no onetake.
        bare = [os.path.realpath(sys.executable), "-c"]
        assert subprocess.run([*bare, "import onetake"], env={}, cwd=tmp_path).returncode == 0
        done = subprocess.run([*bare, code], capture_output=True, text=True, cwd=tmp_path)
    assert subprocess.run([*bare, "import onetake"], env={}, cwd=tmp_path, stderr=-3).returncode == 1
    assert done.stdout == "True\n", done.stderr


def test_a_session_that_cannot_be_opened_ends_the_child_before_it_does_anything(cassette):
    with onetake.use_cassette(cassette, mode="none"):
        cassette.with_name("onetake.toml").write_text("unknown = 1\n")
        done = subprocess.run([sys.executable, "-c", "print('ran')"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be opened" in done.stderr
    assert "unknown" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a POSIX shell")
@pytest.mark.parametrize("flags", ["", "-E", pytest.param("-I", marks=pytest.mark.whole)])
def test_a_python_whose_path_is_set_past_the_doors_joins_by_the_pth_file_and_once(cassette, tmp_path, flags):
    code = "import sys, onetake.active as a; print(len(a._open), a.bound() is a._open[0])"
    with onetake.use_cassette(cassette, mode="none"):
        shell = f"PYTHONPATH={tmp_path} exec {sys.executable} {flags} -c '{code}'"
        done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1 True\n"), done.stderr


def test_a_python_that_finds_both_hooks_joins_once(cassette):
    code = "import sys, onetake.active as a; print(len(a._open), sys.modules['sitecustomize'].__file__)"
    with onetake.use_cassette(cassette, mode="none"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split()[0] == "1", done.stderr
    assert HOOK in done.stdout or "sitecustomize" in done.stdout
