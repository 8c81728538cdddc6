"""What holds for all commands: exit codes, errors in one line, terminals and pipes, documentation."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from onetake import errors
from onetake.cli import commands, exits
from onetake.provenance import version

PAGES = Path(__file__).parents[2] / "docs" / "reference"
DOC, ERRORS = ((PAGES / name).read_text("utf-8") for name in ("cli.md", "errors.md"))
ESCAPE = "\x1b"


def test_the_version(run, shell):
    assert run("--version") == (0, f"onetake {version()}\n", "")
    assert shell("--version").stdout.split() == [b"onetake", version().encode()]


def test_without_a_command_the_help_is_shown(run):
    code, out, err = run()
    assert (code, err) == (2, "")
    assert set(re.findall(r"^  ([a-z]+)  ", out, re.MULTILINE)) == set(commands.commands)


@pytest.mark.parametrize("words", [("nope",), ("list", "--jsn"), ("show",), ("diff",), ("list", "a", "b")])
def test_a_wrong_command_line_is_one_line_and_exit_2(run, words):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("onetake: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.UsageError("x"), 2),
        (errors.AdapterError("x"), 2),
        (errors.StoreError("x"), 5),
        (errors.FormatError("x"), 5),
        (errors.UnreadableEntry("x", "y"), 5),
        (errors.NotStored("x", "y"), 5),
        (errors.InteractionNotFound("x", "y"), 6),
        (errors.InteractionNotFound("x", "y").as_exception(), 6),
        (errors.ContractError("json", "x"), 1),
    ],
)
def test_the_exit_code_of_each_error(error, code):
    assert exits.code_of(error) == code


@pytest.fixture
def failing():
    """Add a command that raises what it is given, for one test."""
    raised = []

    @commands.command("failing")
    def failing():
        raise raised[0]

    yield raised
    del commands.commands["failing"]


def test_an_error_is_one_printable_line(run, failing):
    failing.append(errors.InteractionNotFound("no such thing", "POST x", nearest=f"{ESCAPE}[31mline\nline"))
    code, out, err = run("failing")
    assert (code, out) == (6, "")
    assert err.startswith("onetake: no such thing: POST x⏎")
    assert err.count("\n") == 1
    assert ESCAPE not in err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_is_exit_130(run, failing, error):
    failing.append(error)
    code, _, err = run("failing")
    assert code == 130
    assert err.strip() == "onetake: interrupted"


def test_a_stream_that_cannot_spell_a_character_gets_its_escape(shell, store, make_entry, project):
    (path,) = store(make_entry("Grüße ☃"))
    done = shell("show", path, "--request", cwd=project, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "Grüße \\u2603".encode("latin-1") in done.stdout


def test_importing_the_commands_loads_neither_rich_nor_a_client_nor_the_engine():
    program = "import sys, onetake.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    loaded = set(done.stdout.split())
    assert "onetake.cli.list_" in loaded
    assert loaded & {"rich", "openai", "httpx", "httpx2", "pydantic", "asyncio", "onetake.engine", "xllamacpp"} == set()


def in_terminal(columns, *words, cwd, **environment):
    """Run a command in a pseudo-terminal of a width; returns what it wrote there."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES", "FORCE_COLOR")}
    command = [sys.executable, "-m", "onetake", *map(str, words)]
    environment = {**inherited, "TERM": "xterm", **environment}
    child = subprocess.Popen(command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65536):
            written += piece
    except OSError:  # how Linux says that the other side has closed
        pass
    assert child.wait(60) == 0
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")


@posix
@pytest.mark.parametrize("columns", [40, 100, 200])
def test_a_terminal_gets_lines_of_its_width(store, make_entry, project, columns):
    entry = make_entry(provenance={"recorded_at": "2026-03-01T10:00:00Z", "test": "tests/test_a.py::" + "x" * 90})
    store(entry, make_entry("two"))
    shown = in_terminal(columns, "list", cwd=project)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).splitlines()
    assert entry.key[:16] in shown
    if columns == 40:
        assert f"key       {entry.key[:16]}" in lines
        assert "contract  triage v2" in lines
    else:
        assert max(map(len, lines)) <= columns
        assert any(line.startswith(entry.key[:16]) and "triage v2" in line for line in lines)
    assert shown.replace("\n", "").replace(" ", "").count("x") >= 90
    assert ESCAPE in shown


@posix
def test_no_color_leaves_no_escape_in_a_terminal(store, make_entry, project):
    store(make_entry())
    assert ESCAPE not in in_terminal(100, "list", cwd=project, NO_COLOR="1")


@posix
def test_markup_and_escapes_of_others_stay_text_in_a_terminal(store, make_entry, project):
    odd = "[bold red]:smile:[/]\x1b]0;t\x07"
    store(make_entry(provenance={"test": odd}), folder="cassettes/[red]x")
    shown = in_terminal(120, "list", cwd=project, NO_COLOR="1")
    assert "[bold red]:smile:[/]" in shown
    assert "cassettes/[red]x" in shown
    assert ESCAPE not in shown


def test_a_pipe_gets_neither_escapes_nor_folded_lines(shell, store, make_entry, project):
    store(make_entry(provenance={"test": "t" * 190}))
    for environment in ({"COLUMNS": "40"}, {"COLUMNS": "200"}, {"FORCE_COLOR": "1"}, {"TERM": "xterm-256color"}):
        done = shell("list", cwd=project, **environment)
        assert b"\x1b" not in done.stdout
        assert b"t" * 190 in done.stdout


def sections():
    return dict(re.findall(r"^## `onetake ([a-z]+)`\n(.*?)(?=^## |\Z)", DOC, re.MULTILINE | re.DOTALL))


def test_every_command_is_documented_and_no_other():
    assert set(sections()) == set(commands.commands)


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_every_argument_and_option_is_documented_and_no_other(name):
    words = {word for parameter in commands.commands[name].params for word in documented_as(parameter)}
    table = set(re.findall(r"^\| `([^` ]+)", sections()[name], re.MULTILINE))
    assert table == words


def documented_as(parameter):
    return [option for option in parameter.opts if option.startswith("--")] or [
        parameter.human_readable_name.strip("[].")
    ]


def test_every_option_of_the_group_is_documented():
    for parameter in commands.params:
        assert all(f"`{option}`" in DOC for option in parameter.opts)


def test_every_exit_code_is_documented():
    own, whole = (set(re.findall(r"(?<=[| ])(\d+)(?=[ ,].*\|.*\|$)", page, re.MULTILINE)) for page in (DOC, ERRORS))
    assert {str(int(code)) for code in exits.Exit} == own
    assert own < whole


def test_every_command_has_json():
    for name, command in commands.commands.items():
        assert "--json" in [option for parameter in command.params for option in parameter.opts], name
