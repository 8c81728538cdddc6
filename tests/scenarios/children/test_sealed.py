"""What a sealed session knows of its children, and which session a child belongs to."""

from __future__ import annotations

import sys

import pytest


@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.slow)])
def test_a_pool_whose_job_is_refused_does_not_hang(sealed, method):
    body = f"""
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.apply(ask, ["known"]))
        print(pool.apply_async(ask, ["unknown"]).get(60))
    """
    done = sealed.run(body)
    assert done.out.split("\n")[:2] == ["answer 1 to: known", "raised True"], done.err
    assert "onetake refused" not in done.err  # the error on its way is that refusal: nothing to note on it


@pytest.mark.slow
def test_the_openai_sdk_starts_in_a_child_without_a_key_and_is_refused_once(sealed):
    body = """
    code = "import asking; print(asking.ask_openai('known')); asking.ask_openai('unknown')"
    child = subprocess.run([sys.executable, "-c", code], env=PLAIN)
    print(child.returncode)
    """
    done = sealed.run(body)
    assert done.out.split("\n")[:3] == ["answer 1 to: known", "1", "1 known of"], done.err
    assert done.out.split("\n")[3] == "raised True"


def test_refusals_of_children_can_be_expected(sealed):
    body = """
    with session.expect_refusal() as expected:
        subprocess.run(CHILD)
    with session.expect_refusal():
        with ProcessPoolExecutor(1) as pool:
            pool.submit(ask, "unknown").result()
    print(len(expected.refusals))
    """
    done = sealed.run(body)
    assert done.out.split("\n")[2:] == ["1", "2 known of", "True as before", ""], done.err


@pytest.mark.whole
def test_a_child_of_nested_sessions_belongs_to_the_inner_one(sealed):
    body = """
    try:
        with onetake.use_cassette("empty", mode="none") as inner:
            subprocess.run([sys.executable, "-c", "import asking; asking.ask('unknown')"], env=PLAIN, stderr=-3)
            print(len(inner.refusals), "inside")
    except onetake.InteractionNotFound as refusal:
        print(refusal.args[2])
    print(subprocess.run(CHILD, capture_output=True, text=True).stdout)
    """
    done = sealed.run(body)
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
def test_children_of_threads_side_by_side_get_their_threads_session(sealed):
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
    done = sealed.run(body)
    assert done.out.split("\n")[0] == str([("left", "left (empty)\n1"), ("right", "right (empty)\n1")]), done.err


@pytest.mark.whole
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX only")
def test_a_server_of_forks_that_is_older_than_the_session_is_told_of_it(sealed):
    source = """
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
    done = sealed.run_file({"program.py": source}, "program.py", asked=2)
    assert done.out.split("\n") == [
        "answer 1 to: known",
        "InteractionNotFound",
        "1",
        # After the sessions a child of the same server is nobody's.
        "answer 2 to: known afterwards",
        "answer 3 to: unknown afterwards",
        "",
    ], done.err


def test_a_child_that_outlives_the_session_stays_sealed(sealed):
    body = """
    code = "import sys, asking; print('ready', flush=True); sys.stdin.read(); asking.both()"
    globals()["late"] = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True, env=PLAIN)
    late.stdout.readline()
    """
    tail = "    print(late.communicate()[0])\n"
    done = sealed.run(body, tail)
    assert done.out == "0 known of\nTrue as before\nanswer 1 to: known\nInteractionNotFound\n\n", done.err


def test_a_pytest_test_whose_child_was_refused_fails_in_its_call_phase(sealed):
    source = """
import subprocess, sys, pytest

@pytest.mark.cassette("c")
def test_swallows():
    subprocess.run([sys.executable, "asking.py"], check=True)

@pytest.mark.cassette("c")
def test_expects(cassette):
    with cassette.expect_refusal():
        subprocess.run([sys.executable, "asking.py"], check=True)
"""
    done = sealed.run_file({"test_app.py": source}, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_app.py")
    assert done.code == 1
    assert "1 failed, 1 passed" in done.out, done.out
    assert "FAILED test_app.py::test_swallows - onetake.errors.InteractionNotFound" in done.out
