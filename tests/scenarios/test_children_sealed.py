"""A sealed session holds in every process that is started under it, however, and knows what was refused there."""

from __future__ import annotations

import sys

import pytest

import onetake
from onetake.testing.project import Project

_ASKING = """
import os, sys

URL = os.environ["PROVIDER"]


def ask(text):
    import httpx

    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    reply = httpx.post(URL + "/v1/chat/completions", json=body).json()
    return reply["choices"][0]["message"]["content"]


def ask_openai(text):
    import openai

    client = openai.OpenAI(base_url=URL + "/v1")
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return reply.choices[0].message.content


def both(name=""):
    "Ask what is stored, and swallow what becomes of what is not."
    print(ask("known" + name), flush=True)
    try:
        print(ask("unknown" + name), flush=True)
    except BaseException as error:
        print(type(error).__name__, flush=True)


if __name__ == "__main__":
    both()
"""

_PROGRAM = """
import asyncio, multiprocessing, os, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

import onetake
from asking import ask, ask_openai, both

CHILD = [sys.executable, "asking.py"]
PLAIN = {"PROVIDER": os.environ["PROVIDER"], "PATH": os.environ.get("PATH", "")}


def run():
    BODY


if __name__ == "__main__":
    before = dict(os.environ)
    try:
        with onetake.use_cassette("c", mode="none") as session:
            run()
            print(len(session.refusals), "known of", flush=True)
    except onetake.Refusal as refusal:
        print("raised", '"unknown' in refusal.args[1])
    print(dict(os.environ) == before, "as before")
"""

_FORK = """
    pid = os.fork()
    if not pid:
        both()
        os._exit(0)
    os.waitpid(pid, 0)
"""

_EXEC = """
    pid = os.fork()
    if not pid:
        os.execve(sys.executable, CHILD, PLAIN)
    os.waitpid(pid, 0)
"""

_PROCESS = """
    process = multiprocessing.get_context(METHOD).Process(target=both)
    process.start()
    process.join()
"""

_EXECUTOR = """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(METHOD)) as pool:
        pool.submit(both).result()
"""

_GRANDCHILD = """
    nested = "import subprocess, sys; subprocess.run([sys.executable, 'asking.py'], env=ENV)"
    nested = nested.replace("ENV", repr(PLAIN))
    subprocess.run([sys.executable, "-c", nested], env={**PLAIN, "PYTHONPATH": "elsewhere"}, check=True)
"""

_ASYNC = """
    async def main():
        process = await asyncio.create_subprocess_exec(*CHILD, env=PLAIN)
        await process.wait()
    asyncio.run(main())
"""

