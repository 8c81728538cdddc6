"""The `vcr` marker: honoured where it is free, said in our words, and never beside a plugin that serves it."""

from __future__ import annotations

import os
import textwrap
from importlib import metadata
from pathlib import Path

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.testing.project import Project

pytest_plugins = ("pytester",)

MARKED = """
import enum
import pytest
from asking import ask

class RecordMode(str, enum.Enum):
    ONCE = "once"

@pytest.mark.vcr
def test_bare():
    assert ask("bare").endswith("to: bare")

@pytest.mark.vcr("tapes/named.yaml", "tapes/other.yaml", record_mode=RecordMode.ONCE)
def test_named():
    ask("named")

@pytest.mark.vcr(match_on=["method", "body"], filter_headers=["authorization"], allow_playback_repeats=True)
def test_repeats(cassette):
    assert ask("x") == ask("x")
    assert len(cassette.requests) == 2

@pytest.mark.vcr(before_record_response=print)
class TestIt:
    @pytest.mark.cassette(mode="none")
    def test_ours_goes_before(self, cassette):
        assert cassette.mode == "none"

    @pytest.mark.vcr(record_mode="new_episodes", ignore_hosts=["127.0.0.1"])
    def test_ignores(self, cassette):
        ask("untouched")
        assert cassette.requests == ()
"""


def test_it_opens_our_session_and_what_means_nothing_here_is_told_once(inner, provider):
    inner.write("test_it.py", MARKED)
    inner.write("tapes/named.yaml", "interactions: []\n")
    result = inner("--strict-markers", "-p", "no:randomly", "-k", "not ours and not ignores", "--record-mode=once")
    result.assert_outcomes(passed=3, deselected=2)
    result = inner("--record-mode=none", "-k", "named or repeats")
    result.assert_outcomes(passed=2, deselected=3)
    told = [line for line in result.outlines if "vcr" in line]
    assert told == [
        "vcr: match_on (method, body) leaves out scheme, host, port, path, query: whole requests are compared;"
        " `ignore`, `ids`, `replace` and `origins` in `key` leave out what changes (1 test)",
        "vcr: record_mode = once of the vcr marker goes before --record-mode=none (1 test)",
    ]
    assert {name.rpartition("/")[0] for name in inner.files() if not name.startswith(".onetake")} == {
        "cassettes/test_it/test_bare",
        "cassettes/test_it/test_named",
        "cassettes/test_it/test_repeats",
    }
    assert (inner.path / "tapes/named.yaml").read_text() == "interactions: []\n"
    assert provider.count == 3
    inner("--strict-markers").assert_outcomes(passed=5)
    assert provider.count == 4
    result = inner("--markers")
    result.stdout.fnmatch_lines(["@pytest.mark.vcr([*]cassettes, [*][*]configuration): as `cassette`*"])


