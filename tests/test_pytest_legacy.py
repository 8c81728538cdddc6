"""`match = "legacy"` in a suite: what is told of each test, a number that may only fall, and tests that turn strict."""

from __future__ import annotations

import json

import pytest

from onetake import key_specs
from onetake.format import dump_entry
from onetake.key import Keyer
from onetake.model import Entry, Request

pytest_plugins = ("pytester",)

SUITE = """
import pytest
from asking import ask

pytestmark = pytest.mark.cassette

def test_same():
    assert ask("one").endswith("to: one")

def test_drifted():
    assert ask("old 1") and ask("old 2")
"""


URL = "http://127.0.0.1:9/v1/chat/completions"


@pytest.fixture
def moved(inner, direct, monkeypatch):
    """A suite whose cassettes are imported, one test of which has drifted from its own since; nobody listens there."""
    monkeypatch.setenv("PROVIDER", "http://127.0.0.1:9")
    inner.write("onetake.toml", 'match = "legacy"\nhosts = ["127.0.0.1"]\n')
    inner.write("test_a.py", SUITE)
    for test, prompts in {"test_same": ["one"], "test_drifted": ["old 1", "old 2"]}.items():
        for position, prompt in enumerate(prompts):
            write(inner.path / "cassettes" / "test_a" / test, prompt, position, direct)
    drift(inner)
    return inner


def write(folder, prompt, position, direct):
    """Write an imported entry."""
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}]}
    request = Request(
        "POST", URL, (("content-type", "application/json"),), json.dumps(body, separators=(",", ":")).encode()
    )
    came = {"imported_from": {"path": "tests/cassettes/a.yaml", "position": position}}
    answer, spec = direct.said(f"to: {prompt}"), key_specs.current({})
    entry = Entry("good", request, answer, Keyer().key(request), 0, spec, provenance=came)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{entry.key[:16]}.json").write_bytes(dump_entry(entry)[0])


def drift(inner, new="new", file="test_a.py"):
    text = (inner.path / file).read_text("utf-8")
    inner.write(file, text.replace("old", new))


def book(inner):
    return json.loads((inner.path / "onetake-legacy.json").read_text("utf-8"))["tests"]


def settings(inner):
    return (inner.path / "onetake.toml").read_text("utf-8")


def test_the_first_run_names_what_differs_and_writes_the_number_down(moved):
    result = moved()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*legacy: 2 answers went to requests that differ (prompt 2), in 1 of 2 tests",
            "test_a.py::test_drifted: 2 requests differ",
            '  prompt: POST http://127.0.0.1:9/v1/chat/completions (m, 1 message, "new 1")',
            '    body$.messages?0?.content: asked "new 1", stored "old 1"',
            "1 test had no differing request: from now on matched strictly (onetake-legacy.json; commit it)",
            "legacy_differing is 2 now",
        ]
    )
    assert book(moved) == {"test_a.py::test_drifted": 2, "test_a.py::test_same": 0}
    assert settings(moved) == 'match = "legacy"\nlegacy_differing = 2\nhosts = ["127.0.0.1"]\n'


def test_a_clean_test_is_strict_from_then_on(moved):
    moved()
    moved.write("test_a.py", (moved.path / "test_a.py").read_text("utf-8").replace('ask("one")', 'ask("two")'))
    result = moved()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*no interaction is stored for this request*two*"])
    assert book(moved) == {"test_a.py::test_drifted": 2, "test_a.py::test_same": 0}


def test_more_than_the_number_fails_the_run_and_is_not_written(moved):
    moved()
    before = settings(moved), book(moved)
    moved.write("onetake.toml", settings(moved).replace("legacy_differing = 2", "legacy_differing = 1"))
    result = moved()
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["2 answers go to requests that differ from the recorded ones, and legacy_differing allows 1: *"]
    )
    assert (settings(moved).replace("= 1", "= 2"), book(moved)) == before


@pytest.mark.whole
def test_one_test_run_alone_that_differs_more_fails_it_by_the_numbers_of_the_others(moved):
    moved()
    moved.write("test_b.py", "from test_a import *\n")  # another test of its own cassette
    (moved.path / "cassettes" / "test_a").rename(moved.path / "cassettes" / "test_b")
    result = moved("test_b.py::test_drifted")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["4 answers go to requests that differ *; more in test_b.py::test_drifted"])
    assert book(moved) == {"test_a.py::test_drifted": 2, "test_a.py::test_same": 0}


def test_fewer_lower_it_in_a_whole_run_and_what_was_mended_is_strict(moved):
    moved()
    drift(moved, "old", "test_a.py")
    text = (moved.path / "test_a.py").read_text("utf-8").replace("new 1", "old 1")
    moved.write("test_a.py", text)
    part = moved("test_a.py::test_drifted")
    part.assert_outcomes(passed=1)
    assert "legacy_differing = 2" in settings(moved)
    assert book(moved)["test_a.py::test_drifted"] == 1
    moved().stdout.fnmatch_lines(["legacy_differing is 1 now, it was 2"])
    moved.write("test_a.py", text.replace("new 2", "old 2"))
    moved().stdout.fnmatch_lines(
        [
            "1 test had no differing request: *",
            "legacy_differing is 0 now, it was 1; every test that was seen is strict: *",
        ]
    )
    assert set(book(moved).values()) == {0}
    assert "legacy_differing = 0" in settings(moved)
    again = moved()
    again.assert_outcomes(passed=2)
    assert "legacy" not in again.stdout.str()


