"""The `vcr` marker: honoured where it is free, said in our words, and never beside a plugin that serves it."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake import key_specs
from onetake.cassette import Cassette
from onetake.model import Entry, Request, Response
from onetake.pytest_vcr_places import folder_name_in
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import folder_name
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

    @pytest.mark.vcr(record_mode="none", ignore_hosts=["127.0.0.1"])
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
        "vcr: match_on (method, body): whole requests are compared; the ways to leave out what changes are `ignore`,"
        " `ids` and `replace` in `key` (1 test)",
        "vcr: record_mode = once goes before --record-mode=none (1 test)",
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


def test_a_wrong_mode_fails_its_test_alone(inner):
    marked = "import pytest\n@pytest.mark.vcr(record_mode='onse')\ndef test_it(): pass\n"
    inner.write("test_it.py", marked + "def test_b(): pass\n")
    result = inner()
    result.assert_outcomes(errors=1, passed=1)
    assert "unknown word 'onse'; did you mean 'once'?" in result.stdout.str()


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


def test_a_test_finds_what_was_imported_under_the_name_that_pytest_recording_gave_its_cassette(tmp_path):
    key = "ab" * 32
    request, response = Request("GET", "https://h/x"), Response(200)
    recorded = Entry("good", request, response, key, 0, key_specs.current({}))
    imported = replace(recorded, provenance={"imported_from": {"path": "a.yaml", "position": 0}})
    names = ("test_a[x-y]", "test_b[x-y]", "test_c[x-y]", "test_d[x]")
    for name, entry in zip(names, (imported, recorded, imported, imported), strict=True):
        Cassette(DirectoryStore(tmp_path / name)).add(entry)
    tests = [f"test_{letter}[x{sign}y]" for letter in "abc" for sign in "/:"] + ["test_d[x]", "test_e[x/y]"]
    (tmp_path / folder_name("test_c[x/y]")).mkdir()
    found = {test: folder_name_in(tmp_path, test) for test in tests}
    assert found == {
        "test_a[x/y]": "test_a[x-y]",
        "test_a[x:y]": "test_a[x-y]",
        "test_b[x/y]": folder_name("test_b[x/y]"),
        "test_b[x:y]": folder_name("test_b[x:y]"),
        "test_c[x/y]": folder_name("test_c[x/y]"),
        "test_c[x:y]": "test_c[x-y]",
        "test_d[x]": "test_d[x]",
        "test_e[x/y]": folder_name("test_e[x/y]"),
    }
