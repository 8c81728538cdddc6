"""`vcr.use_cassette` of vcrpy itself under `--onetake-vcr`: blocks, decorators, and no blocking of an event loop."""

from __future__ import annotations

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above

pytest_plugins = ("pytester",)

pytest.importorskip("vcr")

SUITE = """
import asyncio
import json
import vcr
import pytest
from asking import ask

def without_team(request):
    body = json.loads(request.body)
    body["messages"][0]["content"] = body["messages"][0]["content"].split(" of ")[0]
    request.body = json.dumps(body)
    return request

mine = vcr.VCR(cassette_library_dir="tapes", record_mode="once", serializer="json")
mine.before_record_request = without_team
mine.register_matcher("any", lambda one, other: True)

@mine.use_cassette("decorated.json")
def test_decorated():
    assert ask("hi of red").endswith("to: hi of red")

@mine.use_cassette("awaited", match_on=["any"])
@pytest.mark.anyio
async def test_awaited():
    assert ask("there")

@mine.use_cassette()
def test_named_by_its_function():
    assert ask("you")

def test_block():
    with mine.use_cassette("decorated.json", record_mode="none") as cassette:
        assert ask("hi of blue").endswith("to: hi of red")
        assert cassette.all_played and cassette.play_count == 1
        assert len(cassette.requests) == len(cassette.responses) == 1

@mine.use_cassette("decorated.json", inject_cassette=True, allow_playback_repeats=True)
def test_injected(cassette=None):
    assert len(cassette) == 1

def test_block_is_ours_alone():
    assert vcr.cassette.CassetteContextDecorator.__enter__.__module__.startswith("onetake")

def test_a_miss_fails():
    with mine.use_cassette("decorated.json", record_mode="none"):
        ask("something else")

def test_no_equal():
    with mine.use_cassette("x", custom_patches=((json, "y", 1),)):
        pass
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


def test_vcrpys_own_cassettes_are_ours_while_the_option_says_so(inner, provider):
    import vcr

    inner.write("test_it.py", SUITE)
    inner.write("onetake.toml", "")
    before = vcr.cassette.CassetteContextDecorator.__enter__
    result = inner("--onetake-vcr", "-p", "no:randomly")
    result.assert_outcomes(passed=7, failed=2)
    text = result.stdout.str()
    assert "InteractionNotFound" in text
    assert "custom_patches has no equal here" in text
    assert provider.count == 3
    assert {name.rpartition("/")[0] for name in inner.files("tapes")} == {
        "tapes/decorated",
        "tapes/awaited",
        "tapes/test_named_by_its_function",
    }
    assert not list(inner.path.glob("tapes/*.json"))
    assert vcr.cassette.CassetteContextDecorator.__enter__ is before
    result = inner("--onetake-vcr", "-k", "not miss and not equal")
    result.assert_outcomes(passed=7, deselected=2)
    assert provider.count == 3


BLOCKING = """
import asyncio
import os
import httpx
import pytest
from blockbuster import blockbuster_ctx

@pytest.fixture(autouse=True)
def blockbuster():
    with blockbuster_ctx() as active:
        yield active

@pytest.mark.vcr
@pytest.mark.anyio
async def test_it():
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with httpx.AsyncClient() as client:
        for _ in range(2):
            answer = await client.post(os.environ["PROVIDER"] + "/v1/chat/completions", json=body)
            assert answer.status_code == 200

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


@pytest.mark.parametrize("match", ["whole", "legacy"])
def test_no_file_is_read_inside_an_event_loop_and_nothing_warns(inner, provider, match):
    pytest.importorskip("blockbuster")
    inner.write("test_it.py", BLOCKING)
    inner.write("onetake.toml", f'match = "{match}"\n')
    inner("--record-mode=once", "-W", "error").assert_outcomes(passed=1)
    inner("-W", "error").assert_outcomes(passed=1)
    assert provider.count == 2
