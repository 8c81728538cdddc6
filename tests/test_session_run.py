"""A session's run: what it opens, what it raises at its end, and what becomes of its entries."""

from __future__ import annotations

import os

import httpx
import pytest

import onetake
from onetake import endings
from onetake.errors import InteractionNotFound, StoreError, UsageError
from onetake.model import Mode
from onetake.options import Options
from onetake.session_run import SessionRun
from onetake.settings import Settings


def ask(provider, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(provider.url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]


@pytest.fixture
def opened(tmp_path):
    """Open sessions on cassettes of this folder; they are closed at the end."""
    runs = []

    def open_(name="c", mode="once", test="", owned=False, settings=None, **more):
        run = SessionRun(Options(name, mode, **more), settings or Settings(tmp_path), Mode.NONE, test, owned=owned)
        run.open()
        runs.append(run)
        return run

    yield open_
    for run in runs:
        run.close()


def test_settle_raises_the_first_refusal_unless_an_error_is_on_its_way(opened, provider):
    run = opened(mode="none")
    with pytest.raises(InteractionNotFound) as caught:
        ask(provider, "x")
    with pytest.raises(InteractionNotFound) as settled:
        run.settle()
    assert settled.value is caught.value
    other = ValueError("own")
    run.settle(other)
    assert other.__notes__[0].startswith("onetake refused 1 call; the first: no interaction is stored")


@pytest.mark.parametrize("how", ["itself", "cause", "context", "group"])
def test_an_error_that_shows_the_refusal_gets_no_note(opened, provider, how):
    run = opened(mode="none")
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
    run.settle(error)
    assert not hasattr(error, "__notes__")


def test_refusals_that_are_only_reported_raise_nothing_at_the_end(opened, provider, tmp_path):
    run = opened(mode="none", settings=Settings(tmp_path, refusals="report"))
    with pytest.raises(InteractionNotFound):
        ask(provider, "x")
    run.settle()
    assert len(run.session.refusals) == len(run.ledger.open) == 1


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
    run = opened()
    with pytest.raises(onetake.NotStored):
        ask(provider, "x")
    assert run.session.entries == ()


def test_a_pending_entry_that_turns_out_to_hold_a_secret_stops_the_promotion(opened, provider, tmp_path):
    run = opened(test="test_it")
    ask(provider, "x")
    run.close()
    (pending,) = (tmp_path / ".onetake/pending/c/test_it").glob("*.json")
    secret = "sk-proj-" + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1B4dE7gH0jK3mN6pQ9sT2v"
    pending.write_text(pending.read_text().replace("answer 1 to: x", secret))
    run = opened(test="test_it")
    assert secret in ask(provider, "x")
    with pytest.raises(StoreError, match="holds a secret") as caught:
        run.promote()
    assert secret[8:14] not in str(caught.value)
    assert (run.session.entries, provider.count) == ((), 1)


def test_messages_name_a_cassette_from_the_settings_folder(opened, provider, tmp_path):
    opened(tmp_path / "cassettes" / "x", mode="none")
    with pytest.raises(InteractionNotFound, match=r"looked in: cassettes/x \(empty\)"):
        ask(provider, "x")


def test_a_run_that_never_goes_live_has_the_dummies_while_it_is_open(opened, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for mode, there in (("none", True), ("once", False), ("new_episodes", False), ("all", False), ("off", False)):
        run = opened(mode=mode)
        assert ("OPENAI_API_KEY" in os.environ) is there, mode
        run.close()
        run.close()
        assert "OPENAI_API_KEY" not in os.environ


def test_a_wrong_word_for_refusals_is_said_before_anything_is_asked(opened):
    with pytest.raises(UsageError, match="refusals: unknown word 'no'"):
        opened(refusals="no")


def test_used_is_what_was_asked_for_or_written_also_under_another_ordinal(opened, provider, tmp_path):
    first = opened("shared", test="test_a")
    ask(provider, "x")
    first.close()
    second = opened("shared", test="test_b")
    assert second.account.used.slots == set()
    ask(provider, "x")
    second.close()
    (entry,) = second.session.recorded
    assert second.account.used.slots == {(entry.key[:16], 0)}
    used = second.account.used
    assert (used.folder, used.root, used.known) == (tmp_path / "shared", tmp_path, True)
    first.promote()
    second.promote()
    assert second.account.used.slots == {(entry.key[:16], 0), (entry.key[:16], 1)}
    assert opened(mode="off").account.used.known is False


def test_what_another_process_of_the_same_test_put_aside_is_never_taken_for_a_childs(opened, provider):
    mine = opened(test="test_it", owned=True)
    ask(provider, "mine")
    mine.close()
    other = opened(mode="new_episodes", test="test_it", owned=True)
    ask(provider, "others")
    other.close()
    assert [len(run.promote()) for run in (mine, other)] == [1, 1]
    assert [len(run.session.recorded) for run in (mine, other)] == [1, 1]
    assert (len(mine.session.entries), provider.count) == (2, 2)


def test_only_who_began_last_is_told_of_a_session_that_is_no_tests_own(opened, monkeypatch):
    outer, inner = [], []
    monkeypatch.setattr(endings, "listeners", [outer.append, inner.append])
    first, second = opened("a"), opened("b")
    opened("c", test="test_it").close()
    first.close()
    endings.listeners.pop()
    second.close()
    assert (inner, outer) == ([first], [second])
