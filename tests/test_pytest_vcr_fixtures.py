"""A suite that was written for pytest-recording, unchanged: its fixtures, hook, functions, filters and assertions."""

from __future__ import annotations

import json

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest
import yaml

import onetake.adapters.httpx  # noqa: F401 - as above

pytest_plugins = ("pytester",)

CONFTEST = """
import json
import pytest

def pytest_recording_configure(config, vcr):
    vcr.register_matcher("topic", lambda one, other: json.loads(one.body)["topic"] == json.loads(other.body)["topic"])
    vcr.register_serializer("mine", object())
    vcr.filter_headers = [("x-team", "TEAM")]

def without_stamp(request):
    if request.path == "/health":
        return None
    if request.method == "POST":
        body = json.loads(request.body)
        body.pop("stamp", None)
        request.body = json.dumps(body)
    return request

def shouting(response):
    if b"nothing" in response["body"]["string"]:
        return None
    response["headers"]["x-kept"] = ["yes"]
    return response

@pytest.fixture(scope="module")
def vcr_config():
    return {
        "before_record_request": without_stamp,
        "before_record_response": shouting,
        "filter_query_parameters": ["token", ("page", "0")],
        "decode_compressed_response": True,
        "serializer": "mine",
    }
"""
ASKING = """
import itertools
import os

import httpx

_stamps = itertools.count()

def ask(text, query="", **more):
    body = {"model": "m", "messages": [{"role": "user", "content": text}], "stamp": next(_stamps), **more}
    url = os.environ["PROVIDER"] + "/v1/chat/completions" + query
    return httpx.post(url, json=body, headers={"x-team": "blue"}).json()["choices"][0]["message"]["content"]
"""


@pytest.fixture
def suite(inner):
    """Return `inner` with a suite's conftest, and an `ask` that stamps each request."""
    inner.write("conftest.py", CONFTEST)
    inner.write("asking.py", ASKING)
    inner.write("onetake.toml", "")
    return inner


