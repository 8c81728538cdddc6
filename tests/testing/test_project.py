"""The scenario helper."""

from __future__ import annotations

import subprocess

import pytest

from onetake.testing.project import Project


def test_these_files_this_command_then_these_files_and_this_output(tmp_path):
    project = Project(tmp_path / "new", {"sub/in.txt": "é\n", "app.py": "print(open('sub/in.txt', 'rb').read())"})
    project.write({"app.py": "import sys\nsys.stderr.write('told')\nopen('out.txt', 'w').write('x')\nsys.exit(3)\n"})
    done = project.python("app.py")
    assert (done.code, done.out, done.err) == (3, "", "told")
    assert project.files() == ["app.py", "out.txt", "sub/in.txt"]
    assert project.files("sub") == ["sub/in.txt"]
    assert project.files("nowhere") == []
    assert project.read("sub/in.txt") == "é\n"


def test_the_environment_is_a_persons_own(tmp_path, monkeypatch):
    for name in ("CI", "ONETAKE_MODE", "PYTEST_ADDOPTS", "CIRCLE", "PYTHONPATH"):
        monkeypatch.setenv(name, "outer")
    project = Project(tmp_path, {"app.py": "import os; print(sorted(os.environ.items()))"}, {"A": "1", "B": "1"})
    out = project.python("app.py", env={"B": "2", "ONETAKE_OWN": "c"}).out
    for name in ("'CI'", "ONETAKE_MODE", "PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "PYTEST_VERSION"):
        assert name not in out
    for item in ("('CIRCLE', 'outer')", "('PYTHONPATH', 'outer')", "('A', '1')", "('B', '2')", "'ONETAKE_OWN'"):
        assert item in out


def test_a_command_that_hangs_is_ended(tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        Project(tmp_path, {"app.py": "input() or __import__('threading').Event().wait()"}).python(
            "-c", "import threading; threading.Event().wait()", timeout=0.5
        )
