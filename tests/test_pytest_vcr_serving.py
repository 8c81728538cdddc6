"""Whether the `vcr` marker is ours, beside what else is there."""

from __future__ import annotations

import types

import pytest

from onetake import pytest_vcr_serving

pytest_plugins = ("pytester",)


def _run_with(pytester, *names):
    """Return a run that is not configured yet, with plugins of these names."""
    without = [word for name in pytest_vcr_serving.MARKER if name not in names for word in ("-p", f"no:{name}")]
    config = pytester.parseconfig(*without)
    for name in names:
        config.pluginmanager.register(types.ModuleType(name), name)
    return config


@pytest.mark.parametrize(
    ("others", "asked", "ours"),
    [((), False, True), (("recording",), False, False), (("recording",), True, True), (("cassetter",), False, False)],
)
def test_it_is_ours_where_no_other_serves_it_or_where_we_are_asked(pytester, others, asked, ours):
    config = _run_with(pytester, *others)
    config.option.onetake_vcr = asked
    pytest_vcr_serving.configure(config)
    assert pytest_vcr_serving.acts(config) is ours
    assert pytest_vcr_serving.others_in(config) == [*others]
    declared = {line.partition("(")[0] for line in config.getini("markers")}
    assert ("vcr" in declared, "block_network" in declared) == (ours, ours and not others)


@pytest.mark.parametrize(("other", "called"), [("vcr", "pytest-vcr"), ("cassetter", "cassetter")])
def test_beside_a_plugin_that_cannot_stand_aside_we_refuse(pytester, other, called):
    config = _run_with(pytester, other)
    config.option.onetake_vcr = True
    with pytest.raises(pytest.UsageError, match=f"--onetake-vcr beside {called}: switch that off by -p no:{other}"):
        pytest_vcr_serving.configure(config)


def test_without_entry_points_only_what_is_loaded_comes(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    manager = pytest.PytestPluginManager()
    told = [pytest_vcr_serving.recording_comes(manager), pytest_vcr_serving.option_comes(manager)]
    manager.register(types.ModuleType("theirs"), "cassetter")
    assert told == [False, False]
    assert (pytest_vcr_serving.recording_comes(manager), pytest_vcr_serving.option_comes(manager)) == (False, True)


def test_the_hook_is_declared_once_and_not_where_pytest_recording_does_so(monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    ours, theirs = pytest.PytestPluginManager(), pytest.PytestPluginManager()
    theirs.register(types.ModuleType("theirs"), "recording")
    for manager in (ours, ours, theirs):
        pytest_vcr_serving.add_hook(manager)
    assert hasattr(ours.hook, pytest_vcr_serving.HOOK)
    assert not hasattr(theirs.hook, pytest_vcr_serving.HOOK)


def test_disabled_recording_gives_no_test_a_cassette(inner, provider):
    inner.write("test_it.py", "import pytest\nfrom asking import ask\n@pytest.mark.vcr\ndef test_it(): ask('live')\n")
    inner("--disable-recording").assert_outcomes(passed=1)
    assert (provider.count, inner.files("cassettes")) == (1, [])


@pytest.mark.parametrize(
    ("given", "called"),
    [
        (["-q", "--onetake-vcr"], "pytest --onetake-vcr"),
        (["--onetake-vcr-entries=x", "-p", "no:recording"], "pytest -p no:recording --onetake-vcr"),
        (["-pno:vcr", "--onetake-report=x"], "pytest -p no:vcr"),
    ],
)
def test_a_command_says_again_which_plugin_serves_and_nothing_of_addopts(pytester, given, called):
    config = pytester.parseconfig()
    config.option.onetake_vcr = True  # as `addopts` would say it
    assert pytest_vcr_serving.command(config) == "pytest"
    config.workerinput = {"mainargv": ["/usr/bin/pytest", *given]}
    assert pytest_vcr_serving.command(config) == called
