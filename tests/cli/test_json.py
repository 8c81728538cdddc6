"""`--json`: every command has it, prints one document and nothing else, and its errors are documents too."""

from __future__ import annotations

import json

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onetake import errors
from onetake.cli import commands, output

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()

ON_STDERR = {"run"}
"""Commands whose standard output is another program's."""


def test_every_command_has_json_and_help(run, leaves, samples):
    assert set(leaves) == set(samples), "give the new command a line in the fixture `samples`"
    for words, command in leaves.items():
        code, out, err = run(*words.split(), "--help")
        assert (code, err) == (0, "")
        assert "--json" in out
        (option,) = [parameter for parameter in command.params if "--json" in parameter.opts]
        assert option.callback.__qualname__.startswith("json_option."), f"{words}: take output.json_option"
        assert option.is_eager


@pytest.fixture
def documents(shell, run, samples, project):
    """Return a function that runs a command's sample with `--json`: (exit code, document, the other stream).

    Those of a group in this process, for there are many; the others in one of their own.
    """

    def read(name):
        words = name.split()
        line = *words, "--json", *samples[name][len(words) :]
        if len(words) > 1:
            code, text, other = run(*line)
            assert text.isascii()
            return code, json.loads(text), other.encode()
        done = shell(*line, cwd=project)
        text, other = (done.stderr, done.stdout) if name in ON_STDERR else (done.stdout, done.stderr)
        assert text.isascii()
        assert text.endswith(b"\n")
        return done.returncode, json.loads(text), other

    return read


BATCH = ("plan", "run", "verify", "drift", "status", "report", "failures", "retry", "explain")
STORE = ("stats", "fsck", "prune", "pack", "unpack")
NAMES = ["init", "run", "list", "show", "diff", "check", "demo", "doctor", "migrate"]
NAMES += ["status", "adopt", "pin", "probe", "prune", "rekey", "review", "vouch", "contract", "contract freeze"]
NAMES += [f"batch {name}" for name in BATCH] + [f"store {name}" for name in STORE] + ["import vcr"]
CODES = {"diff": 1, "vouch": 1, "batch drift": 3}
"""Of those that are not 0: the provider that drift asks says another thing each time."""


@pytest.mark.parametrize("name", NAMES)
def test_each_prints_one_document_in_ascii_and_nothing_else(documents, name):
    code, document, other = documents(name)
    assert isinstance(document, list if name == "batch failures" else dict)
    assert "error" not in document
    assert other == b""
    assert code == CODES.get(name, 0)


def test_the_commands_above_are_all(samples):
    (mark,) = test_each_prints_one_document_in_ascii_and_nothing_else.pytestmark
    assert set(mark.args[1]) == set(samples)


@pytest.fixture
def failing():
    """Add a command with `--json` that raises what it is given, for one test."""
    raised = []

    @commands.command("failing", context_settings={"allow_interspersed_args": False})
    @output.json_option()
    @click.argument("words", nargs=-1)
    def failing(words, as_json):
        raise raised[0]

    yield raised
    del commands.commands["failing"]


MISS = errors.InteractionNotFound("no such thing", "POST x", nearest="line\n\x1b[31mline ☃")


@pytest.mark.parametrize(
    ("error", "kind", "exit_code", "message"),
    [
        (errors.UsageError("x"), "UsageError", 2, "x"),
        (MISS, "InteractionNotFound", 6, str(MISS)),
        (MISS.as_exception(), "InteractionNotFound", 6, str(MISS)),
        (errors.ContractError("json", "x"), "ContractError", 1, "answer refused (json): x"),
        (RecursionError(), "FormatError", 5, "an entry is nested too deep"),
        (OSError(28, "No space left on device"), "OSError", 5, "No space left on device"),
        (PermissionError(13, "Permission denied", "/nowhere/a b"), "OSError", 5, "/nowhere/a b: Permission denied"),
        (KeyboardInterrupt(), "Interrupted", 130, "interrupted"),
        (click.BadParameter("bad"), "UsageError", 2, "Invalid value: bad"),
    ],
)
def test_an_error_is_a_document_beside_its_line(run, failing, error, kind, exit_code, message):
    failing.append(error)
    code, out, err = run("failing", "--json")
    assert json.loads(out) == {"error": {"kind": kind, "message": message, "exit": exit_code}}
    assert code == exit_code
    assert out.isascii()
    assert err.strip().startswith("onetake: ")
    assert err.strip().count("\n") == message.count("\n")
    assert run("failing")[:2] == (exit_code, "")


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("list", "--jsn", "--json"), True),
        (("show", "--json"), True),
        (("nope", "--json"), True),
        (("--json", "list"), True),
        (("list", "a", "b", "--json"), True),
        (("show", "--nope", "--", "--json"), False),
        (("list", "--jsn"), False),
    ],
)
def test_a_line_that_is_not_understood_is_a_document_where_json_stands_in_it(run, words, asked):
    code, out, err = run(*words)
    assert code == 2
    assert err.startswith("onetake: ")
    assert (json.loads(out)["error"]["kind"] == "UsageError") if asked else out == ""


def test_what_the_words_of_another_program_say_is_not_for_us(run, failing):
    failing.append(errors.UsageError("x"))
    assert run("failing", "program", "--json") == (2, "", "onetake: x\n")


def test_where_standard_output_is_anothers_the_document_is_the_last_line_of_the_other(shell, project):
    done = shell("run", "--json", "--mode", "nones", "--", "python", cwd=project)
    assert (done.returncode, done.stdout) == (2, b"")
    line, document = done.stderr.decode().splitlines()
    assert line.startswith("onetake: mode: unknown word 'nones'")
    assert json.loads(document)["error"]["exit"] == 2


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_a_document_is_laid_out_as_the_standard_library_does(value):
    assert output._laid_out(value, "\n") == json.dumps(value, indent=2)
