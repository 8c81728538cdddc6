"""What a session is asked for, and what it goes by."""

from __future__ import annotations

import pytest

from onetake.errors import UsageError
from onetake.model import Mode
from onetake.options import Options, policy_of
from onetake.settings import Settings, load_settings


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
