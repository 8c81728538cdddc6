"""`import onetake` is paid by every test run and every program: it loads no client, no validator, no event loop."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"asyncio", "difflib", "http.client", "multiprocessing", "sqlite3", "subprocess", "unittest"}
"""Of the standard library; of other packages none may be loaded at all."""


def loaded_by(statement, after="pass"):
    """Return the modules that a new interpreter loads for *statement* once it has done *after*."""
    program = f"import sys\n{after}\nbefore = set(sys.modules)\n{statement}\nprint(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("module", "after"),
    [("onetake", "pass"), ("onetake.pytest_plugin", "import pytest"), ("onetake.testing.provider", "pass")],
)
def test_importing_loads_no_other_package_and_nothing_heavy(module, after):
    loaded = loaded_by(f"import {module}", after)
    assert module in loaded
    allowed = sys.stdlib_module_names | {"onetake"}
    assert {name for name in loaded if name.partition(".")[0] not in allowed} == set()
    assert loaded & HEAVY == set()


def test_the_measure_sees_a_heavy_import():
    assert {"asyncio", "difflib"} <= loaded_by("import asyncio, difflib")


SESSIONS = {"active", "compare", "contract", "engine", "format", "guard", "patching", "scrub", "session_run", "steps"}
"""What serves sessions: a suite that has none does not load it."""
SUITE = """
import pytest

@pytest.fixture(scope="module")
def wide():
    return 1

def test_passes(wide):
    pass

def test_is_skipped():
    pytest.skip()

@pytest.mark.xfail
def test_fails():
    assert False
"""


@pytest.mark.parametrize(("head", "loads"), [("", False), ("pytestmark = pytest.mark.cassette\n", True)])
def test_a_suite_without_markers_loads_nothing_that_serves_sessions(tmp_path, monkeypatch, head, loads):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    (tmp_path / "test_it.py").write_text(SUITE.replace("import pytest\n", f"import pytest\n{head}", 1))
    monkeypatch.chdir(tmp_path)
    run = "code = pytest.main(['-q', '-p', 'onetake.pytest_plugin'])\nassert code == 0"
    ours = {name.removeprefix("onetake.") for name in loaded_by(run, "import pytest") if name.startswith("onetake.")}
    assert "pytest_plugin" in ours
    assert SESSIONS & ours == (SESSIONS if loads else set())
    if not loads:
        assert len(ours) < 52, sorted(ours)
