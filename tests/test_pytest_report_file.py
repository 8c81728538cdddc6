"""`--onetake-report`: one JSON document of a run, whole, without secrets, also of a run that failed."""

from __future__ import annotations

import json

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

from onetake.testing.provider import openai_chat

pytest_plugins = ("pytester",)

SECRET = "sk-proj-" + "A1b2C3d4" * 6

TESTS = f"""
import onetake, pytest
from asking import ask
from onetake import Contract, ContractError

SECRET = {SECRET!r}

def test_records(cassette):
    ask("one")
    ask("two " + SECRET)

@pytest.mark.cassette(contract=Contract({{"type": "integer"}}, name="number"))
def test_rejected():
    with pytest.raises(ContractError):
        ask("three")

@pytest.mark.cassette(mode="none")
@pytest.mark.parametrize("key", [SECRET])
def test_refused(key):
    ask("never recorded, says " + key)

@pytest.mark.cassette(mode="none")
def test_expected(cassette):
    with cassette.expect_refusal():
        ask("never recorded")

def test_fails(cassette):
    ask("four")
    assert False

def test_scope(tmp_path):
    with onetake.use_cassette(tmp_path / "own", mode="once"):
        ask("five")

@pytest.mark.skip
def test_skipped(cassette):
    pass

def test_plain():
    pass
"""


@pytest.mark.parametrize("workers", ["alone", pytest.param("xdist", marks=[pytest.mark.slow, pytest.mark.whole])])
def test_the_report_tells_what_became_of_each_test(inner, provider, workers):
    provider.script(lambda request: openai_chat(f"7{SECRET}", model="gpt-4o-mini"))
    inner.write("test_it.py", TESTS)
    inner.write("onetake.toml", "mode = 'once'\n")
    (inner.path / "report.json").write_text("an earlier one")
    many = ("-p", "xdist", "-n", "1") if workers == "xdist" else ()
    result = inner("--onetake-report=report.json", *many)
    written = (inner.path / "report.json").read_bytes()
    assert written.isascii()
    assert SECRET.encode() not in written
    assert [path.name for path in inner.path.glob(".report*")] == []
    report = json.loads(written)
    assert report["onetake_report"] == 1
    assert report["exit_status"] == result.ret == 1
    assert report["counts"] == {
        "tests": 5,
        "recorded": 3,
        "replayed": 0,
        "replaced": 0,
        "moved_to_the_trash": 0,
        "rejected": 1,
        "refused": 1,
        "kept_aside": 1,
        "unused": 0,
        "unmarked": 0,
    }
    live = report["live"]
    assert (live["calls"], live["unpriced"]) == (5, {})
    assert live["input_tokens"] > 0 < live["output_tokens"]
    assert live["cost_usd"] > 0
    tests = {one["id"].partition("[")[0].partition("::")[2]: one for one in report["tests"]}
    outcomes = {name: (one["outcome"], one["mode"], one["recorded"], one["kept_aside"]) for name, one in tests.items()}
    assert outcomes == {
        "test_records": ("passed", "once", 2, 0),
        "test_rejected": ("passed", "once", 0, 0),
        "test_refused": ("failed", "none", 0, 0),
        "test_expected": ("passed", "none", 0, 0),
        "test_fails": ("failed", "once", 0, 1),
        "test_scope": ("passed", "once", 1, 0),
    }
    assert tests["test_records"]["cassette"] == "cassettes/test_it/test_records"
    assert (tests["test_records"]["kind"], tests["test_scope"]["kind"]) == ("test", "use_cassette")
    (reject,) = tests["test_rejected"]["rejected"]
    assert reject["kind"] == "violation"
    assert (inner.path / reject["path"]).is_file()
    assert tests["test_rejected"]["remarks"][0].startswith("1 answer refused (violation), not stored")
    (refusal,) = tests["test_refused"]["refusals"]
    assert (refusal["class"], refusal["expected"], refusal["recordable"]) == ("InteractionNotFound", False, True)
    assert "never recorded, says" in refusal["text"]
    assert tests["test_expected"]["refusals"][0]["expected"]
    assert report["unused"] == []
    assert report["unused_unknown_because"]


def test_a_report_that_cannot_be_written_is_said_before_or_fails_the_run(inner):
    inner.write("test_it.py", "def test_it():\n    pass\n")
    result = inner("--onetake-report=nowhere/report.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--onetake-report: *report.json: there is no folder *nowhere*"])
    inner.write("test_it.py", "from pathlib import Path\ndef test_it():\n    Path('report.json').mkdir()\n")
    result = inner("--onetake-report=report.json")
    result.assert_outcomes(passed=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["onetake: *report.json: the report cannot be written: *"])
    assert [path.name for path in inner.path.glob(".report*")] == []


def test_a_run_that_is_stopped_leaves_its_report(inner):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        def test_it(cassette):
            ask("hi")

        def test_stopped():
            pytest.exit("enough")
        """,
    )
    inner("--record-mode=once", "--onetake-report=report.json")
    report = json.loads((inner.path / "report.json").read_bytes())
    assert report["exit_status"] == pytest.ExitCode.INTERRUPTED
    assert [(one["id"], one["recorded"]) for one in report["tests"]] == [("test_it.py::test_it", 1)]