def test_its_fixtures_are_read(inner, provider):
    inner.write(
        "conftest.py",
        """
        import pytest

        @pytest.fixture(scope="module")
        def vcr_config():
            return {"record_mode": "once", "filter_headers": ["authorization"]}

        @pytest.fixture(scope="module")
        def vcr_cassette_dir(request):
            return f"tapes/{request.module.__name__}"
        """,
    )
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        @pytest.mark.vcr
        def test_it(cassette):
            ask("hi")
            assert cassette.mode == "once"

        @pytest.mark.vcr(record_mode="none")
        def test_sealed(cassette):
            assert cassette.mode == "none"

        @pytest.mark.cassette
        def test_ours(cassette):
            assert cassette.mode == "none"
        """,
    )
    result = inner()
    result.assert_outcomes(passed=3)
    assert "vcr" not in result.stdout.str()
    (entry,) = [name for name in inner.files() if not name.startswith(".onetake")]
    assert entry.startswith("tapes/test_it/test_it/")


@pytest.mark.parametrize("claim", ["conftest", "ini"])
def test_a_marker_that_somebody_else_declared_is_left_alone(inner, provider, claim):
    if claim == "ini":
        inner.write("pytest.ini", "[pytest]\npythonpath = .\nmarkers =\n  vcr: ours\n")
    else:
        inner.write(
            "conftest.py", "def pytest_configure(config):\n    config.addinivalue_line('markers', 'vcr(x): ours')\n"
        )
    inner.write("test_it.py", "import pytest\nfrom asking import ask\n@pytest.mark.vcr\ndef test_it(): ask('live')\n")
    inner("--strict-markers").assert_outcomes(passed=1)
    assert (provider.count, inner.files("cassettes")) == (1, [])


def _other_plugin(folder: Path, name: str) -> None:
    """Install a made-up distribution whose pytest plugin serves the `vcr` marker."""
    module = f"plugin_of_{name}"
    (folder / f"{module}.py").write_text(
        "def pytest_configure(config):\n    config.addinivalue_line('markers', 'vcr: theirs')\n"
    )
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")


def _beside(tmp_path, provider, folder: Path) -> Project:
    before = os.environ.get("PYTHONPATH")
    environment = {
        "PROVIDER": provider.url,
        "PYTHONPATH": os.pathsep.join([str(folder), *([before] if before else [])]),
        "PYTEST_ADDOPTS": "-p no:hypothesispytest -p no:respx -p no:xdist -p no:pytest_cov -p no:asyncio -p no:anyio",
    }
    asking = (
        "import os, httpx\ndef ask(text):\n"
        "    body = {'model': 'm', 'messages': [{'role': 'user', 'content': text}]}\n"
        "    return httpx.post(os.environ['PROVIDER'] + '/v1/chat/completions', json=body).json()\n"
    )
    test = "import pytest\nfrom asking import ask\n@pytest.mark.vcr\ndef test_it():\n    ask('hi')\n"
    files = {"pytest.ini": "[pytest]\npythonpath = .\n", "onetake.toml": "", "asking.py": asking, "test_it.py": test}
    return Project(tmp_path / "project", files, environment)


@pytest.mark.whole
def test_beside_a_plugin_that_serves_it_we_do_not_claim_it_and_where_that_is_blocked_we_do(tmp_path, provider):
    other = tmp_path / "other"
    other.mkdir()
    _other_plugin(other, "recording")
    _other_plugin(other, "vcr")
    project = _beside(tmp_path, provider, other)
    done = project.pytest("-q", "--strict-markers")
    assert ("1 passed" in done.out, provider.count, project.files("cassettes")) == (True, 1, []), done.out + done.err
    done = project.pytest("-q", "--onetake-vcr")
    assert (done.code, "--onetake-vcr beside pytest-vcr: switch that off by -p no:vcr" in done.err) == (4, True)
    blocked = ("-p", "no:recording", "-p", "no:vcr", "-q", "--strict-markers")
    assert "1 failed" in project.pytest(*blocked).out
    assert "1 passed" in project.pytest(*blocked, "--record-mode=once").out
    assert (provider.count, len(project.files("cassettes"))) == (2, 1)


@pytest.mark.slow
def test_beside_pytest_recording_itself_the_marker_is_theirs(tmp_path, provider):
    """Set ONETAKE_PYTEST_RECORDING to a folder that pytest-recording and vcrpy are installed in."""
    folder = os.environ.get("ONETAKE_PYTEST_RECORDING")
    if not folder:
        pytest.skip("ONETAKE_PYTEST_RECORDING names no folder with pytest-recording and vcrpy")
    assert any(found.name == "pytest-recording" for found in metadata.distributions(path=[folder]))
    project = _beside(tmp_path, provider, Path(folder))
    done = project.pytest("-q", "--strict-markers", "--record-mode=once")
    assert "1 passed" in done.out, done.out
    assert (project.folder / "cassettes/test_it/test_it.yaml").is_file()
    assert project.files("cassettes") == ["cassettes/test_it/test_it.yaml"]
    assert "pytest-recording serves the vcr marker; --onetake-vcr has onetake do so" in done.out
    done = project.pytest("-q", "--strict-markers", "--record-mode=once", "-p", "no:recording")
    assert "1 passed" in done.out, done.out
    assert (provider.count, len(project.files("cassettes"))) == (2, 2)
    provider.close()
    done = project.pytest("-q", "--strict-markers", "--onetake-vcr", "--record-mode=none", "--block-network")
    assert "1 passed" in done.out, done.out
    assert "onetake serves the vcr marker (--onetake-vcr); pytest-recording stands aside" in done.out
    assert provider.count == 2


REFUSED = {
    "{'custom_patches': [(json, 'x', 1)]}": "custom_patches has no equal here: patch by pytest's `monkeypatch`",
    "{'before_save_interaction': print}": "before_save_interaction has no equal here: change requests by",
    "{'after_load_interaction': print}": "after_load_interaction has no equal here: replay gives the stored bytes",
    "{'skip_patchers': ['httpx']}": "skip_patchers has no equal here: let the traffic",
    "{'match_on': ['methud']}": "match_on: no matcher 'methud' is registered",
    "{'match_on': 'body'}": "match_on takes a list of matchers' names; this is a str",
    "{'filter_sensitive_data': {'X': print}}": "filter_sensitive_data by a function has no equal here",
    "{'filter_sensitive_data': ['s3cret']}": "filter_sensitive_data takes a dict",
    "{'before_record_request': 'x'}": "before_record_request takes a function",
    "{'ignore_hosts': 7}": "ignore_hosts takes hosts",
    "{'record_mode': 'bogus'}": "record_mode: unknown word 'bogus' (it takes none, once, new_episodes, all",
    "[('filter_headers', ['x'])]": "the fixture vcr_config gives a list, not a mapping",
}


def test_what_has_no_equal_or_is_no_value_is_refused_by_name_before_anything_is_asked(inner, provider):
    classes = "".join(
        f"class TestIt{number}:\n"
        f"    @pytest.fixture\n    def vcr_config(self): return {said}\n"
        f"    @pytest.mark.vcr\n    def test_it(self): ask('x')\n"
        for number, said in enumerate(REFUSED)
    )
    inner.write("test_it.py", f"import json, pytest\nfrom asking import ask\n{classes}")
    result = inner("--record-mode=once")
    result.assert_outcomes(errors=len(REFUSED))
    text = result.stdout.str()
    assert [said for said in REFUSED.values() if f"onetake: {said}" not in text and f"vcrpy's {said}" not in text] == []
    assert "s3cret" not in text
    assert provider.count == 0


def test_a_configuration_that_needs_a_fixture_which_is_not_there_is_an_error_of_its_test(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        class TestBroken:
            @pytest.fixture
            def vcr_config(self, no_such_fixture): return {"record_mode": "none"}

            @pytest.mark.vcr
            def test_it(self): ask("x")

        @pytest.mark.vcr(record_mode="any")
        def test_any(cassette): assert cassette.mode == "new_episodes"
        """,
    )
    result = inner("--record-mode=once")
    result.assert_outcomes(errors=1, passed=1)
    assert "fixture 'no_such_fixture' not found" in result.stdout.str()
    assert provider.count == 0


