"""The end of a run: counts, cost, and for each thing that nothing else tells one line that leads to its mend."""

from __future__ import annotations

import json

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

from onetake.pytest_reports import OUTCOME
from onetake.pytest_summary import Results
from onetake.testing.provider import openai_chat

pytest_plugins = ("pytester",)

ONLY_THAT = "asks only that; after an edited prompt the old entries stay beside the new ones, unused"
EVERYTHING = "asks all requests of these tests anew; old entries of a test's own cassette go to the trash"

ONE = "from asking import ask\ndef test_it(cassette):\n    ask('hi')\n"


def summary(result):
    """Return the lines of a run's summary, blank ones left out."""
    lines = result.stdout.str().splitlines()
    start = next(number for number, line in enumerate(lines) if " onetake =" in line)
    ends = (number for number, line in enumerate(lines) if number > start and line.startswith("=="))
    return [line for line in lines[start + 1 : next(ends, len(lines))] if line]


def test_one_line_where_nothing_went_wrong_and_none_where_that_is_too_much(inner, provider):
    inner.write("test_plain.py", "def test_plain():\n    pass\n")
    assert "onetake:" not in inner("test_plain.py").stdout.str()
    inner.write("test_it.py", ONE)
    provider.script(lambda request: openai_chat("hello", model="gpt-4o-mini"))
    result = inner("--record-mode=once", "-q")
    result.stdout.fnmatch_lines(["onetake: 1 recorded; live: 1 call, * tokens, under $0.0001"])
    result = inner()
    result.stdout.fnmatch_lines(["onetake: 1 replayed"])
    assert "live" not in result.stdout.str()
    assert "onetake:" not in inner("-q").stdout.str()
    inner.write("test_it.py", "def test_it(cassette):\n    pass\n")
    inner("--unused=ignore").stdout.fnmatch_lines(["onetake: 1 test with a cassette asked for nothing"])


def test_a_session_of_use_cassette_counts_too(inner):
    inner.write(
        "test_it.py",
        """
        import onetake
        from asking import ask

        @onetake.use_cassette("c", mode="once")
        def test_it():
            ask("hi")
        """,
    )
    inner().stdout.fnmatch_lines(["onetake: 1 recorded; live: 1 call*"])
    inner().stdout.fnmatch_lines(["onetake: 1 replayed"])


def test_a_pytest_inside_a_test_tells_its_sessions_to_its_own_run_alone(inner, tmp_path):
    scope = """
        import onetake, pytest
        from asking import ask

        def test_it():
            with onetake.use_cassette("{name}", mode="once"):
                ask("hi")
    """
    inner.write("within/test_within.py", scope.format(name="own"))
    start = "pytest.main(['within', '--rootdir=within', '-q', '-p', 'no:cacheprovider'])"
    runs = f"\n\ndef test_runs():\n    assert {start} == 0\n"
    path = inner.write("test_outer.py", scope.format(name="outer"))
    path.write_text(path.read_text() + runs)
    report = tmp_path / "report.json"
    assert inner("test_outer.py", f"--onetake-report={report}").ret == 0
    assert [test["cassette"] for test in json.loads(report.read_bytes())["tests"]] == ["outer"]
    ledgers = [json.loads(path.read_bytes())["cassettes"] for path in inner.path.rglob(".onetake/usage/*.json")]
    assert {tuple(ledger) for ledger in ledgers} == {("outer",), ("own",)}


ANEW = """
import os, pytest, uuid
from asking import ask

N = os.environ["NUMBER"]
UUID = str(uuid.uuid5(uuid.NAMESPACE_DNS, N))

def test_metadata(cassette):
    for text in "abcde":
        ask(text, metadata={"run": f"run {N}"})

def test_id(cassette):
    ask("a", user_id=UUID)

def test_in_a_text(cassette):
    ask(f"ticket {UUID}")

def test_prompt(cassette):
    ask("take " + N)

@pytest.mark.cassette("shared")
def test_shared_first():
    ask("one")

def test_as_ever(cassette):
    ask("hi")
    ask("more") if N == "2" else None
"""


SHARED = "import pytest\nfrom asking import ask\n@pytest.mark.cassette('shared')\ndef test_second():\n    ask('two')\n"


