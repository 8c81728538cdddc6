"""Other tools that answer for a client: how they are known, and what is said of them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import httpx
import pytest
import respx
import urllib3

import onetake
from onetake import rivals
from onetake.model import Mode, Request
from onetake.steps import Policy

POLICY = Policy(mode=Mode.NONE, root=Path("/nowhere"))
KEY = "sk-proj-" + "a1B2c3D4" * 5


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://user:hunter2secretpw@api.openai.com/v1/chat/completions", "hunter2secretpw"),
        ("https://api.openai.com/v1/chat/completions?api_key=swordfish1234", "swordfish1234"),
        (f"https://gateway.example/{KEY}/v1/chat/completions", KEY),
    ],
    ids=["userinfo", "query", "path"],
)
def test_br_098_the_refusal_holds_no_secret_of_the_url(url, secret):
    said = str(rivals.refusal("respx", Request("POST", url), POLICY))
    assert secret not in said
    assert "respx and onetake are both active" in said
    assert "/v1/chat/completions" in said


def test_a_mocking_tool_is_known_by_the_module_of_its_method():
    def hook():
        pass

    assert rivals.over(hook) == ""
    hook.__module__ = "pytest_httpx._httpx_internals"
    assert rivals.over(hook) == "pytest-httpx"
    hook.__module__ = "pytest_httpx_of_another_kind"
    assert rivals.over(hook) == ""


def test_respx_takes_what_its_routes_take():
    one, other = (httpx.Request("POST", f"https://api.example/{path}") for path in ("one", "other"))
    assert not rivals.respx_takes("httpx", one)
    with respx.mock(using="httpcore", assert_all_called=False) as router:
        router.post(one.url).pass_through()
        assert (rivals.respx_takes("httpx", one), rivals.respx_takes("httpx", other)) == (False, True)
        assert (rivals.respx_on("httpx"), rivals.respx_on("httpx2")) == ("respx", "")
    assert rivals.respx_on("httpx") == ""


def test_a_programs_own_module_of_a_tools_name_is_no_rival(monkeypatch):
    for name in ("requests", "requests.adapters", "respx", "respx.mocks"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    assert rivals.on_requests() == ""
    assert rivals.respx_on("httpx") == ""


def test_a_session_ends_well_beside_a_programs_own_module_of_a_clients_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "requests", ModuleType("requests"))
    with onetake.use_cassette("c", mode="none") as cassette:
        assert sys.modules["urllib3"] is urllib3
    assert cassette.refusals == ()
