"""Dummies for credentials: which variables they stand in for, when, and that nothing is left of them."""

from __future__ import annotations

import os

import pytest

import onetake
from onetake import dummies, settings_start
from onetake.model import Request
from onetake.scrub import Scrubber, scan

NAMES = [name for variables, _ in dummies.PROVIDERS for name in variables]
OTHERS = [way for _, others in dummies.PROVIDERS for way in others if not way.startswith("~")]


@pytest.fixture(autouse=True)
def clean_machine(monkeypatch, tmp_path):
    for name in (*NAMES, *OTHERS):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    before = settings_start.set_start(tmp_path)
    yield
    settings_start.set_start(before)


@pytest.fixture
def during():
    """Return the variables of the providers, as they are while a sealed session is open."""

    def look():
        dummies.begin(sealed=True)
        found = {name: os.environ[name] for name in NAMES if name in os.environ}
        dummies.end(sealed=True)
        return found

    return look


def test_every_unset_variable_has_a_dummy_and_afterwards_everything_is_as_it_was(during):
    before = dict(os.environ)
    assert list(during()) == NAMES
    assert dict(os.environ) == before


def test_a_variable_that_is_set_is_left_alone_and_an_empty_one_counts_as_unset(during, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "own")
    monkeypatch.setenv("GROQ_API_KEY", "")
    found = during()
    assert (found["OPENAI_API_KEY"], found["GROQ_API_KEY"]) == ("own", dummies.DUMMY)
    assert (os.environ["OPENAI_API_KEY"], os.environ["GROQ_API_KEY"]) == ("own", "")


@pytest.mark.parametrize(
    ("way", "without"),
    [
        ("AWS_ACCESS_KEY_ID", {"AWS_SECRET_ACCESS_KEY"}),
        ("GOOGLE_API_KEY", {"GEMINI_API_KEY"}),
        ("GOOGLE_CLOUD_PROJECT", {"GEMINI_API_KEY"}),
        ("ANTHROPIC_AUTH_TOKEN", {"ANTHROPIC_API_KEY"}),
        ("AWS_REGION", {"AWS_DEFAULT_REGION"}),
        ("AWS_PROFILE", {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"}),
    ],
)
def test_beside_another_way_in_there_is_no_dummy(during, monkeypatch, way, without):
    monkeypatch.setenv(way, "own")
    assert set(NAMES) - set(during()) == without


def test_a_file_with_credentials_is_another_way_in(during, tmp_path):
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws/config").touch()
    assert set(NAMES) - set(during()) == {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"}


def test_they_stay_until_the_last_sealed_session_has_ended():
    for step, there in ((dummies.begin, True), (dummies.begin, True), (dummies.end, True), (dummies.end, False)):
        step(sealed=True)
        assert ("OPENAI_API_KEY" in os.environ) is there


def test_while_a_session_is_open_that_may_go_live_there_are_none():
    with onetake.use_cassette("a", mode="none"):
        assert os.environ["OPENAI_API_KEY"] == dummies.DUMMY
        with onetake.use_cassette("b", mode="new_episodes"):
            assert "OPENAI_API_KEY" not in os.environ
        assert os.environ["OPENAI_API_KEY"] == dummies.DUMMY
    assert "OPENAI_API_KEY" not in os.environ


def test_what_the_program_sets_or_takes_away_meanwhile_stays_so():
    with onetake.use_cassette("a", mode="none"):
        os.environ["OPENAI_API_KEY"] = "its own"
        del os.environ["GROQ_API_KEY"]
    assert os.environ.pop("OPENAI_API_KEY") == "its own"
    assert "GROQ_API_KEY" not in os.environ


def test_a_dummy_is_no_secret_and_is_hunted_nowhere():
    text = f"a server that says {dummies.DUMMY}".encode()
    headers = (("authorization", f"Bearer {dummies.DUMMY}"), ("content-type", "text/plain"))
    scrubbing = Scrubber().begin()
    assert scrubbing.request(Request("POST", "https://api.openai.com/v1/x", headers, text)).body == text
    assert list(scan(text)) == []


def test_the_sdks_start_without_a_key():
    import anthropic
    import openai

    with pytest.raises(openai.OpenAIError):
        openai.OpenAI()
    with onetake.use_cassette("a", mode="none"):
        assert openai.OpenAI().api_key == anthropic.Anthropic().api_key == dummies.DUMMY


def test_there_is_one_dummy_for_gemini_for_google_genai_warns_of_two(during):
    assert {"GEMINI_API_KEY", "GOOGLE_API_KEY"} & set(during()) == {"GEMINI_API_KEY"}


def test_the_page_lists_every_variable():
    from pathlib import Path

    page = (Path(__file__).parents[1] / "docs/reference/pytest.md").read_text(encoding="utf-8")
    assert [name for name in (*NAMES, *OTHERS) if f"`{name}`" not in page] == []


def test_what_the_settings_name_stands_in_as_well_and_goes_before_the_built_in_dummies(monkeypatch, tmp_path):
    (tmp_path / "onetake.toml").write_text(
        '[credentials]\nMY_KEY = "harmless"\nOPENAI_API_KEY = "mine"\nSET = "other"\n'
    )
    monkeypatch.setenv("SET", "own")
    before = dict(os.environ)
    with onetake.use_cassette("a", mode="new_episodes"):
        assert "MY_KEY" not in os.environ
    with onetake.use_cassette("a", mode="none"):
        assert (os.environ["MY_KEY"], os.environ["OPENAI_API_KEY"], os.environ["SET"]) == ("harmless", "mine", "own")
        with onetake.use_cassette("b", mode="none"):
            assert os.environ["MY_KEY"] == "harmless"
        assert os.environ["MY_KEY"] == "harmless"
    assert dict(os.environ) == before