def test_what_changes_by_itself_is_found_and_the_rule_is_named(inner, provider, monkeypatch):
    inner.write("test_it.py", ANEW)
    monkeypatch.setenv("NUMBER", "1")
    assert "0 played" not in inner("--record-mode=new_episodes").stdout.str()
    monkeypatch.setenv("NUMBER", "2")
    inner.write("test_more.py", SHARED)
    result = inner("--record-mode=new_episodes")
    told = [line.removeprefix("test_it.py::") for line in summary(result) if " played: " in line]
    rule, end = "if that does not count, add to [tool.onetake.key]:", ", and run `onetake rekey`"
    uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    assert told == [
        f'test_metadata: 5 new, 0 played: all differ at $.metadata.run; {rule} ignore = ["$.metadata.run"]{end}',
        f'test_id: 1 new, 0 played: it differs at $.user_id; {rule} ids = ["$.user_id"]{end}',
        f"test_in_a_text: 1 new, 0 played: it differs at $.messages[*].content; {rule}"
        f" replace = [{{ pattern = '{uuid}', with = \"UUID\" }}]{end}",
        "test_prompt: 1 new, 0 played: it differs at $.messages[*].content; likely an edited prompt, whose old entries"
        " are unused now: --record-mode=all replaces them; if nobody edited it, every run asks anew",
    ]
    inner.write("onetake.toml", "[key]\nignore = ['$.metadata.run']\n")
    ruled = inner("--record-mode=new_episodes", "-k", "metadata").stdout
    ruled.fnmatch_lines(["onetake: 5 recorded; live: 5 calls*"])
    assert "0 played" not in ruled.str()  # the rule is in force: there is nothing more to add
    monkeypatch.setenv("NUMBER", "3")
    before = provider.count
    inner("-k", "metadata").stdout.fnmatch_lines(["onetake: 5 replayed"])
    assert provider.count == before


def test_br_087_what_only_recording_mends_is_counted_and_told_from_the_rest(inner, provider):
    inner.write(
        "test_it.py",
        """
        import onetake, pytest
        from asking import ask

        pytestmark = pytest.mark.cassette

        @pytest.fixture(scope="module")
        def outline():
            return ask("outline")

        def test_a(outline):
            pass

        def test_b(outline):
            pass

        def test_missing():
            ask("missing")

        def test_damaged():
            ask("--record-mode=none")

        @pytest.mark.cassette(contract=onetake.Contract({"type": "integer"}, name="count"), mode="once")
        def test_rejected():
            ask("none")
        """,
    )
    inner("--record-mode=once", "-k", "damaged").assert_outcomes(passed=1, deselected=4)
    (inner.path / inner.files("cassettes")[0]).write_bytes(b"{")
    result = inner()
    result.assert_outcomes(failed=3, errors=2)
    lines = summary(result)
    assert lines[0] == "1 rejected, 4 refused"
    assert lines[2:] == [
        "2 of the 4 refused requests miss an answer in 1 test and 1 fixture, which say why;"
        " to record what is missing or stale:",
        f"  pytest --record-mode=new_episodes ({ONLY_THAT})",
        f"  pytest --record-mode=all ({EVERYTHING})",
    ]
    inner("--record-mode=new_episodes").assert_outcomes(passed=3, failed=2)


@pytest.mark.whole
def test_an_edit_that_many_tests_share_is_told_in_one_line_and_all_retires_the_old_entries(inner, monkeypatch):
    inner.write(
        "test_it.py",
        """
        import os, pytest
        from asking import ask

        @pytest.mark.parametrize("n", range(3))
        def test_it(cassette, n):
            ask(f"{os.environ['PROMPT']}: {n}")
            ask(f"{os.environ['PROMPT']}: {n} again")
        """,
    )
    monkeypatch.setenv("PROMPT", "label it")
    inner("--record-mode=once").assert_outcomes(passed=3)
    monkeypatch.setenv("PROMPT", "sort it")
    told = summary(inner("--record-mode=new_episodes"))
    assert told[0] == "6 recorded, 6 unused"
    assert told[2:4] == [
        "3 tests: 6 new, 0 played: all differ at $.messages[*].content; likely an edited prompt, whose old entries are"
        " unused now: --record-mode=all replaces them; if nobody edited it, every run asks anew",
        "6 unused entries: all tests ran and passed, and none asked for what these hold:",
    ]
    result = inner("--unused=fail", "--color=yes")
    result.assert_outcomes(passed=3)
    assert result.ret == 1
    assert "\x1b[31m--unused=fail: this fails the run\x1b[0m" in result.stdout.str()
    assert "in a test's own cassette" in result.stdout.str()
    inner("--record-mode=all").stdout.fnmatch_lines(["onetake: 6 replaced, 6 moved to the trash; live: *"])
    inner("--unused=fail", "-q").assert_outcomes(passed=3)


