"""A contract error in a child: handled there by its name it fails nobody, swallowed there it fails the session."""

from __future__ import annotations

import os

import pytest

_PROGRAM = """
import multiprocessing, os, subprocess, sys
import httpx, onetake


def ask():
    httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", json={"model": "m", "messages": []})


def by_name():
    try:
        ask()
    except onetake.ContractError as error:
        print("handled", error.kind, flush=True)


def swallowing():
    try:
        ask()
    except BaseException:
        print("swallowed", flush=True)


def forked(job, leave):
    pid = os.fork()
    if not pid:
        job()
        leave(0)
    os.waitpid(pid, 0)


def process(job, method):
    child = multiprocessing.get_context(method).Process(target=job)
    child.start()
    child.join()


def pool(job):
    with multiprocessing.get_context("fork").Pool(1) as workers:
        workers.apply(job)
        workers.close()
        workers.join()


def session(job):
    contract = onetake.Contract({"type": "object"}, name="x", schema_version=1)
    try:
        with onetake.use_cassette("c", mode="new_episodes", contract=contract) as session:
            START
            print(len(session.refusals), flush=True)
        print("fine", flush=True)
    except onetake.ContractError:
        print("raised", flush=True)


if __name__ == "__main__":
    session(by_name)
    session(swallowing)
"""


def way(name, start, *, slow=False):
    marks = [pytest.mark.slow] if slow else []
    if name not in ("spawn", "fork-and-_exit"):
        marks.append(pytest.mark.whole)
    if name != "spawn":
        marks.append(pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"))
    return pytest.param(start, id=name, marks=marks)


@pytest.mark.parametrize(
    "start",
    [
        way("fork-and-_exit", "forked(job, os._exit)"),
        way("fork-and-exit", "forked(job, sys.exit)", slow=True),
        way("process-fork", "process(job, 'fork')"),
        way("process-forkserver", "process(job, 'forkserver')", slow=True),
        way("spawn", "process(job, 'spawn')", slow=True),
        way("pool", "pool(job)", slow=True),
    ],
)
def test_what_a_child_handles_by_its_name_fails_nobody_and_what_it_swallows_does(sealed, start):
    done = sealed.run_file({"program.py": _PROGRAM.replace("START", start)}, "program.py", asked=2)
    assert done.out.split("\n") == ["handled violation", "1", "fine", "swallowed", "1", "raised", ""], done.err
