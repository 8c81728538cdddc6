"""An opened cassette, without pytest's part."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import onetake
from onetake.errors import InteractionNotFound, StoreError, UsageError
from onetake.model import Mode
from onetake.session import Options, Session
from onetake.settings import Settings, load_settings


def ask(provider, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(provider.url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]


@pytest.fixture
def opened(tmp_path):
    """Open sessions on cassettes of this folder; they are closed at the end."""
    sessions = []

    def open_(name="c", mode="once", test="", owned=False, settings=None, **more):
        session = Session(
            Options(name, mode, **more), settings or Settings(tmp_path), Mode.NONE, test=test, owned=owned
        )
        session.open()
        sessions.append(session)
        return session

    yield open_
    for session in sessions:
        session.close()


def test_it_tells_what_was_asked_played_recorded_and_left_unused(opened, provider):
    session = opened()
    ask(provider, "a")
    ask(provider, "b")
    assert [len(x) for x in (session.requests, session.recorded, session.played, session.unused)] == [2, 2, 0, 0]
    session.close()
    session = opened(mode="none")
    ask(provider, "b")
    assert [entry.request.body.count(b'"b"') for entry in session.played] == [1]
    assert [entry.request.body.count(b'"a"') for entry in session.unused] == [1]
    assert len(session.entries) == 2
    session.settle()


def test_settle_raises_the_first_refusal_unless_an_error_is_on_its_way(opened, provider):
    session = opened(mode="none")
    with pytest.raises(InteractionNotFound) as caught:
        ask(provider, "x")
    with pytest.raises(InteractionNotFound) as settled:
        session.settle()
    assert settled.value is caught.value
    other = ValueError("own")
    session.settle(other)
    assert other.__notes__[0].startswith("onetake refused 1 call; the first: no interaction is stored")


@pytest.mark.parametrize("how", ["itself", "cause", "context", "group"])
def test_an_error_that_shows_the_refusal_gets_no_note(opened, provider, how):
    session = opened(mode="none")
    with pytest.raises(InteractionNotFound) as caught:
        ask(provider, "x")
    refusal, error = caught.value, ValueError("own")
    if how == "itself":
        error = refusal
    elif how == "group":
        error = BaseExceptionGroup("tasks", [refusal])
    else:
        setattr(error, f"__{how}__", RuntimeError("between"))
        getattr(error, f"__{how}__").__context__ = refusal
    session.settle(error)
    assert not hasattr(error, "__notes__")


def test_refusals_that_are_only_reported_raise_nothing_at_the_end(opened, provider, tmp_path):
    session = opened(mode="none", settings=Settings(tmp_path, refusals="report"))
    with pytest.raises(InteractionNotFound):
        ask(provider, "x")
    session.settle()
    assert len(session.refusals) == len(session.open_refusals) == 1


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
        ("refusals", "no"),
        ("max_age", {"day": 1}),
        ("key", {"ignor": []}),
        ("mode", 3),
        ("contract", "no such"),
    ],
)
def test_a_wrong_argument_is_said_before_anything_is_asked(opened, argument, value):
    with pytest.raises(UsageError):
        opened(**{argument: value})


def test_one_cassette_may_be_made_inside_another(opened, provider, tmp_path):
    outer = opened("a")
    ask(provider, "x")
    outer.close()
    inner = opened("a/b")
    ask(provider, "y")
    inner.close()
    inner.settle()
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("begun")) == [
        ".onetake/making/a/begun"
    ]
    outer.settle()
    assert list(tmp_path.rglob("begun")) == []


def test_a_cassette_that_cannot_be_marked_as_being_made_is_not_half_made(opened, provider, tmp_path):
    (tmp_path / ".onetake").mkdir()
    (tmp_path / ".onetake/making").write_text("in the way")
    session = opened()
    with pytest.raises(onetake.NotStored):
        ask(provider, "x")
    assert session.entries == ()


def test_a_pending_entry_that_turns_out_to_hold_a_secret_stops_the_promotion(opened, provider, tmp_path):
    session = opened(test="test_it")
    ask(provider, "x")
    session.close()
    (pending,) = (tmp_path / ".onetake/pending/c").glob("*.json")
    secret = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1B4dE7gH0jK3mN6pQ9sT2v"
    pending.write_text(pending.read_text().replace("answer 1 to: x", secret))
    session = opened(test="test_it")
    assert secret in ask(provider, "x")
    with pytest.raises(StoreError, match="holds a secret") as caught:
        session.promote()
    assert secret[8:14] not in str(caught.value)
    assert (session.entries, provider.count) == ((), 1)


def test_messages_name_a_cassette_from_the_settings_folder(opened, provider, tmp_path):
    session = opened(tmp_path / "cassettes" / "x", mode="none")
    with pytest.raises(InteractionNotFound, match=r"looked in: cassettes/x \(empty\)"):
        ask(provider, "x")
    assert session.mode == "none"


def test_settings_and_own_rules_add_up(opened, tmp_path):
    (tmp_path / "onetake.toml").write_text("[key]\nignore = ['$.a']\n")
    session = opened(settings=load_settings(tmp_path), key={"ignore": ["$.b"], "headers": ["X-Mine"]})
    rules = session._engine.policy.keyer.spec(None)
    assert rules["ignore"] == ["$.a", "$.b"]
    assert Path(session._engine.policy.root) == tmp_path
