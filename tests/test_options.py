"""What a session is asked for, and what it goes by."""

from __future__ import annotations

import pytest

from onetake.errors import UsageError
from onetake.model import Mode
from onetake.options import Options, cassette_folder, policy_of
from onetake.scrub import Scrubber
from onetake.settings import ScrubRules, Settings, load_settings

SECRET = "sk-proj-Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0"


@pytest.mark.parametrize("name", ["", None, 3, b"x"])
def test_a_name_is_a_text_or_a_path(name):
    with pytest.raises(UsageError, match="cassette's name"):
        Options(name)


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("hosts", "127.0.0.1:1"),
        ("ignore", "x"),
        ("keep", "violation"),
        ("on_reject", ""),
        ("repeats", ""),
        ("max_age", {"day": 1}),
        ("key", {"ignor": []}),
        ("mode", 3),
        ("contract", "no such"),
    ],
)
def test_a_wrong_argument_is_said_before_anything_is_asked(tmp_path, argument, value):
    with pytest.raises(UsageError):
        policy_of(Options("c", **{argument: value}), Settings(tmp_path), Mode.NONE)


def test_settings_and_own_rules_add_up(tmp_path):
    (tmp_path / "onetake.toml").write_text("[key]\nignore = ['$.a']\n")
    options = Options("c", key={"ignore": ["$.b"], "headers": ["X-Mine"]})
    policy = policy_of(options, load_settings(tmp_path), Mode.NONE)
    assert policy.keyer.spec(None)["ignore"] == ["$.a", "$.b"]
    assert policy.root == tmp_path


def test_what_is_asked_for_goes_before_the_settings_and_these_before_the_defaults(tmp_path):
    settings = Settings(tmp_path, keep=("cut",), on_reject="pass")
    policy = policy_of(Options("c", keep=["length"], repeats="same"), settings, Mode.ALL, "test_it")
    assert (policy.keep, policy.on_reject, policy.repeats, policy.test) == (("length",), "pass", "same", "test_it")


def test_a_cassettes_folder_never_has_a_secret_of_its_name(tmp_path):
    secrets = (SECRET, SECRET[:-1] + "1")
    one, two = (cassette_folder(f"cassettes/{secret}/x", tmp_path, Scrubber()) for secret in secrets)
    assert one != two
    for folder in (one, two):
        assert folder.is_relative_to(tmp_path / "cassettes")
        assert SECRET[8:20] not in str(folder)
    assert cassette_folder(tmp_path / "cassettes" / SECRET / "x", tmp_path, Scrubber()) == one
    assert cassette_folder("cassettes/x", tmp_path, Scrubber()) == tmp_path / "cassettes/x"


def test_what_lies_above_the_settings_folder_is_the_machines(tmp_path):
    root = tmp_path / SECRET
    assert cassette_folder("a", root, Scrubber()) == root / "a"
    beside = cassette_folder(tmp_path / "beside" / SECRET, root, Scrubber())
    assert beside.parent == tmp_path / "beside"
    assert SECRET[8:20] not in beside.name


def test_the_tests_id_is_scrubbed_by_the_projects_own_rules_too(tmp_path):
    settings = Settings(tmp_path, scrub=ScrubRules(patterns=("customer-[0-9]+",)))
    policy = policy_of(Options("c"), settings, Mode.NONE, f"test_it.py::test_it[customer-77-{SECRET}]")
    assert "77" not in policy.test
    assert SECRET[8:20] not in policy.test
    assert policy.test.startswith("test_it.py::test_it[")


def test_a_name_that_no_folder_can_have_is_refused():
    with pytest.raises(UsageError, match="NUL"):
        Options("a\0b")
