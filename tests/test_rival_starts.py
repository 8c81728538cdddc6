"""Tools that answer for a client and are gone again before the session ends."""

from __future__ import annotations

from types import ModuleType

import pytest
import requests
import requests_mock
import responses
import vcr

import onetake
from onetake import rival_starts
from onetake.errors import AdapterError
from onetake.settings_start import set_start

URL = "https://api.openai.com/v1/chat/completions"


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "onetake.toml").touch()
    before = set_start(tmp_path / "program.py")
    yield
    set_start(before)


def _by_class():
    with responses.RequestsMock() as mock:
        mock.add(responses.POST, URL, json={"by": "it"})
        return requests.post(URL, json={}).json()


@responses.activate
def _by_decorator():
    responses.add(responses.POST, URL, json={"by": "it"})
    return requests.post(URL, json={}).json()


def _by_functions():
    responses.start()
    try:
        responses.add(responses.POST, URL, json={"by": "it"})
        return requests.post(URL, json={}).json()
    finally:
        responses.stop()
        responses.reset()


def _by_requests_mock():
    with requests_mock.Mocker() as mock:
        mock.post(URL, json={"by": "it"})
        return requests.post(URL, json={}).json()


def _by_vcrpy():
    with vcr.use_cassette("tape.yaml"):
        return {"by": "it"}


_WAYS = {
    "responses class": (_by_class, "responses (on requests)"),
    "responses decorator": (_by_decorator, "responses (on requests)"),
    "responses functions": (_by_functions, "responses (on requests)"),
    "requests-mock": (_by_requests_mock, "requests-mock (on requests)"),
    "vcrpy": (_by_vcrpy, "vcrpy"),
}


@pytest.mark.parametrize(("way", "tool"), _WAYS.values(), ids=_WAYS.keys())
@pytest.mark.parametrize("mode", ["once", "none"])
def test_br_084_a_tool_that_came_and_went_within_the_session_is_named(mode, way, tool):
    with pytest.raises(AdapterError) as raised, onetake.use_cassette("c", mode=mode):
        assert way() == {"by": "it"}
    assert str(raised.value).startswith(f"{tool} and onetake are both active and no call came to onetake")


@pytest.mark.parametrize("way", [way for way, _ in _WAYS.values()], ids=_WAYS.keys())
def test_a_tool_that_was_gone_before_the_session_is_no_rival(way):
    assert way() == {"by": "it"}
    with onetake.use_cassette("c", mode="once") as session:
        pass
    assert way() == {"by": "it"}
    assert session.refusals == ()


def test_a_tool_beside_calls_that_came_to_us_is_no_rival():
    @onetake.recorded
    def label(model):
        return model

    with onetake.use_cassette("c", mode="once") as session:
        assert label("a") == "a"
        assert _by_class() == {"by": "it"}
    assert len(session.recorded) == 1


def test_a_programs_own_module_of_a_tools_name_is_left_alone():
    module = ModuleType("responses")
    module.RequestsMock = type("RequestsMock", (), {})
    before = dict(vars(module))
    rival_starts.patch(module)
    assert vars(module) == before


def test_a_hook_is_put_once():
    start = responses.RequestsMock.start
    rival_starts.patch(responses)
    first = responses.RequestsMock.start
    rival_starts.patch(responses)
    assert responses.RequestsMock.start is first
    assert first in (start, responses.start.__func__)
