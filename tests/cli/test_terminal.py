"""Terminals, pipes, widths, encodings, closed pipes, interrupts, and names of Windows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from rich.cells import cell_len

from onetake.cli.output import told

ESCAPE = "\x1b"
posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")


@pytest.fixture
def environment():
    """The environment of a person at a terminal."""
    away = ("CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COLORTERM", "TTY_COMPATIBLE")
    kept = {name: value for name, value in os.environ.items() if name not in away}
    return {name: value for name, value in kept.items() if not name.startswith(("PYTEST", "ONETAKE_"))} | {
        "TERM": "xterm-256color"
    }


@pytest.fixture
def terminal(environment, project):
    """Return a function that runs a command in a pseudo-terminal of a width: (exit code, what it wrote there)."""

    def start(columns, *words, **more):
        import fcntl
        import pty
        import struct
        import termios

        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        command = [sys.executable, "-m", "onetake", *map(str, words)]
        child = subprocess.Popen(
            command, cwd=project, env={**environment, **more}, stdin=theirs, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        written = b""
        try:
            while piece := os.read(ours, 65536):
                written += piece
        except OSError:  # how Linux says that the other side has closed
            pass
        os.close(ours)
        return child.wait(60), written.decode().replace("\r\n", "\n")

    return start


@posix
@pytest.mark.parametrize("columns", [40, 100, 200])
def test_a_terminal_gets_lines_of_its_width(store, make_entry, terminal, columns):
    entry = make_entry(provenance={"recorded_at": "2026-03-01T10:00:00Z", "test": "tests/test_a.py::" + "x" * 90})
    store(entry, make_entry("two"))
    _, shown = terminal(columns, "list")
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
@pytest.mark.parametrize("name", ["init", "run", "list", "show", "diff"])
def test_no_color_leaves_no_escape_in_a_terminal(terminal, samples, name):
    code, shown = terminal(100, *samples[name], NO_COLOR="1", FORCE_COLOR="1")
    assert code == (1 if name == "diff" else 0)
    assert ESCAPE not in shown
    assert shown or name == "run"


@posix
def test_what_takes_colours_away_and_what_does_not(terminal, samples):
    assert ESCAPE in terminal(100, "list", NO_COLOR="")[1]
    assert ESCAPE not in terminal(100, "list", TERM="dumb")[1]
    assert ESCAPE not in terminal(100, "list", "--json")[1]


@posix
def test_columns_goes_before_the_width_of_the_terminal(terminal, samples):
    assert "\nkey " in terminal(200, "list", COLUMNS="40")[1]


@posix
def test_markup_and_escapes_of_others_stay_text_in_a_terminal(store, make_entry, terminal):
    odd = "[bold red]:smile:[/]\x1b]0;t\x07"
    store(make_entry(provenance={"test": odd}), folder="cassettes/[red]x")
    _, shown = terminal(120, "list", NO_COLOR="1")
    assert "[bold red]:smile:[/]" in shown
    assert "cassettes/[red]x" in shown
    assert ESCAPE not in shown


def test_a_pipe_gets_neither_escapes_nor_folded_nor_cut_lines(shell, store, make_entry, project):
    deep = "/".join(["folder" * 8] * 5)
    store(make_entry(provenance={"test": "t" * 900}), folder=f"cassettes/{deep}")
    done = shell("list", cwd=project, COLUMNS="40", FORCE_COLOR="1", TERM="xterm-256color")
    assert b"\x1b" not in done.stdout
    assert b"t" * 900 in done.stdout
    assert f"cassettes/{deep}  (1 entry)".encode() in done.stdout


@pytest.mark.parametrize("name", ["init", "run", "list", "show", "diff"])
def test_a_pipe_gets_no_escapes_of_any_command(shell, samples, project, name):
    done = shell(*samples[name], cwd=project, FORCE_COLOR="1", TERM="xterm-256color")
    assert b"\x1b" not in done.stdout + done.stderr


def test_wide_letters_and_accents_take_the_columns_that_they_take(run, store, make_entry):
    models = ("模型-一", "gpt-5", "cafe\u0301-3", "🦙-model")
    store(*(make_entry(model=model, provenance={"model_asked": model}) for model in models))
    _, out, _ = run("list")
    head, *rows = out.splitlines()[1:-1]
    column = head.index("verdict")
    assert {cell_len(row[: row.index("good")]) for row in rows} == {column}
    assert all(model in out for model in models)


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_a_stream_that_cannot_spell_a_character_gets_its_escape(shell, store, make_entry, project, encoding):
    (path,) = store(make_entry("Grüße ☃"))
    done = shell("show", path, "--request", cwd=project, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0
    assert "Grüße \\u2603".encode(encoding) in done.stdout


@posix
@pytest.mark.parametrize(
    "words", [("--help",), ("list",), ("show", "--raw"), ("init", "--dry-run"), ("list", "--json")]
)
def test_a_pipe_that_nobody_reads_ends_a_command_without_a_word(environment, store, make_entry, project, words):
    (path,) = store(make_entry())
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "onetake", *words, *([str(path)] if "--raw" in words else [])]
    done = subprocess.run(command, cwd=project, env=environment, stdout=theirs, stderr=subprocess.PIPE, timeout=60)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_one_line(environment, store, make_entry, project):
    store(make_entry())
    command = [sys.executable, "-m", "onetake", "list", "--json"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, cwd=project, env=environment, stdout=full, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (5, b"onetake: No space left on device\n")


@posix
def test_an_interrupt_ends_with_130_and_one_line(environment, project):
    command = [sys.executable, "-m", "onetake", "demo", "--no-model"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=project, env=environment, **pipes) as child:
        assert child.stdout.readline()
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=60)
    assert (child.returncode, said.strip()) == (130, b"onetake: interrupted")


@pytest.mark.parametrize(
    ("path", "here", "shown"),
    [
        (r"C:\a\b c\x.json", r"C:\a", "b c/x.json"),
        (r"C:\A\b\x.json", r"c:\a", "b/x.json"),
        (r"D:\x.json", r"C:\a", "D:/x.json"),
        (r"\\?\C:\a\x.json", r"C:\a", "x.json"),
        (r"\\?\C:\a\x.json", r"C:\b", "C:/a/x.json"),
        (r"\\?\UNC\server\share\a\x.json", r"\\server\share\a", "x.json"),
        (r"\\server\share\a\x.json", r"C:\a", "//server/share/a/x.json"),
    ],
)
def test_how_a_path_of_windows_is_told(path, here, shown):
    assert told(PureWindowsPath(path), PureWindowsPath(here)) == shown


def test_how_a_path_is_told_elsewhere():
    assert told(PurePosixPath("/a/b\\c"), PurePosixPath("/a")) == "b\\c"
    assert told(PurePosixPath("/a/b"), PurePosixPath("/a/c")) == "/a/b"


def test_a_path_with_backslashes_is_understood_everywhere(run, store, make_entry):
    (path,) = store(make_entry())
    code, out, _ = run("show", f"cassettes\\a\\{path.name}")
    assert code == 0
    assert out.startswith(f"cassettes/a/{path.name}\n")
