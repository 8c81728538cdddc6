"""Standard streams that are closed: what cannot be told fails, what need not be told changes nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell closes them here")

CODES = {"diff": 1, "vouch": 1, "batch drift": 3}
"""Of the samples' codes those that are not 0, as in `test_json`."""
CLOSED = b"onetake: standard input or output is closed\n"


@pytest.fixture
def closing(project):
    """Return a function that runs a command with streams that a shell closes, or else: the completed process."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "ONETAKE_"))}

    def start(redirections, *words, **more):
        shell = ["sh", "-c", f'exec "$@" {redirections}', "sh", sys.executable, "-m", "onetake", *map(str, words)]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.run(shell, cwd=project, env=environment | more, timeout=110, **pipes)

    return start


def test_where_standard_output_is_closed_every_command_says_that_it_cannot_tell(closing, leaves, samples):
    done = {name: closing(">&-", *samples[name]) for name in leaves}
    ends = {name: (one.returncode, one.stderr.endswith(CLOSED)) for name, one in done.items() if name != "run"}
    assert ends == dict.fromkeys(ends, (5, True))
    assert not any(b"Traceback" in one.stderr for one in done.values())
    assert done["run"].returncode == 0, "its standard output is the program's"


def test_where_the_other_streams_are_closed_every_command_does_what_it_does(closing, leaves, samples):
    done = {name: closing("<&- 2>&-", *samples[name]) for name in leaves}
    assert {name: one.returncode for name, one in done.items()} == {name: CODES.get(name, 0) for name in leaves}
    assert [name for name, one in done.items() if not one.stdout] == ["run"]


@pytest.mark.parametrize("words", [(), ("--help",), ("--version",), ("check", "--help"), ("check", "--json")])
def test_closed_output_of_what_is_no_sample(closing, words):
    done = closing(">&-", *words)
    assert (done.returncode, done.stderr) == (5, CLOSED)


def test_an_error_keeps_its_code_where_nothing_can_be_told(closing, project):
    (project / "entry.json").touch()
    for redirections in (">&-", "2>&-", "<&- >&- 2>&-", "2<onetake.toml"):
        for words, code in ((("nope",), 2), (("list", "nope"), 2), (("show", "entry.json"), 5)):
            assert closing(redirections, *words).returncode == code
            done = closing(redirections, *words, "--json")
            assert done.returncode == code
            assert (b'"exit": ' in done.stdout) is (">&-" not in redirections.split())


def test_an_output_that_is_open_for_reading_only_is_closed_to_a_command(closing, store, make_entry):
    store(make_entry())
    for words in (("list",), ("list", "--json"), ("check",)):
        done = closing("1<onetake.toml", *words)
        assert (done.returncode, done.stderr) == (5, CLOSED)


def test_input_that_is_closed_is_not_taken_for_an_empty_one(closing, batch):
    line = "batch", "run", "-", "-c", "job.toml", "-o", "rows.jsonl"
    done = closing("<&-", *line)
    assert (done.returncode, done.stdout, done.stderr) == (5, b"", CLOSED)
    assert not Path("rows.jsonl").exists()


def test_no_file_is_opened_in_the_place_of_a_closed_stream(closing, store, make_entry):
    (path,) = store(make_entry(contract=None))
    before = path.read_bytes()
    assert closing("2>&-", "pin", path).returncode == 0
    assert closing(">&- 2>&-", "pin", "--remove", path).returncode == 5
    assert path.read_bytes() == before


def test_what_a_run_starts_gets_the_streams_as_they_are(closing):
    said = "import os, sys; sys.exit(sys.stdout is None and 40 + (sys.stdin is None) + (sys.stderr is None))"
    assert (
        closing("<&- >&- 2>&-", "run", "--mode", "none", "--quiet", "--", sys.executable, "-c", said).returncode == 42
    )