def test_recording_a_drifted_test_anew_takes_it_off(moved, provider, monkeypatch):
    moved()
    monkeypatch.setenv("PROVIDER", provider.url)
    result = moved("--record-mode=all")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["legacy_differing is 0 now, it was 2; *"])
    assert set(book(moved).values()) == {0}


def test_in_ci_nothing_is_written_and_it_says_what_could_be(moved, monkeypatch):
    moved.write("onetake.toml", 'match = "legacy"\nlegacy_differing = 5\nhosts = ["127.0.0.1"]\n')
    monkeypatch.setenv("CI", "true")
    result = moved()
    result.stdout.fnmatch_lines(["legacy_differing can fall from 5 to 2: a run outside CI writes it"])
    assert "legacy_differing = 5" in settings(moved)
    assert not (moved.path / "onetake-legacy.json").exists()


@pytest.mark.whole
def test_a_failing_test_may_have_stopped_early_so_its_number_stays(moved):
    moved()
    text = (moved.path / "test_a.py").read_text("utf-8")
    moved.write("test_a.py", text.replace('assert ask("new 1")', 'assert not ask("new 1")'))
    result = moved()
    result.assert_outcomes(passed=1, failed=1)
    assert book(moved)["test_a.py::test_drifted"] == 2
    assert "legacy_differing = 2" in settings(moved)


BROKEN = """

@pytest.fixture(scope="session")
def server():
    raise OSError("none is there")

def test_never_begins(server):
    assert ask("new 3")
"""


def test_a_test_that_never_passed_keeps_the_number_from_being_written_however_often_it_fails(moved):
    before = (moved.path / "test_a.py").read_text("utf-8")
    moved.write("test_a.py", before.replace('assert ask("new 1")', 'assert not ask("new 1")') + BROKEN)
    for _ in range(2):
        result = moved()
        result.assert_outcomes(passed=1, failed=1, errors=1)
        result.stdout.fnmatch_lines(
            ["2 tests failed and never passed yet, * legacy_differing is not written; by what is known it is 1"]
        )
        assert "legacy_differing" not in settings(moved)
        assert book(moved) == {"test_a.py::test_same": 0}


def test_answers_of_no_entry_tell_nothing_of_what_differs(moved, provider, monkeypatch):
    moved()
    before = settings(moved), book(moved)
    monkeypatch.setenv("PROVIDER", provider.url)
    monkeypatch.setenv("ONETAKE_MODE", "off")
    moved().assert_outcomes(passed=2)
    monkeypatch.delenv("ONETAKE_MODE")
    moved.write("test_a.py", SUITE.replace("mark.cassette", 'mark.cassette(ignore=["127.0.0.1"])'))
    moved().assert_outcomes(passed=2)
    assert provider.count == 6
    assert (settings(moved), book(moved)) == before


def test_a_test_that_was_renamed_counts_once(moved):
    moved()
    text = (moved.path / "test_a.py").read_text("utf-8")
    moved.write("test_a.py", text.replace("test_drifted", "test_drifted_on") + "# test_drifted is its old name\n")
    (moved.path / "cassettes/test_a/test_drifted").rename(moved.path / "cassettes/test_a/test_drifted_on")
    assert moved().ret == pytest.ExitCode.OK
    assert book(moved) == {"test_a.py::test_drifted_on": 2, "test_a.py::test_same": 0}
    assert "legacy_differing = 2" in settings(moved)


def test_where_no_number_is_written_each_test_is_held_by_its_own(moved):
    moved.write("onetake-legacy.json", '{"onetake_legacy": 1, "tests": {"test_a.py::test_drifted": 1}}')
    result = moved()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "2 answers go to requests that differ *, and onetake-legacy.json allows fewer: * test_a.py::test_drifted",
            "  to mend it: ask these anew, or put the requests back; a run of all tests takes off *",
        ]
    )
    assert book(moved) == {"test_a.py::test_drifted": 1, "test_a.py::test_same": 0}
    assert "legacy_differing" not in settings(moved)


@pytest.mark.whole
def test_a_test_that_is_gone_counts_no_more(moved):
    moved()
    text = (moved.path / "test_a.py").read_text("utf-8")
    moved.write("test_a.py", text[: text.index("def test_drifted")] + 'def test_other():\n    assert ask("x")\n')
    moved()
    assert book(moved) == {"test_a.py::test_same": 0}


