"""`onetake run`: exit codes, signals, what is said at the end, and whose word counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from onetake.cli.run import _again
from onetake.testing.project import Project

APP = """
import json, os, sys, urllib.request


def ask(text):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    url = os.environ["PROVIDER"] + "/v1/chat/completions"
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]


def main(texts):
    for text in texts:
        try:
            print(ask(text))
        except BaseException as error:
            print(type(error).__name__)


if __name__ == "__main__":
    main(sys.argv[1:])
"""

posix = pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")


@pytest.fixture
def program(tmp_path, provider):
    """A project with a program that asks the provider."""
    return Project(tmp_path, {"onetake.toml": "", "app.py": APP}, env={"PROVIDER": provider.url})


def run(project, *words, env=None):
    return project.python("-m", "onetake", "run", *words, env=env)


def python(code):
    return [sys.executable, "-c", code]


def end(done):
    """Return the lines of standard error that are ours, without their continuations."""
    return [line.removeprefix("onetake: ") for line in done.err.splitlines() if line.startswith("onetake: ")]


def test_a_program_is_recorded_and_then_replayed_without_a_provider(program, provider):
    first = run(program, "--report", "r.json", "--", sys.executable, "app.py", "one", "two", "one")
    assert (first.code, end(first)) == (0, ["cassettes/app (new_episodes): 2 recorded, 1 replayed"])
    assert first.out.splitlines() == ["answer 1 to: one", "answer 2 to: two", "answer 1 to: one"]
    told = json.loads(program.read("r.json"))
    assert (told["recorded"], told["replayed"], told["exit"], told["joined"]) == (2, 1, 0, True)

    provider.close()
    again = run(program, "--mode", "none", "--quiet", sys.executable, "app.py", "one", "two", "one")
    assert (again.code, again.out, again.err) == (0, first.out, "")


def test_a_swallowed_miss_is_told_and_is_exit_code_6(program, provider):
    done = run(program, "--mode", "none", "--json", "--repeats", "same", "--", sys.executable, "app.py", "one", "one")
    assert (done.code, done.out.split()) == (6, ["InteractionNotFound"] * 2)
    told = json.loads(done.err.splitlines()[-1])
    assert (told["refused"], told["exit"], told["mode"]) == (2, 6, "none")
    (refusal,) = told["refusals"]
    assert refusal["times"] == 2
    again = f"onetake run --mode once --repeats same -- {sys.executable} app.py one one"
    assert again in refusal["text"] and "ONETAKE_MODE" not in refusal["text"]
    assert done.err.count("to mend it") == 3, "at each call, and in the document"
    assert provider.count == 0


def test_an_answer_that_breaks_its_contract_is_exit_code_1(program):
    program.write(
        {
            "schema.json": '{"type": "object"}',
            "onetake.toml": '[contracts.label]\nschema = "schema.json"\n[contracts.typed]\nschema = "app:ask"\n',
        }
    )
    done = run(program, "--contract", "label", "--", sys.executable, "app.py", "one")
    assert (done.code, done.out) == (1, "ContractError\n")
    assert "cassettes/app (new_episodes): 1 answer refused" in end(done)
    kept = run(program, "--contract", "label", "--keep", "violation", "--", sys.executable, "app.py", "one")
    assert (kept.code, kept.out) == (0, "answer 2 to: one\n")
    unknown = run(program, "--contract", "lable", "--", sys.executable, "app.py", "one")
    assert (unknown.code, unknown.out) == (2, "") and "did you mean 'label'?" in unknown.err


def test_the_programs_own_code_is_ours(program):
    done = run(program, "--", *python("import sys; sys.exit(7)"))
    assert (done.code, end(done)) == (7, ["cassettes/python (new_episodes): nothing was recorded, replayed or refused"])


@pytest.mark.parametrize(
    ("command", "asked", "again"),
    [
        (["python", "a b"], {"cassette": "c d", "keep": ["length"]}, '--cassette "c d" --keep length -- python "a b"'),
        (["app", "--api-key", "x"], {"cassette": None, "keep": ()}, "-- …"),
        (["app", "x" * 200], {}, "-- …"),
        (["app", "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1wXy4z"], {}, '-- app "[openai key 1]"'),
    ],
)
def test_the_command_of_a_remedy_is_the_one_that_was_given_without_secrets(project, command, asked, again):
    assert _again(command, asked) == f"onetake run --mode {{mode}} {again}"


@posix
def test_a_program_that_a_signal_ends_is_128_and_its_number(program):
    assert run(program, "--", *python("import os; os.kill(os.getpid(), 9)")).code == 137


def test_what_cannot_be_run_is_a_sentence_and_exit_code_2(program):
    for words, said in (
        (["--", "no-such-program"], "no-such-program: there is no such command"),
        (["--", "app.py"], "onetake run -- python app.py"),
        (["--mode", "nun", "--", sys.executable], "did you mean 'none'?"),
        (["--report", "no/r.json", "--", sys.executable, "app.py"], "no/r.json: cannot be written"),
        ([], "COMMAND"),
    ):
        done = run(program, *words)
        assert (done.code, done.out) == (2, ""), words
        assert said in done.err
        assert done.err.startswith("onetake: ")
    assert program.files() == ["app.py", "onetake.toml"]


def test_a_seal_that_nobody_is_under_is_exit_code_2(program):
    done = run(program, "--mode", "none", "--", sys.executable, "-S", "-c", "print('free')")
    assert (done.code, done.out) == (2, "free\n")
    assert "no Python process joined the session, so nothing was sealed" in done.err
    open_ = run(program, "--", sys.executable, "-S", "-c", "print('free')")
    assert open_.code == 0 and "so nothing was recorded or replayed" in open_.err


@posix
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_are_handed_on_and_the_end_is_told(program, number, code):
    program.write(
        {
            "wait.py": "import signal, sys, app\n"
            "for n in (signal.SIGINT, signal.SIGTERM): signal.signal(n, lambda *_: sys.exit(print('cleaned up')))\n"
            "print(app.ask('one'), flush=True)\n"
            "signal.pause()\n"
        }
    )
    env = {k: v for k, v in os.environ.items() if k != "CI" and not k.startswith(("ONETAKE_", "PYTEST_"))}
    command = [sys.executable, "-m", "onetake", "run", "--", sys.executable, "wait.py"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        command, cwd=program.folder, env=env | program.env, start_new_session=True, **streams
    ) as started:
        assert started.stdout.readline().startswith(b"answer 1")
        started.send_signal(number)
        out, err = started.communicate(timeout=60)
    assert (started.returncode, out.strip()) == (code, b"cleaned up")
    assert b"onetake: cassettes/wait (new_episodes): 1 recorded" in err


@pytest.mark.whole
def test_whose_word_counts(program, provider):
    program.write(
        {
            "mode.py": "import onetake\n"
            "with onetake.use_cassette('inner', mode='new_episodes') as inner: print(inner.mode)\n"
            "print(onetake.install('other', mode='all').mode)\n"
        }
    )
    command = ["--", sys.executable, "mode.py"]
    for words, env, inner, outer in (
        ([], {}, "new_episodes", "new_episodes"),
        ([], {"CI": "1"}, "new_episodes", "none"),
        ([], {"ONETAKE_MODE": "once"}, "once", "once"),
        (["--mode", "off"], {"ONETAKE_MODE": "once"}, "off", "off"),
        (["--mode", "all"], {"ONETAKE_MODE": "replay"}, "none", "none"),
    ):
        done = run(program, *words, *command, env=env)
        assert done.out.split() == [inner, outer], (words, env, done.err)


def test_a_run_inside_a_sealed_run_stays_sealed_and_has_a_session_of_its_own(program, provider):
    inner = [sys.executable, "-m", "onetake", "run", "--mode", "all", "--cassette", "inner", "--"]
    done = run(program, "--mode", "none", "--", *inner, sys.executable, "app.py", "one")
    assert (done.code, provider.count) == (6, 0)
    assert "inner (none): 1 call refused" in end(done)
    assert f"onetake run --mode once -- {' '.join(inner)} {sys.executable} app.py one" in done.err
    assert "cassettes/onetake (none): nothing was recorded, replayed or refused" in end(done)
