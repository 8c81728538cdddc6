"""What holds for all commands: exit codes, errors in one line, documentation."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from onetake import errors, exits
from onetake.cli import commands
from onetake.provenance import version

ESCAPE = "\x1b"


def test_the_version(run, shell):
    assert run("--version") == (0, f"onetake {version()}\n", "")
    assert shell("--version").stdout.split() == [b"onetake", version().encode()]


def test_without_a_command_the_help_is_shown(run):
    code, out, err = run()
    assert (code, err) == (2, "")
    assert set(re.findall(r"^  ([a-z]+)  ", out, re.MULTILINE)) == set(commands.list_commands(None))


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
    failing.append(errors.UsageError(f"no such thing: {ESCAPE}[31mline\nline"))
    assert run("failing") == (2, "", "onetake: no such thing: line⏎line\n")


def test_a_refusal_says_what_is_nearest_on_lines_of_its_own(run, failing):
    failing.append(errors.InteractionNotFound("no such thing", "POST x", nearest=f"{ESCAPE}[31mline\nline"))
    assert run("failing") == (6, "", "onetake: no such thing: POST x\n  nearest: line\n    line\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interrupt_is_exit_130(run, failing, error):
    failing.append(error)
    code, _, err = run("failing")
    assert code == 130
    assert err.strip() == "onetake: interrupted"


@pytest.mark.parametrize(
    ("words", "loading"), [("commands.list_commands(None)", {"list_", "batch", "status"}), ("['list']", {"list_"})]
)
def test_the_commands_load_neither_rich_nor_a_client_nor_the_engine_and_one_loads_no_other(words, loading):
    program = f"import sys; from onetake.cli import commands; [commands.get_command(None, n) for n in {words}]"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = set(done.stdout.split())
    assert {name for name in ("list_", "batch", "status") if f"onetake.cli.{name}" in loaded} == loading
    assert loaded & {"rich", "openai", "httpx", "httpx2", "pydantic", "asyncio", "onetake.engine", "xllamacpp"} == set()


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--mode", "{}", "--", "x"),
        ("run", "--keep", "{}", "--", "x"),
        ("run", "--contract", "{}", "--", "x"),
        ("run", "--repeats", "{}", "--", "x"),
        ("run", "--report", "nowhere/{}", "--", "x"),
        ("run", "--", "{}-no-such"),
        ("show", "{}"),
        ("{}",),
    ],
)
def test_an_error_does_not_repeat_the_key_that_was_given_for_a_word(run, project, words):
    key = "sk-proj-Zq9Zq9AAbbCCddEEffGGhhIIjjKKllMMnnOOpp"
    code, out, err = run(*(word.format(key) for word in words))
    assert (code, out) == (2, "")
    assert err.startswith("onetake: ") and key[8:] not in err
