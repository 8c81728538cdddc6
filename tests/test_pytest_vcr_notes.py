"""What the summary says of vcrpy's configuration: once each thing, with how many tests it is of."""

from __future__ import annotations

import pytest

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
    assert said == ["vcr: colour: vcrpy has no such key (3 tests)", "vcr: match_on (method)"]


@pytest.mark.parametrize("settings", [True, False])
def test_beside_a_plugin_that_serves_the_marker_who_does_is_said(inner, settings):
    inner.write("conftest.py", "def pytest_configure(config): config.pluginmanager.register(object(), 'recording')\n")
    inner.write("test_it.py", "import pytest\n@pytest.mark.vcr\ndef test_it(): pass\n")
    if settings:
        inner.write("onetake.toml", "")
    text = inner().stdout.str()
    assert ("pytest-recording serves the vcr marker; --onetake-vcr has onetake do so" in text) is settings