def test_of_a_test_that_failed_or_was_skipped_it_means_nothing_that_it_asked_for_nothing(inner):
    inner.write(
        "test_it.py",
        """
        import pytest

        def test_no_key(cassette):
            raise LookupError("no key")

        def test_skipped(cassette):
            pytest.skip("not here")
        """,
    )
    result = inner("--record-mode=once")
    result.assert_outcomes(failed=1, skipped=1)
    assert "onetake:" not in result.stdout.str()


def test_the_first_thing_a_failing_test_says_is_its_own_failure(inner):
    inner.write(
        "test_it.py",
        """
        from asking import ask

        def test_it(cassette):
            for text in ("one", "two"):
                try:
                    ask(text)
                except BaseException:
                    pass
            assert "the answer" == "forty-two"

        def test_misses(cassette):
            ask("three")

        def test_misses_too(cassette):
            ask("four")
        """,
    )
    result = inner()
    result.assert_outcomes(failed=3)
    text = result.stdout.str()
    start = text.index("_ test_it _")
    assert text.index("E       AssertionError: assert 'the answer' == 'forty-two'", start) < text.index(
        "no interaction", start
    )
    assert summary(result) == [
        "4 refused",
        "4 requests refused in 3 tests, which say why; to record what is missing or stale:",
        f"  pytest --record-mode=new_episodes ({ONLY_THAT})",
        f"  pytest --record-mode=all ({EVERYTHING})",
    ]


@pytest.mark.whole
def test_a_long_summary_ends_with_how_much_is_left_and_nothing_is_said_twice(inner, provider):
    provider.script(lambda request: openai_chat("so far", finish="length"))
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        @pytest.mark.parametrize("n", range(32))
        def test_it(cassette, n):
            ask(f"{n}")
        """,
    )
    lines = summary(inner("--record-mode=once"))
    assert len(lines) == 33
    assert lines[0] == "32 recorded"
    assert lines[-1] == "and 2 more; -v shows all, and --onetake-report=FILE keeps them"
    assert len(set(lines)) == len(lines)


@pytest.mark.slow
def test_br_087_a_call_after_its_test_fails_the_run_of_workers_too(inner):
    inner.write(
        "test_it.py",
        """
        import threading
        from asking import ask

        go, gone = threading.Event(), threading.Event()

        def late():
            go.wait(30)
            try:
                ask("late")
            except BaseException:
                pass
            gone.set()

        def test_a(cassette):
            threading.Thread(target=late).start()

        def test_b():
            go.set()
            assert gone.wait(30)
        """,
    )
    result = inner("-p", "xdist", "-n", "1", "--record-mode=new_episodes")
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "1 refused",
            "test_it.py::test_a: after its end: the session on * has ended: POST*",
            "a call after the end of its test: this fails the run",
        ]
    )


def test_a_test_that_is_tried_again_counts_once_and_pays_for_every_call(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        tries = []

        @pytest.mark.flaky(reruns=1)
        def test_it(cassette):
            ask("hi")
            tries.append(1)
            assert len(tries) == 2
            ask("more")
        """,
    )
    result = inner("--record-mode=once", "-p", "rerunfailures")
    result.assert_outcomes(passed=1)
    assert provider.count == 2
    assert summary(result)[:2] == ["2 recorded", "live: 2 calls, 2 + 43 tokens, cost unknown for 2 answers of model m"]


def a_report(worker, number, calls, nodeid="test_it.py::test_it"):
    """Return a report of a test by a worker, as the process that merges gets it."""
    report = pytest.TestReport(nodeid, ("test_it.py", 0, "test_it"), {}, "failed", None, "teardown")
    live = {"calls": calls, "input_tokens": 0, "output_tokens": 0, "cost_usd": None, "unpriced": {}}
    vars(report)[OUTCOME] = {"run": f"{worker}-{number}", "worker": worker, "test": nodeid, "live": live}
    return report


def test_workers_that_all_run_the_same_test_are_no_tries_of_it():
    results = Results()
    # A failing test tells twice, and under `--dist=each` what two workers tell comes in any order.
    for report in (a_report("gw0", 1, 3), a_report("gw1", 1, 5), a_report("gw0", 1, 3), a_report("gw1", 1, 5)):
        results.pytest_runtest_logreport(report)
    assert (set(results.outcomes), results.spent["calls"]) == ({"gw0-1", "gw1-1"}, 8)
    results.pytest_runtest_logreport(a_report("gw1", 2, 1))
    assert (set(results.outcomes), results.spent["calls"]) == ({"gw0-1", "gw1-2"}, 9)
