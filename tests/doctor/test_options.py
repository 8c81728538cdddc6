"""The options that tests are started with."""

from __future__ import annotations

import pytest

from onetake.doctor.options import find_options

STEP = "      - run: pytest --record-mode=once\n"


@pytest.fixture
def options(project):
    """Return a function that writes files and finds their options: (path, line, name, mode)."""

    def run(files):
        folder = project(files)
        return [(one.path.relative_to(folder).as_posix(), one.line, one.name, one.mode) for one in find_options(folder)]

    return run


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("pytest.ini", "[pytest]\naddopts = -q --record-mode=once\n", 2),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = ["--record-mode", "once"]\n', 2),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = [\n  "--record-mode",\n  "once",\n]\n', 3),
        ("tox.ini", "[pytest]\naddopts =\n  --record-mode once\n", 3),
        ("setup.cfg", "[tool:pytest]\naddopts = --record-mode=once\n", 2),
        (".github/workflows/a.yml", f"on: [push]\n{STEP}", 2),
        (".gitlab-ci.yml", "test:\n  script: pytest --record-mode=once\n", 2),
    ],
)
def test_where_options_stand(options, name, text, line):
    assert options({name: text}) == [(name, line, "record-mode", "once")]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("pytest --vcr-record=new_episodes", [("vcr-record", "new_episodes")]),
        ("pytest --vcr-record=none", [("vcr-record", "none")]),
        ("pytest --disable-recording", [("disable-recording", "all")]),
        ("pytest --disable-vcr -q", [("disable-vcr", "all")]),
        ("pytest --record-mode=$MODE", []),
        ("# pytest --record-mode=all", []),
    ],
)
def test_what_an_option_says(options, line, found):
    assert [one[2:] for one in options({".gitlab-ci.yml": line})] == found


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tox.ini", "[testenv:record]\ncommands = pytest --record-mode=all\n"),
        ("Makefile", "record:\n\tpytest --record-mode=all\n"),
        (".github/workflows/record.yml", f"on: workflow_dispatch\njobs:\n{STEP}"),
        (
            ".github/workflows/a.yml",
            f"on:\n  push:\n  workflow_dispatch:\njobs:\n      - if: inputs.live\n{STEP.replace('- ', '  ')}",
        ),
    ],
)
def test_what_only_a_person_starts_counts_not(options, name, text):
    assert options({name: text}) == []
