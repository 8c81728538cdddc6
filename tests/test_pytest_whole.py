"""What makes a run one of some tests only."""

from __future__ import annotations

import os

import pytest

from onetake.pytest_whole import left_out, selection

pytest_plugins = ("pytester",)


def config_of(pytester, *words, ini=""):
    (pytester.path / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    return pytester.parseconfig("-p", "no:xdist", "-p", "no:hypothesispytest", *words)


@pytest.mark.parametrize(
    ("words", "ini", "selects"),
    [
        ([], "", ""),
        (["-k", "one"], "", "-k"),
        (["-m", "not slow"], "", "-m"),
        (["--deselect=test_a.py::test_x"], "", "--deselect"),
        (["--ignore", "sub"], "", "--ignore"),
        (["--ignore-glob=*b.py"], "", "--ignore-glob"),
        (["--lf"], "", "--lf"),
        (["test_a.py::test_x"], "", "test_a.py::test_x"),
        (["test_a.py"], "", "test_a.py"),
        (["."], "", ""),
        ([], "addopts = -m 'not slow' --deselect test_a.py::test_x --ignore=sub", ""),
        (["-m", "slow"], "addopts = -m 'not slow'", "-m"),
        (["-m", "not slow"], "addopts = -m'not slow'", ""),
        (["--ignore=other"], "addopts = --ignore=sub", "--ignore"),
        ([], "addopts = -k one", ""),
    ],
)
def test_selection(pytester, words, ini, selects):
    pytester.makepyfile(test_a="def test_x(): pass")
    assert selection(config_of(pytester, *words, ini=ini)) == selects


def found(pytester, *words, ini="", collected=(), **more):
    config = config_of(pytester, *words, ini=ini)
    here = {os.path.realpath(pytester.path / name) for name in collected}
    return left_out(config, pytester.path, here, **more)


@pytest.fixture
def modules(pytester):
    """Three test modules, and files that pytest does not take for any."""
    no_tests = "helper.py", "build/test_built.py", "env/pyvenv.cfg", "env/test_venv.py", ".x/test_x.py"
    for name in ("test_a.py", "sub/test_b.py", "more/test_c.py", *no_tests):
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    return pytester


def test_all_were_collected(modules):
    assert found(modules, collected=["test_a.py", "sub/test_b.py", "more/test_c.py"]) is None
    assert (
        found(modules, "sub", "test_a.py", "more", collected=["test_a.py", "sub/test_b.py", "more/test_c.py"]) is None
    )


@pytest.mark.parametrize(
    ("words", "ini", "collected", "left", "asked"),
    [
        (["sub"], "", ["sub/test_b.py"], "test_a.py", True),
        (["test_a.py", "sub"], "", ["test_a.py", "sub/test_b.py"], "more/test_c.py", True),
        ([], "", ["test_a.py", "sub/test_b.py"], "more/test_c.py", False),  # by a conftest's collect_ignore, say
        (["."], "", ["test_a.py", "sub/test_b.py"], "more/test_c.py", False),
        ([], "testpaths = sub", ["sub/test_b.py"], "test_a.py", False),
        (["more"], "testpaths = sub m*e", ["more/test_c.py"], "sub/test_b.py", True),
    ],
)
def test_one_was_left_out(modules, words, ini, collected, left, asked):
    one = found(modules, *words, ini=ini, collected=collected)
    assert (one.path, one.asked) == (modules.path / left, asked)


def test_what_counts_as_a_test_module_is_pytests_word(modules):
    assert found(modules, ini="python_files = sub/*.py", collected=["sub/test_b.py"]) is None
    one = found(modules, ini="python_files = help*.py", collected=[])
    assert (one.path, one.asked) == (modules.path / "helper.py", False)


def test_a_folder_that_is_too_large_is_not_looked_through(modules):
    collected = ["test_a.py", "sub/test_b.py", "more/test_c.py"]
    one = found(modules, collected=collected, most=2)
    assert (one.path, one.asked) == (modules.path, True)
    assert found(modules, collected=collected, most=3) is None
