"""The session that a process inherits: joined by its seed, left for another one, and none where it says none."""

from __future__ import annotations

import os

import httpx
import pytest

import onetake
from onetake import active, inherited, modes, settings_start
from onetake.starting import VARIABLE


@pytest.fixture
def seed_of(tmp_path, monkeypatch):
    """Return the seed that a session on a cassette of this folder hands on; whatever is joined is left at the end."""
    (tmp_path / "onetake.toml").touch()
    before = settings_start.set_start(tmp_path)
    monkeypatch.delenv(VARIABLE, raising=False)

    def seed(name, mode="none", **more):
        with onetake.use_cassette(tmp_path / name, mode=mode, **more):
            return os.environ.get(VARIABLE, "")

    yield seed
    inherited.belong("")
    settings_start.set_start(before)


def here():
    scope = active.bound()
    return "" if scope is None else scope.engine.cassette.place


def test_a_process_belongs_to_the_session_of_the_seed_that_came_last(seed_of):
    first, second = seed_of("first"), seed_of("second")
    inherited.belong(first)
    assert here() == "first"
    again = active.bound()
    inherited.belong(first)
    assert active.bound() is again
    inherited.belong(second)
    assert (here(), again.engine.closed) == ("second", True)
    inherited.belong("")
    assert here() == ""
    inherited.belong("")


def test_without_a_seed_in_the_environment_there_is_no_session(seed_of):
    assert inherited.open_from_environment() is None


def test_the_session_of_the_environment_goes_by_what_its_parents_goes_by(seed_of, monkeypatch, provider):
    contract = onetake.Contract({"type": "object"}, name="label", schema_version=3)
    monkeypatch.setattr(modes, "_pytest", "pytest --onetake-vcr")
    monkeypatch.setenv(
        VARIABLE, seed_of("c", "once", contract=contract, repeats="same", hosts=["h:1"], keep=["length"])
    )
    modes.set_pytest("pytest")
    policy = inherited.open_from_environment().session._engine.policy
    assert (policy.mode.value, policy.repeats.value, policy.keep) == ("once", "same", ("length",))
    assert modes.pytest_command() == "pytest --onetake-vcr"
    assert [(one.name, one.digest, one.schema_version) for one in policy.contracts] == [("label", contract.digest, 3)]


def test_what_is_refused_here_is_told_to_the_process_that_opened_the_session(seed_of, provider, tmp_path):
    inherited.belong(seed_of("c"))
    with pytest.raises(onetake.InteractionNotFound):
        httpx.post(provider.url + "/v1/chat/completions", json={"model": "m", "messages": []})
    (told,) = (tmp_path / ".onetake" / "children").glob("*/*.told")
    assert told.read_bytes().lstrip().startswith(b"+ 0 ")
    assert provider.count == 0


def test_a_seed_that_cannot_be_opened_raises_and_joins_nothing(seed_of, tmp_path):
    seed = seed_of("c")
    (tmp_path / "onetake.toml").write_text("unknown = 1\n")
    with pytest.raises(onetake.UsageError, match="unknown"):
        inherited.belong(seed)
    assert here() == ""
