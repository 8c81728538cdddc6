"""`onetake.install` and the environment pair: one session for the life of a program, whatever ends it."""

from __future__ import annotations

import inspect
import os
import sys

import pytest

import onetake
from onetake.errors import UsageError
from onetake.testing.project import Project

ASK = """
import json, os, urllib.request


def ask(text):
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    url = os.environ["PROVIDER"] + "/v1/chat/completions"
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]


def try_to(text):
    try:
        return ask(text)
    except BaseException as error:
        return type(error).__name__
"""


@pytest.fixture
def program(tmp_path, provider):
    """A folder for programs that ask the provider; `program.python("-c", …)`."""
    return Project(tmp_path, {"onetake.toml": "", "asking.py": ASK}, env={"PROVIDER": provider.url})


def write(project, source):
    project.write({"app.py": source})
    return "app.py"


def test_it_takes_what_use_cassette_takes():
    theirs = dict(inspect.signature(onetake.use_cassette).parameters)
    ours = dict(inspect.signature(onetake.install).parameters)
    assert [*ours][1:] == [*theirs][1:]
    assert all(ours[name].default == theirs[name].default for name in [*theirs][1:])


def test_under_pytest_nothing_is_opened_and_a_session_that_is_there_is_given(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONETAKE_CASSETTE", "c")
    assert onetake.install("c") is None
    with onetake.use_cassette(tmp_path / "d", mode="none") as here:
        assert onetake.install("c", mode="all")._engine is here._engine
    assert list(tmp_path.iterdir()) == []


A_CONTRACT, B_CONTRACT = (onetake.Contract({"type": "object"}, name=name) for name in "ab")


@pytest.mark.parametrize(
    ("asked", "shared"),
    [
        ({"contract": onetake.Contract({"type": "object"}, name="a")}, {"contract": [A_CONTRACT, B_CONTRACT]}),
        ({"contract": onetake.Contract({"type": "array"}, name="a")}, {"contract": None}),
        ({"repeats": "same"}, {"repeats": "same"}),
        ({"keep": ["length"]}, {"keep": ["length", "cut"]}),
        ({"on_reject": "pass"}, {"on_reject": "pass"}),
        ({"key": {"ids": ["$.id"]}}, {"key": {"ids": ["$.id"]}}),
        ({"hosts": ["a.example"]}, {"hosts": ["a.example", "b.example"]}),
        ({"ignore": ["b.example/x"]}, {"ignore": ["b.example/x"]}),
        ({"max_age": {"days": 9}}, {"max_age": {"days": 9}}),
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_what_the_session_that_is_open_does_not_go_by_is_never_dropped(tmp_path, asked, shared):
    name = next(iter(asked))
    with (
        onetake.use_cassette(tmp_path / "c", mode="once"),
        pytest.raises(UsageError, match=f"by this program's {name}"),
    ):
        onetake.install("d", **asked)
    if shared[name] is not None:
        with onetake.use_cassette(tmp_path / "c", mode="once", **shared) as here:
            assert onetake.install("d", **asked)._engine is here._engine
    with onetake.use_cassette(tmp_path / "c", mode="off"):
        onetake.install("d", **asked)


def test_without_a_name_nothing_is_done(program, provider):
    source = "import onetake, asking\nprint(onetake.install())\nprint(asking.ask('one'))"
    done = program.python(write(program, source), env={"ONETAKE_MODE": "none"})
    assert (done.code, done.out.splitlines(), done.err) == (0, ["None", "answer 1 to: one"], "")
    assert program.files() == ["app.py", "asking.py", "onetake.toml"]


def test_a_program_is_recorded_and_replayed_with_its_children_by_one_session(program, provider):
    source = """
import multiprocessing, onetake, asking

first = onetake.install("c", keep=["length"], hosts=["a.example"], key={"ids": ["$.id"]})

if __name__ == "__main__":
    assert onetake.install("other")._engine is first._engine
    print(asking.ask("one"), asking.ask("one"))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(asking.ask, ["two"]))
        pool.close()
        pool.join()
"""
    first = program.python(write(program, source))
    assert (first.code, first.err) == (0, "onetake: c (new_episodes): 2 recorded, 1 replayed\n")
    provider.close()
    again = program.python("app.py", env={"ONETAKE_MODE": "none"})
    assert (again.code, again.out) == (0, first.out)
    assert again.err == "onetake: c (none): 3 replayed\n"
    assert not any(name.startswith("other") for name in program.files())


ENDS = {
    "by itself": "",
    "by exit": "sys.exit(0)",
    "by an error": "raise ValueError('its own')",
    "by os._exit": "sys.stdout.flush(); os._exit(0)",
}


@pytest.mark.parametrize("ending", ENDS)
def test_a_swallowed_refusal_is_exit_code_6_however_the_program_ends(program, ending):
    start = "import os, sys, onetake, asking\nonetake.install('c', mode='none')\nprint(asking.try_to('one'))\n"
    done = program.python(write(program, start + ENDS[ending]))
    assert (done.code, done.out) == (6, "InteractionNotFound\n")
    assert "onetake: c (none): 1 call refused\n" in done.err
    assert ("its own" in done.err) == (ending == "by an error")
    assert 'mode="once"' in done.err and "ONETAKE_MODE" not in done.err
    assert done.err.count("to mend it") == 1, "said where it happened, and not again at the end"


def test_the_exit_code_is_all_that_changes_of_a_programs_end(program):
    source = """
import atexit, threading

atexit.register(lambda: print("registered before", file=open("before.txt", "w")))
import onetake, asking

onetake.install("c", mode="none")
atexit.register(lambda: print("after:", asking.try_to("at the end"), file=open("after.txt", "w")))
left_open = open("open.txt", "w")
left_open.write("not flushed")
threading.Thread(target=lambda: print("thread:", asking.try_to("thread"))).start()
print("unflushed", end="")
"""
    done = program.python(write(program, source))
    assert done.code == 6
    assert "unflushed" in done.out and "thread: InteractionNotFound" in done.out
    assert program.read("before.txt") == "registered before\n"
    assert program.read("after.txt") == "after: InteractionNotFound\n"
    assert program.read("open.txt") == "not flushed"
    assert "onetake: c (none): 2 calls refused\n" in done.err


def test_what_the_program_expected_or_handled_changes_no_exit_code(program):
    source = """
import onetake, asking

session = onetake.install("c", mode="none")
with session.expect_refusal():
    asking.ask("one")
"""
    done = program.python(write(program, source))
    assert done.code == 0
    assert done.err.endswith("onetake: c (none): 1 call refused\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX's")
def test_a_forked_child_leaves_the_end_to_its_parent(program):
    source = """
import os, onetake, asking

onetake.install("c", mode="none")
child = os.fork()
if not child:
    asking.try_to("one")
    raise SystemExit(3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
    done = program.python(write(program, source))
    assert (done.code, done.out) == (6, "3\n")
    assert done.err.count("onetake: c (none): 1 call refused\n") == 1


def test_the_environment_pair_switches_a_program_that_knows_nothing_of_it(program, provider):
    app = write(program, "import asking\nprint(asking.try_to('one'))")
    pair = {"ONETAKE_CASSETTE": "c"}
    first = program.python(app, env=pair)
    assert (first.code, first.out) == (0, "answer 1 to: one\n")
    assert first.err == "onetake: c (new_episodes): 1 recorded\n"
    again = program.python(app, env=pair | {"ONETAKE_MODE": "none"})
    assert (again.code, again.out, again.err) == (0, first.out, "onetake: c (none): 1 replayed\n")
    write(program, "import asking\nprint(asking.try_to('two'))")
    miss = program.python(app, env=pair | {"ONETAKE_MODE": "none"})
    assert (miss.code, miss.out) == (6, "InteractionNotFound\n")
    assert "ONETAKE_MODE=new_episodes" in miss.err and "unset ONETAKE_MODE" not in miss.err
    assert provider.count == 1


def test_under_a_pair_that_cannot_be_opened_a_program_does_not_run(program):
    app = write(program, "print('ran')")
    done = program.python(app, env={"ONETAKE_CASSETTE": "c", "ONETAKE_MODE": "nun"})
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("onetake: the session that ONETAKE_CASSETTE names cannot be opened: ")


@pytest.mark.whole
def test_the_pair_leaves_our_commands_pytest_and_programs_without_model_calls_alone(program):
    pair = {"ONETAKE_CASSETTE": "c", "ONETAKE_MODE": "none"}
    write(program, "print('ran')")
    quiet = program.python("app.py", env=pair)
    assert (quiet.code, quiet.out, quiet.err) == (0, "ran\n", "")
    listed = program.python("-m", "onetake", "list", env=pair | {"ONETAKE_MODE": "nun"})
    assert (listed.code, listed.err) == (0, "")
    outer = program.python("-m", "onetake", "run", "--cassette", "d", "--", sys.executable, "app.py", env=pair)
    assert (outer.code, outer.err) == (0, "onetake: d (none): nothing was recorded, replayed or refused\n")
    for tool in ("pip", "pytest"):
        loaded = program.python("-X", "importtime", "-m", tool, "--version", env=pair).err
        assert "onetake.modes" in loaded and "onetake.session_run" not in loaded, tool


EXECS = {
    "execv": "os.execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
    "execve": "os.execve(sys.executable, [sys.executable, '-c', 'print(1)'], {})",
    "execlp": "os.execlp('python-that-is-nowhere', 'python')",
}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no exec of its own")
@pytest.mark.parametrize("name", ["execv", *(pytest.param(one, marks=pytest.mark.whole) for one in list(EXECS)[1:])])
def test_a_program_that_swallowed_a_refusal_becomes_no_other_one(program, name):
    start = "import os, sys, onetake, asking\nonetake.install('c', mode='none')\nasking.try_to('one')\n"
    done = program.python(write(program, start + EXECS[name]))
    assert (done.code, done.out) == (6, "")
    assert "becomes no other program" in done.err and "onetake: c (none): 1 call refused\n" in done.err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no exec of its own")
def test_a_block_that_swallowed_a_refusal_becomes_no_other_program(program):
    source = """
import os, onetake, asking

with onetake.use_cassette("c", mode="none"):
    asking.try_to("one")
    os.execv("/bin/true", ["true"])
"""
    assert program.python(write(program, source)).code == 6


@pytest.mark.skipif(os.name == "nt", reason="Windows has no exec of its own")
def test_what_a_program_becomes_is_judged_as_the_program(program, provider):
    source = """
import os, sys, onetake, asking

onetake.install("c", mode="new_episodes")
print(asking.ask("one"), flush=True)
os.environ["ONETAKE_MODE"] = "none"
os.execv(sys.executable, [sys.executable, "-c", "import asking; print(asking.try_to('two'))"])
"""
    write(program, source)
    done = program.python("app.py")
    assert (done.code, done.out) == (6, "answer 1 to: one\nInteractionNotFound\n")
    assert "onetake: c (new_episodes): 1 recorded\n" in done.err
    assert "onetake: c (none): 1 call refused\n" in done.err
    assert provider.count == 1