def test_functions_filters_and_assertions_do_what_they_did(suite, provider):
    suite.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        @pytest.mark.vcr
        def test_it(vcr):
            first, second = ask("one", "?token=t&page=7&q=a"), ask("two")
            assert first != second
            assert [request.uri.partition("?")[2] for request in vcr.requests] == ["page=0&q=a", ""]
            assert b"stamp" not in vcr.requests[0].body
            assert vcr.requests[0].headers["Content-type"] == "application/json"
            assert len(vcr) == 2

        @pytest.mark.vcr
        def test_played(vcr):
            assert (vcr.play_count, vcr.all_played, vcr.record_mode) == (0, False, "none")
            place = [b'"two"' in request.body for request in vcr.requests].index(True)
            two = ask("two")
            assert (vcr.play_count, vcr.play_counts, vcr.all_played) == (1, {place: 1}, False)
            ask("one", "?page=8&token=other&q=a")
            assert (vcr.play_count, vcr.play_counts[1 - place], vcr.all_played) == (2, 1, True)
            (response,) = vcr.responses_of(vcr.requests[place])
            assert two.encode() in response["body"]["string"]
            assert response["status"] == {"code": 200, "message": "OK"}
            assert vcr.requests[place] not in vcr
            with pytest.raises(LookupError, match="no answer"):
                vcr.responses_of(type(vcr.requests[0])("GET", "https://else.example/", None, {}))
            assert not vcr.dirty and vcr.write_protected

        def test_unmarked(vcr):
            assert vcr is None
        """,
    )
    suite("--record-mode=once", "-k", "not played and not unmarked").assert_outcomes(passed=1, deselected=2)
    (suite.path / "cassettes/test_it/test_it").rename(suite.path / "cassettes/test_it/test_played")
    assert provider.count == 2
    suite("-k", "played or unmarked", "-W", "error").assert_outcomes(passed=2, deselected=1)
    assert provider.count == 2


def test_a_request_that_a_function_leaves_out_goes_out_and_an_answer_that_it_drops_is_not_kept(suite, provider):
    suite.write(
        "test_it.py",
        """
        import os
        import httpx
        import pytest
        from asking import ask

        @pytest.mark.vcr
        def test_it(cassette):
            httpx.get(os.environ["PROVIDER"] + "/health")
            assert cassette.requests == ()
            ask("nothing to keep")
            assert [entry.verdict for entry in cassette.recorded] == []
            ask("something")
            assert len(cassette.recorded) == 1
        """,
    )
    result = suite("--record-mode=once")
    result.assert_outcomes(passed=1)
    (name,) = suite.files("cassettes")
    entry = json.loads((suite.path / name).read_bytes())
    assert "something" in json.dumps(entry["request"])
    assert provider.count == 3


def test_a_function_that_breaks_or_leaves_out_by_the_body_is_a_refusal_that_names_it(suite, provider):
    suite.write(
        "conftest.py",
        """
        import json
        import pytest

        def picky(request):
            return request if json.loads(request.body)["messages"][0]["content"] != "secret" else None

        @pytest.fixture
        def vcr_config():
            return {"before_record_request": picky}
        """,
    )
    suite.write(
        "test_it.py",
        """
        import os
        import httpx
        import pytest
        from asking import ask

        @pytest.mark.vcr
        def test_left_out():
            ask("secret")

        @pytest.mark.vcr
        def test_broken():
            httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", content=b"no json")
        """,
    )
    result = suite("--record-mode=once")
    result.assert_outcomes(failed=2)
    text = result.stdout.str()
    assert "the suite's own before_record_request leaves this request out" in text
    assert "the suite's own before_record_request broke: JSONDecodeError" in text
    assert provider.count == 0


def _cassette(suite, name, *interactions):
    document = {"version": 1, "interactions": list(interactions)}
    suite.write(name, yaml.safe_dump(document))


def _interaction(url, body, said):
    answer = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}]}
    headers = {"content-type": ["application/json"]}
    return {
        "request": {"method": "POST", "uri": url, "body": json.dumps(body), "headers": headers},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": headers,
            "body": {"string": json.dumps({"id": "c", "object": "chat.completion", "model": "m", **answer})},
        },
    }


def test_under_legacy_a_projects_own_matcher_decides(suite, provider, run_import):
    url = f"{provider.url}/v1/chat/completions"
    bodies = [{"model": "m", "messages": [{"role": "user", "content": "old"}], "topic": topic} for topic in "ab"]
    answers = [_interaction(url, body, f"on {body['topic']}") for body in bodies]
    _cassette(suite, "cassettes/test_it/test_it.yaml", *answers)
    suite.write("onetake.toml", 'match = "legacy"\n')
    run_import("cassettes")
    suite.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        @pytest.mark.vcr(match_on=["method", "topic"])
        def test_it(vcr):
            assert ask("new", topic="b") == "on b"
            assert ask("new", topic="a") == "on a"
            assert vcr.all_played
            assert [request.body for request in vcr.requests] != []
        """,
    )
    result = suite()
    result.assert_outcomes(passed=1)
    assert "legacy: 2 answers went to requests that differ" in result.stdout.str()
    assert provider.count == 0


@pytest.fixture
def run_import(inner, monkeypatch):
    """Return a function that imports cassettes of the inner project."""
    from click.testing import CliRunner

    from onetake.cli import commands

    def run(path):
        monkeypatch.chdir(inner.path)
        done = CliRunner().invoke(commands, ["import", "vcr", path])
        assert done.exit_code == 0, done.output

    return run


def test_cassettes_are_found_by_pytest_recordings_names(suite, provider, run_import):
    url = f"{provider.url}/v1/chat/completions"
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    for name in ("TestIt.test_in_class[a-b]", "named", "extra"):
        _cassette(suite, f"cassettes/test_it/{name}.yaml", _interaction(url, body, name))
    run_import("cassettes")
    suite.write(
        "test_it.py",
        """
        import pytest
        from asking import ask

        class TestIt:
            @pytest.mark.vcr
            @pytest.mark.parametrize("text", ["a/b"])
            def test_in_class(self, text, default_cassette_name):
                assert default_cassette_name == "TestIt.test_in_class[a-b]"
                assert ask("hi") == "TestIt.test_in_class[a-b]"

        @pytest.mark.vcr
        @pytest.mark.default_cassette("named.yaml")
        def test_default(): assert ask("hi") == "named"

        @pytest.mark.vcr("extra.yaml")
        def test_extra(vcr_cassette_dir, vcr_markers):
            assert ask("hi") == "extra"
            assert vcr_cassette_dir.endswith("test_it") and len(vcr_markers) == 1

        @pytest.mark.vcr("extra.yaml", "named.yaml")
        def test_two(): pass
        """,
    )
    result = suite("--strict-markers")
    result.assert_outcomes(passed=3, errors=1)
    assert "2 cassettes for one test, and a session has one: move the files of named into" in result.stdout.str()
