"""`vcr.use_cassette` of vcrpy itself under `--onetake-vcr`: blocks, decorators, and no blocking of an event loop."""

from __future__ import annotations

import subprocess
import sys

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest

import onetake.adapters.httpx  # noqa: F401 - as above

pytest_plugins = ("pytester",)

pytest.importorskip("vcr")

SUITE = """
import asyncio
import json
import onetake
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

def test_no_value():
    with mine.use_cassette("x", match_on="body"):
        pass

def test_open_twice():
    opened = mine.use_cassette("decorated.json", colour="red")
    with opened:
        with pytest.raises(onetake.UsageError, match="open already: have the inner block open one of its own"):
            opened.__enter__()
        assert ask("hi").endswith("to: hi of red")
    with opened:
        pass

def test_secrets_are_replaced():
    with mine.use_cassette("secret", filter_sensitive_data={"<NAME>": "bob"}) as cassette:
        assert ask("I am bob")
        assert [b"<NAME>" in request.body for request in cassette.requests] == [True]
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
    result.assert_outcomes(passed=9, failed=3)
    text = result.stdout.str()
    assert "vcr: colour: vcrpy has no such key (1 test)" in text
    assert "match_on takes a list of matchers' names; this is a str" in text
    assert "pytest --onetake-vcr --record-mode=new_episodes test_it.py::test_a_miss_fails" in text
    assert "InteractionNotFound" in text
    assert "custom_patches has no equal here" in text
    assert provider.count == 4
    assert {name.rpartition("/")[0] for name in inner.files("tapes")} == {
        "tapes/decorated",
        "tapes/awaited",
        "tapes/test_named_by_its_function",
        "tapes/secret",
    }
    assert not list(inner.path.glob("tapes/*.json"))
    assert vcr.cassette.CassetteContextDecorator.__enter__ is before
    result = inner("--onetake-vcr", "-k", "not miss and not equal and not value")
    result.assert_outcomes(passed=9, deselected=3)
    assert provider.count == 4


BLOCKING = """
import asyncio
import sys

sys.modules["trio"] = None  # httpx would load it at its first call, and that starts a program

import httpcore
import httpx
import onetake
from blockbuster import blockbuster_ctx

async def ask():
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    async with httpx.AsyncClient() as client:
        answer = await client.post(sys.argv[1] + "/v1/chat/completions", json=body)
    return answer.status_code

async def both():
    return [await ask(), await ask()]

for mode in ("once", "none"):
    with onetake.use_cassette("c", mode=mode), blockbuster_ctx():
        print(asyncio.run(both()))
"""


def test_no_file_is_read_inside_an_event_loop_and_nothing_warns(tmp_path, provider):
    """In a process of its own: what one session has read, no later one in its process reads again."""
    pytest.importorskip("blockbuster")
    (tmp_path / "onetake.toml").touch()
    command = [sys.executable, "-W", "error", "-c", BLOCKING, provider.url]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.stdout == "[200, 200]\n" * 2, done.stderr
    assert provider.count == 2


def test_what_leaves_a_call_out_is_named_by_its_key_behind_filters_that_look_at_more(inner, provider):
    inner.write(
        "test_it.py",
        """
        import vcr
        from asking import ask

        filters = {"filter_headers": ["x-a"], "filter_post_data_parameters": ["x"]}
        mine = vcr.VCR(record_mode="none", before_record_request=lambda request: request, **filters)

        def test_host():
            with mine.use_cassette("a", ignore_hosts=["127.0.0.1"]): ask("hi")

        def test_old_name():
            with mine.use_cassette("b", before_record=lambda request: None): ask("hi")
        """,
    )
    result = inner("--onetake-vcr")
    result.assert_outcomes(failed=2)
    for word in ("ignore_hosts", "before_record"):
        assert f"the suite's {word} leaves out a call to a model, and a sealed session" in result.stdout.str()
    assert provider.count == 0