def test_a_record_mode_of_the_configuration_goes_before_the_option_and_none_of_the_environment_before_it(
    inner, provider, monkeypatch
):
    inner.write("conftest.py", "import pytest\n@pytest.fixture\ndef vcr_config(): return {'record_mode': 'once'}\n")
    test = "import pytest\n@pytest.mark.vcr\ndef test_it(cassette): assert cassette.mode == '{}'\n"
    misses = """
        from asking import ask

        @pytest.mark.vcr(record_mode="none")
        def test_miss(): ask("a")

        @pytest.mark.vcr("tapes/a.yaml", record_mode="none")
        def test_other_miss(): ask("b")
    """
    inner.write("test_it.py", test.format("once") + textwrap.dedent(misses))
    result = inner("--onetake-vcr", "--record-mode=all")
    result.assert_outcomes(passed=1, failed=2)
    text = result.stdout.str()
    assert "vcr: record_mode = once of vcr_config goes before --record-mode=all (1 test)" in text
    result.stdout.fnmatch_lines(
        [
            "*to mend it: take record_mode out of the vcr marker first: it goes before --record-mode",
            "*no entry for this test yet: pytest --onetake-vcr --record-mode=once test_it.py::test_miss",
            "*2 requests refused in 2 tests, which say why; to record what is missing or stale:",
            "  take record_mode out of the vcr marker first: it goes before --record-mode",
            "  pytest --onetake-vcr --record-mode=new_episodes (*",
        ]
    )
    monkeypatch.setenv("ONETAKE_MODE", "none")
    inner.write("test_it.py", test.format("none"))
    inner("--record-mode=all").assert_outcomes(passed=1)


def test_a_sealed_session_lets_no_call_to_a_model_out_by_the_suites_own_words(inner, provider):
    inner.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        def keep_only_bodies(request):
            return request if request.body else None

        def by_host(request):
            return None

        @pytest.mark.vcr(before_record_request=keep_only_bodies, filter_headers=["x-secret"])
        def test_sealed(): ask("hi")

        @pytest.mark.vcr(before_record_request=by_host, filter_headers=["x-secret"])
        def test_none(): ask("there")

        @pytest.mark.vcr(ignore_hosts=["127.0.0.1"])
        def test_host(): ask("there")

        @pytest.mark.vcr(ignore_localhost=True)
        @pytest.mark.cassette(ignore=["127.0.0.1"])
        def test_let_out(cassette):
            ask("there")
            assert cassette.requests == ()
        """,
    )
    result = inner()
    result.assert_outcomes(passed=1, failed=3)
    text = result.stdout.str()
    assert "no interaction is stored for this request" in text
    for word in ("before_record_request", "ignore_hosts"):
        assert f"the suite's {word} leaves out a call to a model, and a sealed session lets none out by that" in text
        assert f"to mend it: take it out of {word}, so that it is recorded and replayed; or name its host" in text
    assert "narrow the suite's ignore_localhost, which lets it pass" in text
    assert provider.count == 1
