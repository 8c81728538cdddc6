"""What the summary says of vcrpy's configuration: once each thing, with how many tests it is of."""

from __future__ import annotations

import inspect

import pytest
import yaml  # noqa: F401 - imported here, so that vcrpy finds the same module in each inner run

pytest_plugins = ("pytester",)


def test_each_thing_is_said_once_with_the_number_of_its_tests(inner):
    inner.write(
        "test_it.py",
        """
        import pytest
        from onetake import pytest_vcr_notes

        @pytest.mark.vcr(colour="red", match_on=["method"])
        @pytest.mark.parametrize("n", [1, 2])
        def test_it(n): pass

        def test_that_opens_its_own(request):
            for _ in range(2):
                pytest_vcr_notes.add(request.config, ["colour: vcrpy has no such key"])

        def test_plain(): pass
        """,
    )
    result = inner()
    result.assert_outcomes(passed=4)
    said = [line.partition(": whole")[0] for line in result.outlines if line.startswith("vcr: ")]
    less = " leaves out scheme, host, port, path, query"
    assert said == ["vcr: colour: vcrpy has no such key (3 tests)", f"vcr: match_on (method){less}"]


@pytest.mark.parametrize("settings", [True, False])
def test_beside_a_plugin_that_serves_the_marker_who_does_is_said(inner, settings):
    inner.write("conftest.py", "def pytest_configure(config): config.pluginmanager.register(object(), 'recording')\n")
    inner.write("test_it.py", "import pytest\n@pytest.mark.vcr\ndef test_it(): pass\n")
    if settings:
        inner.write("onetake.toml", "")
    text = inner().stdout.str()
    assert ("pytest-recording serves the vcr marker; --onetake-vcr has onetake do so" in text) is settings


def test_what_vcrpy_replays_although_it_is_imported_is_said_first(inner, monkeypatch):
    decorator = pytest.importorskip("vcr.cassette").CassetteContextDecorator
    monkeypatch.setattr(decorator, "__enter__", inspect.unwrap(decorator.__enter__))  # this run watches it, too
    for name in ("imported", "other"):
        inner.write(f"tapes/{name}.yaml", "interactions: []\n")
    inner.write(f"tapes/imported/chat-{'0' * 16}.json", "{}")
    inner.write("tapes/other/x.json", "{}")
    inner.write(
        "test_it.py",
        """
        import pytest
        import vcr

        @pytest.mark.vcr(colour="red")
        def test_marked(): pass

        @pytest.mark.parametrize("n", [1, 2])
        @vcr.use_cassette("tapes/imported.yaml", record_mode="none")
        def test_imported(n): pass

        @vcr.use_cassette("tapes/other.yaml", record_mode="none")
        def test_other(): pass
        """,
    )
    result = inner()
    result.assert_outcomes(passed=4)
    said = [line for line in result.outlines if "vcrpy" in line and not line.startswith("rootdir")]
    assert said[0].startswith(
        "2 tests replayed by vcrpy, from its own files, although these are imported: `pytest --on"
    )
    assert said[1:] == ["vcr: colour: vcrpy has no such key (1 test)"]