@pytest.mark.whole
def test_the_marker_says_it_for_one_test(moved):
    moved.write("test_a.py", SUITE.replace("old", "new").replace("mark.cassette", 'mark.cassette(match="whole")'))
    result = moved()
    result.assert_outcomes(passed=1, failed=1)
    assert not (moved.path / "onetake-legacy.json").exists()


def test_the_report_has_all_of_it(moved):
    moved("--onetake-report=report.json")
    document = json.loads((moved.path / "report.json").read_text("utf-8"))
    tests = {one["id"]: one for one in document["tests"]}
    assert {name: (one["legacy"], len(one["differing"])) for name, one in tests.items()} == {
        "test_a.py::test_same": (True, 0),
        "test_a.py::test_drifted": (True, 2),
    }
    first = tests["test_a.py::test_drifted"]["differing"][0]
    assert (first["kinds"], first["counts"], first["imported_from"]) == (["prompt"], True, "tests/cassettes/a.yaml")
    assert first["differences"][0]["asked"] == '"new 1"'


@pytest.mark.whole
def test_a_damaged_book_fails_with_what_is_wrong(moved):
    moved.write("onetake-legacy.json", "<<<<<<< ours\n")
    result = moved()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*onetake-legacy.json: is damaged: restore it from version control, or delete it*"])


CHILD = """
import subprocess, sys
import pytest

@pytest.mark.cassette
def test_drifted():
    done = subprocess.run([sys.executable, "-c", "from asking import ask; print(ask('new 1'), ask('new 2'))"],
                          capture_output=True, text=True, timeout=60)
    assert done.stdout == "to: old 1 to: old 2\\n", done.stderr
"""


def test_what_a_child_process_is_answered_counts_too(moved):
    moved.write("test_a.py", CHILD)
    result = moved()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*legacy: 2 answers went to requests that differ (prompt 2), in 1 of 1 test"])
    assert book(moved) == {"test_a.py::test_drifted": 2}


@pytest.mark.whole
def test_workers_of_xdist_are_merged(moved, pytester):
    done = pytester.runpytest_subprocess("-n2", "-p", "no:cacheprovider", timeout=100)
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*legacy: 2 answers went to requests that differ (prompt 2), in 1 of 2 tests"])
    assert book(moved) == {"test_a.py::test_drifted": 2, "test_a.py::test_same": 0}
    assert "legacy_differing = 2" in settings(moved)


SCOPES = """
import pytest
from asking import ask
import onetake

@pytest.mark.cassette(match="whole")
def test_outside(cassette):
    with onetake.use_cassette("cassettes/test_a/test_drifted"):
        assert ask("new 1") == "to: old 1"
"""


@pytest.mark.whole
def test_use_cassette_in_a_test_goes_by_the_settings(moved):
    moved.write("test_a.py", SCOPES)
    result = moved()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*legacy: 1 answer went to requests that differ (prompt 1), in 1 of 1 test"])


OPENED = """
import onetake, vcr
from asking import ask

def test_block():
    with onetake.use_cassette("cassettes/test_a/test_same"):
        assert ask("one").endswith("to: one")

@vcr.use_cassette("cassettes/test_a/test_same.yaml")
def test_theirs():
    assert ask("one").endswith("to: one")

def test_two():
    for _ in range(2):
        with onetake.use_cassette("cassettes/test_a/test_drifted"):
            assert ask("new 1") == "to: old 1"
"""


def test_a_test_counts_with_all_that_it_opens_and_is_strict_there_too_once_it_is_clean(moved):
    pytest.importorskip("vcr")
    moved.write("test_a.py", OPENED)
    moved("--onetake-vcr").assert_outcomes(passed=3)
    assert book(moved) == {"test_a.py::test_block": 0, "test_a.py::test_theirs": 0, "test_a.py::test_two": 2}
    moved.write("test_a.py", OPENED.replace('ask("one")', 'ask("two")'))
    result = moved("--onetake-vcr")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*no interaction is stored for this request*two*"])


SWALLOWS = """
import pytest
from asking import ask

@pytest.mark.cassette
def test_drifted():
    answers = []
    for text in ("new 1", "new 2", "more"):
        try:
            answers.append(ask(text))
        except BaseException:
            answers.append("fallback")
    assert answers == ["to: old 1", "to: old 2", "fallback"]
"""


@pytest.mark.parametrize(("word", "passed"), [("report", 1), pytest.param("fail", 0, marks=pytest.mark.whole)])
def test_a_test_that_swallows_a_miss_today_is_listed_and_may_pass(moved, word, passed):
    moved.write("test_a.py", SWALLOWS)
    moved.write("onetake.toml", f'match = "legacy"\nrefusals = "{word}"\nhosts = ["127.0.0.1"]\n')
    result = moved()
    result.assert_outcomes(passed=passed, failed=1 - passed)
    result.stdout.fnmatch_lines(
        ["*2 interactions with this method and URL were imported, and all have been played (match = ?legacy?)*"]
    )
    if passed:
        assert book(moved) == {"test_a.py::test_drifted": 2}