_QUICK = {
    "fork": _FORK,
    "subprocess": "subprocess.run(CHILD, check=True)",
    "subprocess-env": "subprocess.run(CHILD, env=PLAIN, check=True)",
    "process-spawn": _PROCESS.replace("METHOD", '"spawn"'),
}
_SLOW = {
    "process-fork": _PROCESS.replace("METHOD", '"fork"'),
    "process-forkserver": _PROCESS.replace("METHOD", '"forkserver"'),
    "executor-fork": _EXECUTOR.replace("METHOD", '"fork"'),
    "executor-spawn": _EXECUTOR.replace("METHOD", '"spawn"'),
    "asyncio": _ASYNC,
    "exec": _EXEC,
    "posix_spawn": "os.waitpid(os.posix_spawn(sys.executable, CHILD, PLAIN), 0)",
    "spawnv": "os.spawnv(os.P_WAIT, sys.executable, CHILD)",
    "spawnve": "os.spawnve(os.P_WAIT, sys.executable, CHILD, PLAIN)",
    "system": "os.system(' '.join(CHILD))",
    "grandchild": _GRANDCHILD,
}
_ON_POSIX = ("fork", "forkserver", "exec", "posix_spawn")
_WAYS = [
    pytest.param(
        body,
        id=name,
        marks=[
            *([pytest.mark.slow] if name in _SLOW else []),
            *([pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")] if name.endswith(_ON_POSIX) else []),
        ],
    )
    for name, body in {**_QUICK, **_SLOW}.items()
]


@pytest.fixture
def project(tmp_path, provider):
    """A project whose cassette `c` holds the answer to `known`, and nothing else."""
    import httpx

    project = Project(tmp_path, {"onetake.toml": "", "asking.py": _ASKING}, env={"PROVIDER": provider.url})
    with onetake.use_cassette(tmp_path / "c", mode="once"):
        body = {"model": "m", "messages": [{"role": "user", "content": "known"}]}
        httpx.post(provider.url + "/v1/chat/completions", json=body)
    return project


def sealed(project, provider, body, **more):
    """Run a program with a body under the sealed session; no request may reach the provider."""
    before = provider.count
    lines = body.strip("\n").split("\n")
    if not lines[0].startswith("    "):
        lines[0] = "    " + lines[0]
    project.write({"program.py": _PROGRAM.replace("    BODY", "\n".join(lines))})
    done = project.python("program.py", timeout=90, **more)
    assert provider.count == before, done.out
    return done


@pytest.mark.parametrize("body", _WAYS)
def test_a_child_replays_and_is_refused_and_its_parent_knows(project, provider, body):
    done = sealed(project, provider, body)
    assert done.out.split("\n") == [
        "answer 1 to: known",
        "InteractionNotFound",
        "1 known of",
        "raised True",
        "True as before",
        "",
    ], done.err
    assert done.err.count("onetake: no interaction is stored for this request") == 1
    assert not [name for name in project.files(".onetake") if "children" in name]
    assert project.python("asking.py").out == "answer 2 to: known\nanswer 3 to: unknown\n"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_pool_whose_job_is_refused_does_not_hang(project, provider, method):
    body = f"""
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.apply(ask, ["known"]))
        print(pool.apply_async(ask, ["unknown"]).get(60))
    """
    done = sealed(project, provider, body)
    assert done.out.split("\n")[:2] == ["answer 1 to: known", "raised True"], done.err
    assert "onetake refused" not in done.err  # the error on its way is that refusal: nothing to note on it


def test_the_openai_sdk_starts_in_a_child_without_a_key_and_is_refused_once(project, provider):
    body = """
    code = "import asking; print(asking.ask_openai('known')); asking.ask_openai('unknown')"
    child = subprocess.run([sys.executable, "-c", code], env=PLAIN)
    print(child.returncode)
    """
    done = sealed(project, provider, body)
    assert done.out.split("\n")[:3] == ["answer 1 to: known", "1", "1 known of"], done.err
    assert done.out.split("\n")[3] == "raised True"


def test_refusals_of_children_can_be_expected(project, provider):
    body = """
    with session.expect_refusal() as expected:
        subprocess.run(CHILD)
    with session.expect_refusal():
        with ProcessPoolExecutor(1) as pool:
            pool.submit(ask, "unknown").result()
    print(len(expected.refusals))
    """
    done = sealed(project, provider, body)
    assert done.out.split("\n")[2:] == ["1", "2 known of", "True as before", ""], done.err


def test_a_child_of_nested_sessions_belongs_to_the_inner_one(project, provider):
    body = """
    try:
        with onetake.use_cassette("empty", mode="none") as inner:
            subprocess.run([sys.executable, "-c", "import asking; asking.ask('unknown')"], env=PLAIN, stderr=-3)
            print(len(inner.refusals), "inside")
    except onetake.InteractionNotFound as refusal:
        print(refusal.args[2])
    print(subprocess.run(CHILD, capture_output=True, text=True).stdout)
    """
    done = sealed(project, provider, body)
    assert done.out.split("\n") == [
        "1 inside",
        "empty (empty)",
        "answer 1 to: known",
        "InteractionNotFound",
        "",
        "1 known of",
        "raised True",
        "True as before",
        "",
    ], done.err


@pytest.mark.slow
def test_children_of_threads_side_by_side_get_their_threads_session(project, provider):
    body = """
    from threading import Barrier, Thread

    both_open, done = Barrier(2), {}

    def job(name):
        with onetake.use_cassette(name, mode="none") as own:
            both_open.wait()
            code = "import asking\\ntry: asking.ask('unknown')\\nexcept BaseException as error: print(error.args[2])"
            child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=PLAIN)
            done[name] = child.stdout
            both_open.wait()
            done[name] += str(len(own.refusals))

    threads = [Thread(target=job, args=[name]) for name in ("left", "right")]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(sorted(done.items()))
    """
    done = sealed(project, provider, body)
    assert done.out.split("\n")[0] == str([("left", "left (empty)\n1"), ("right", "right (empty)\n1")]), done.err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
def test_a_server_of_forks_that_is_older_than_the_session_is_told_of_it(project, provider):
    project.write(
        {
            "program.py": """
import multiprocessing, onetake
from asking import both

if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    def child(name):
        process = context.Process(target=both, args=[name])
        process.start(); process.join()
    with onetake.use_cassette("other", mode="none") as session:
        context.Process(target=int).start()
    with onetake.use_cassette("c", mode="none") as session:
        with session.expect_refusal() as expected:
            child("")
        print(len(expected.refusals), flush=True)
    child(" afterwards")
"""
        }
    )
    before = provider.count
    done = project.python("program.py", timeout=90)
    assert done.out.split("\n") == [
        "answer 1 to: known",
        "InteractionNotFound",
        "1",
        # After the sessions a child of the same server is nobody's.
        "answer 2 to: known afterwards",
        "answer 3 to: unknown afterwards",
        "",
    ], done.err
    assert provider.count == before + 2


def test_a_child_that_outlives_the_session_stays_sealed(project, provider):
    body = """
    code = "import sys, asking; print('ready', flush=True); sys.stdin.read(); asking.both()"
    globals()["late"] = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True, env=PLAIN)
    late.stdout.readline()
    """
    tail = "    print(late.communicate()[0])\n"
    before = provider.count
    program = _PROGRAM.replace("    BODY", body) + tail
    project.write({"program.py": program})
    done = project.python("program.py", timeout=90)
    assert done.out == "0 known of\nTrue as before\nanswer 1 to: known\nInteractionNotFound\n\n", done.err
    assert provider.count == before


def test_a_pytest_test_whose_child_was_refused_fails_in_its_call_phase(project, provider):
    project.write(
        {
            "test_app.py": """
import subprocess, sys, pytest

@pytest.mark.cassette("c")
def test_swallows():
    subprocess.run([sys.executable, "asking.py"], check=True)

@pytest.mark.cassette("c")
def test_expects(cassette):
    with cassette.expect_refusal():
        subprocess.run([sys.executable, "asking.py"], check=True)
"""
        }
    )
    before = provider.count
    done = project.pytest("-q", "test_app.py", timeout=90)
    assert done.code == 1
    assert "1 failed, 1 passed" in done.out, done.out
    assert "FAILED test_app.py::test_swallows - onetake.errors.InteractionNotFound" in done.out
    assert provider.count == before
