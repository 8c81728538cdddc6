"""What a process says at its end, however it ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import multiprocessing, os, sys
from onetake import leaving


def say():
    print("said", flush=True)


def broken():
    raise ValueError


def job():
    leaving.before_end(broken)
    leaving.before_end(say)


if __name__ == "__main__":
    BODY
"""


def said(body):
    done = subprocess.run([sys.executable, "-c", _PROGRAM.replace("BODY", body)], capture_output=True, text=True)
    return done.returncode, done.stdout.split()


@pytest.mark.parametrize(
    ("end", "code"),
    [("pass", 0), ("sys.exit(3)", 3), ("os._exit(4)", 4), ("os._exit(status=5)", 5)],
    ids=["end", "exit", "_exit", "by-name"],
)
def test_the_last_words_are_said_once_by_every_way_out(end, code):
    assert said(f"job(); {end}") == (code, ["said"])


def test_what_was_taken_back_is_not_said():
    assert said("job(); leaving.no_more(say); os._exit(0)") == (0, [])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_says_its_parents_last_words_too():
    assert said("job(); os.fork() or os._exit(0); os.wait(); leaving.no_more(say)") == (0, ["said"])
    body = "p = multiprocessing.get_context('fork').Process(target=job); p.start(); p.join()"
    assert said(body) == (0, ["said"])


@pytest.mark.parametrize("end", ["pass", "sys.exit(3)", "os._exit(4)", "1 / 0"])
def test_a_code_of_ours_goes_before_the_processs_own(end):
    code, words = said(f"job(); leaving.end_with(6); {end}")
    assert (code, words) == (6, ["said"])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are POSIX's")
def test_a_forked_child_keeps_its_own_code():
    body = "leaving.end_with(6); child = os.fork() or sys.exit(3); print(os.waitstatus_to_exitcode(os.wait()[1]))"
    assert said(body) == (6, ["3"])
