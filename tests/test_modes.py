"""The order of precedence, without pytest."""

from __future__ import annotations

import pytest

from onetake import modes
from onetake.errors import UsageError
from onetake.model import Mode


@pytest.fixture
def outside(monkeypatch):
    """An environment that says nothing: neither pytest nor CI."""
    for name in ("CI", "ONETAKE_MODE"):
        monkeypatch.delenv(name, raising=False)
    yield monkeypatch
    modes.set_flag(None)


def leave_pytest(monkeypatch):
    """Take away what pytest sets; it sets it anew at the start of each phase, so a fixture cannot."""
    for name in ("PYTEST_VERSION", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)


# flag, code, environment, settings: each row drops the one that decided the row above.
ORDER = [
    ("all", "once", "none", "off", Mode.NONE),
    ("all", "once", "replay", "off", Mode.NONE),
    ("all", "once", "new_episodes", "off", Mode.ALL),
    (None, "rewrite", "new_episodes", "off", Mode.ALL),
    (None, None, "new_episodes", "off", Mode.NEW_EPISODES),
    (None, None, "", "off", Mode.OFF),
    (None, None, "", None, Mode.ONCE),
]


@pytest.mark.parametrize(("flag", "code", "environment", "settings", "wanted"), ORDER)
def test_the_first_that_says_anything_holds(outside, flag, code, environment, settings, wanted):
    leave_pytest(outside)
    outside.setenv("ONETAKE_MODE", environment)
    modes.set_flag(Mode(flag) if flag else None)
    assert modes.resolve(code, Mode(settings) if settings else None, Mode.ONCE) is wanted


@pytest.mark.parametrize("value", ["true", "1", "yes", "True", "github"])
def test_ci_seals_where_nobody_says_anything(outside, value):
    leave_pytest(outside)
    outside.setenv("CI", value)
    assert modes.resolve(None, None, Mode.ONCE) is Mode.NONE
    assert modes.resolve("once", None, Mode.ONCE) is Mode.ONCE


@pytest.mark.parametrize("value", ["", "0", "false", "FALSE"])
def test_a_ci_that_is_denied_does_not_seal(outside, value):
    leave_pytest(outside)
    outside.setenv("CI", value)
    assert modes.resolve(None, None, Mode.ONCE) is Mode.ONCE


@pytest.mark.parametrize("name", ["PYTEST_VERSION", "PYTEST_CURRENT_TEST"])
def test_pytest_seals_in_every_version(outside, name):
    leave_pytest(outside)
    outside.setenv(name, "x")
    assert modes.under_pytest()
    assert modes.resolve(None, None, Mode.NEW_EPISODES) is Mode.NONE


def test_a_mode_of_the_enum_is_as_good_as_its_word(outside):
    assert modes.resolve(Mode.ALL, None, Mode.ONCE) is Mode.ALL


@pytest.mark.parametrize("code", ["nonne", "", 3, True])
def test_what_is_no_mode_is_refused(outside, code):
    with pytest.raises(UsageError, match="mode"):
        modes.resolve(code, None, Mode.ONCE)


def test_a_wrong_word_in_the_environment_is_refused_even_beside_a_flag(outside):
    outside.setenv("ONETAKE_MODE", "nonne")
    modes.set_flag(Mode.ALL)
    with pytest.raises(UsageError, match=r"^ONETAKE_MODE: unknown word 'nonne'; did you mean 'none'\?"):
        modes.resolve(None, None, Mode.ONCE)


@pytest.mark.parametrize(("word", "sealed"), [("none", True), ("replay", True), ("all", False), ("", False)])
def test_the_environment_seals_in_either_word(outside, word, sealed):
    outside.setenv("ONETAKE_MODE", word)
    assert modes.sealed_by_environment() is sealed


@pytest.mark.parametrize(
    ("flag", "code", "environment", "settings", "ci", "who"),
    [
        ("all", "once", "once", "off", "1", "flag"),
        (None, "once", "once", "off", "1", "code"),
        (None, None, "once", "off", "1", "environment"),
        (None, None, "", "off", "1", "settings"),
        (None, None, "", None, "1", "CI"),
        (None, None, "", None, "", ""),
    ],
)
def test_who_said_the_mode_is_known(outside, flag, code, environment, settings, ci, who):
    leave_pytest(outside)
    outside.setenv("ONETAKE_MODE", environment)
    outside.setenv("CI", ci)
    modes.set_flag(Mode(flag) if flag else None)
    assert modes.said_by(code, Mode(settings) if settings else None) == who


def test_the_variable_is_no_way_out_where_the_code_says_the_mode_and_a_command_is(monkeypatch):
    monkeypatch.setattr(modes, "_switch", "ONETAKE_MODE={mode}")
    assert (modes.switch("code"), modes.switch("CI"), modes.is_run()) == ("", "ONETAKE_MODE={mode}", False)
    monkeypatch.setattr(modes, "_switch", "onetake run --mode {mode} -- x")
    assert (modes.switch("code"), modes.is_run()) == ("onetake run --mode {mode} -- x", True)


def test_what_was_said_for_a_whole_program_goes_before_its_code_and_a_seal_stays(outside):
    leave_pytest(outside)
    outside.setenv("ONETAKE_MODE", "once")
    with modes.running(None, "onetake run --mode {mode} -- app"):
        assert (modes.resolve("all", None, Mode.ONCE), modes.forced()) == (Mode.ONCE, Mode.ONCE)
        assert modes.switch("code") == "onetake run --mode {mode} -- app"
    with modes.running(Mode.ALL, "outer"):
        assert modes.resolve("none", None, Mode.ONCE) is Mode.ALL
        with modes.running(Mode.NONE, "sealed"), modes.running(Mode.ALL, "inner"):
            assert modes.switch() == "sealed"
            modes.set_flag(Mode.ALL)
            assert (modes.resolve("all", None, Mode.ONCE), modes.forced()) == (Mode.NONE, Mode.NONE)
            modes.set_flag(None)
        outside.setenv("ONETAKE_MODE", "replay")
        assert modes.forced() is Mode.NONE
    outside.setenv("ONETAKE_MODE", "once")
    assert (modes.resolve("all", None, Mode.ONCE), modes.forced(), modes.switch()) == (Mode.ALL, None, "")


def test_the_test_that_runs_is_known_without_its_phase(monkeypatch):
    assert modes.running_test().endswith("::test_the_test_that_runs_is_known_without_its_phase")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "test_a.py::test_b[one two] (setup)")
    assert modes.running_test() == "test_a.py::test_b[one two]"
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert modes.running_test() == ""


@pytest.mark.parametrize("word", ["none", "replay"])
def test_a_seal_is_told_in_its_own_word(outside, word):
    modes.refuse_sealed()
    outside.setenv("ONETAKE_MODE", word)
    with pytest.raises(UsageError, match=rf"^ONETAKE_MODE={word} lets nothing be asked$"):
        modes.refuse_sealed()
