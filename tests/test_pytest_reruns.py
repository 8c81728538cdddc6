"""Tests that are tried again, selected or repeated: each try is a session of its own, and the last one counts."""

from __future__ import annotations

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.testing.provider import openai_chat

pytest_plugins = ("pytester",)

FLAKY = """
import pytest
from asking import ask

TRIES = []

@pytest.fixture(scope="module")
def wide():
    return ask("wide")

@pytest.mark.cassette
def test_it(cassette, wide):
    TRIES.append(len(cassette.requests))
    assert ask("same")[:8] == "answer 2"
    assert ask("same")[:8] == "answer 3"
    assert TRIES in ([0, 0], [0, 0, 0]), "flaky"

@pytest.mark.flaky(reruns=1)
def test_refused_once(cassette, tries=[]):
    tries.append(1)
    ask("refused" if len(tries) == 1 and cassette.mode == "none" else "fine")
"""


def test_what_a_failed_try_recorded_answers_the_next_and_the_test_counts_once(inner, provider):
    inner.write("test_it.py", FLAKY)
    result = inner("--reruns=1", "--record-mode=once")
    result.stdout.fnmatch_lines(["*2 passed, 1 rerun in *"])
    said = result.stdout.str()
    assert provider.count == 4
    assert len(inner.files("cassettes")) == 4
    assert inner.files(".onetake/pending") == []
    assert "onetake" in said
    assert "4 recorded" in said
    assert "test_it: 2 answered from an earlier run of this test, which failed" in said
    assert "kept aside" not in said
    result = inner("--reruns=1", "-v")
    result.stdout.fnmatch_lines(
        [
            "*2 passed, 2 rerun in *",
        ]
    )
    assert "4 replayed" in result.stdout.str()
    assert "refused" not in result.stdout.str().rpartition("= onetake =")[2].replace("test_refused_once", "")
    assert provider.count == 4


def test_a_test_that_fails_in_every_try_keeps_all_aside(inner, provider):
    inner.write("test_it.py", "from asking import ask\ndef test_it(cassette):\n    ask('x')\n    assert False\n")
    result = inner("--reruns=2", "--record-mode=once")
    result.stdout.fnmatch_lines(["*1 failed, 2 rerun in *"])
    assert "1 kept aside" in result.stdout.str()
    assert (provider.count, inner.files("cassettes"), len(inner.files(".onetake/pending"))) == (1, [], 1)


def test_a_fixture_of_a_wider_scope_that_failed_is_tried_again_too(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        TRIES = []

        @pytest.fixture(scope="module")
        def wide():
            TRIES.append(1)
            answer = ask("wide")
            assert len(TRIES) > 1
            return answer

        @pytest.mark.cassette
        def test_it(wide):
            pass
        """,
    )
    inner("--reruns=1", "--record-mode=once").stdout.fnmatch_lines(["*1 passed, 1 rerun in *"])
    assert (provider.count, len(inner.files("cassettes")), inner.files(".onetake/pending")) == (1, 1, [])


def test_last_failed_first_failed_and_stopping_at_the_first(inner, provider, pytester):
    provider.script(openai_chat(letter) for letter in "abc")
    inner.write(
        "test_it.py",
        """
        import os, pytest
        from asking import ask

        @pytest.mark.cassette
        @pytest.mark.parametrize("n", range(3))
        def test_it(n):
            assert ask(f"n {n}") == "abc"[n]
            assert n != 1 or os.path.exists("mended")
        """,
    )

    def run(*arguments):
        return pytester.runpytest_inprocess("-p", "no:xdist", "--record-mode=once", *arguments)

    run("-x").assert_outcomes(passed=1, failed=1)
    assert (provider.count, len(inner.files("cassettes"))) == (2, 1)
    (inner.path / "mended").touch()
    run("--lf").assert_outcomes(passed=1)
    assert (provider.count, len(inner.files("cassettes"))) == (2, 2)
    run("--ff").assert_outcomes(passed=3)
    assert (provider.count, len(inner.files("cassettes"))) == (3, 3)


def test_the_debugger_opens_at_a_refusal_and_hangs_at_none(inner, provider):
    inner.write(
        "test_it.py",
        "from asking import ask\ndef test_it(cassette):\n    ask('x')\n\ndef test_b(cassette):\n    pass\n",
    )
    inner.write(
        "quiet_pdb.py",
        """
        class Quiet:
            def __init__(self, *args, **kwargs): self.curframe = None
            def reset(self): pass
            def interaction(self, frame, trace): print("DEBUGGER AT", trace.tb_frame.f_code.co_name)
            quitting = False
        """,
    )
    result = inner("--pdb", "--pdbcls=quiet_pdb:Quiet", "-s")
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["DEBUGGER AT *"])
