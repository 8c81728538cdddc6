"""Bedrock's binary streams: exact bytes on disk, what the model said for the reader, and no secret in a frame."""

from __future__ import annotations

import json

import httpx
import pytest

import onetake
from onetake import settings_start
from onetake.cli.readable import response_text
from onetake.errors import ContractError
from onetake.eventstream import frames
from onetake.testing.provider import bedrock_converse_stream, bedrock_invoke_stream

SECRET = "sk-proj-Q7fJ2mXk9LwZ4tRb8VnC3yHd6GsP1uEa5TqMoWiKzNjBxYvUcDrFlShAgO0e"
PATH = "/model/eu.amazon.nova-lite-v1%3A0/converse-stream"
LABEL = {"type": "object", "properties": {"label": {"enum": ["bug"]}}, "required": ["label"]}


@pytest.fixture(autouse=True)
def project(tmp_path):
    """A project of its own for each test; cassettes lie in it."""
    before = settings_start.set_start(tmp_path)
    yield tmp_path
    settings_start.set_start(before)


def ask(provider, path=PATH):
    return httpx.post(provider.url + path, json={"messages": [{"role": "user", "content": [{"text": "hi"}]}]})


def entry_of(project):
    (path,) = project.glob("c/*.json")
    return json.loads(path.read_bytes())


def test_br_067_the_reader_sees_what_was_said_beside_the_exact_bytes(provider, project):
    reply = bedrock_converse_stream("All is well here.", tool_calls=[("add", {"n": 1})])
    provider.script([reply])
    with onetake.use_cassette("c", mode="once") as session:
        assert ask(provider).content == reply.body
    provider.close()
    stored = entry_of(project)
    assert stored["answer"]["choices"] == [
        {
            "text": "All is well here.",
            "tool_calls": [{"name": "add", "arguments": {"n": 1}}],
            "finish": "tool_use",
        }
    ]
    assert stored["provenance"]["model_asked"] == "eu.amazon.nova-lite-v1:0"
    side = stored["response"]["body"]["$raw"]
    assert (project / "c" / "_raw" / f"{side['sha256']}.eventstream").read_bytes() == reply.body
    shown = response_text(session.recorded[0].response)
    assert '{"contentBlockIndex":0,"delta":{"text":" well"},"p":' in shown and "\0" not in shown
    with onetake.use_cassette("c", mode="none"):
        assert ask(provider).content == reply.body


@pytest.mark.parametrize(
    "reply",
    [
        bedrock_converse_stream(f"the key is {SECRET} as you asked"),
        bedrock_invoke_stream("titan", f"the key is {SECRET} as you asked"),
    ],
)
def test_br_069_a_secret_in_a_frame_is_replaced_and_the_frame_stays_whole(provider, project, reply):
    provider.script([reply])
    path = PATH if b"contentBlock" in reply.body else "/model/amazon.titan/invoke-with-response-stream"
    with onetake.use_cassette("c", mode="once"):
        assert ask(provider, path).content == reply.body
    provider.close()
    with onetake.use_cassette("c", mode="none"):
        replayed = ask(provider, path).content
    before, after = list(frames(reply.body)), list(frames(replayed))
    assert b"".join(frame.raw for frame in after) == replayed
    changed = [(old.said, new.said) for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [(old, old.replace(SECRET.encode(), b"[openai key 1]")) for old, _ in changed]
    assert len(changed) == 1
    assert entry_of(project)["answer"]["choices"][0]["text"] == "the key is [openai key 1] as you asked"


def test_an_exception_in_the_stream_is_the_callers_and_no_entry(provider, project):
    provider.script([bedrock_converse_stream("one two three", ending="error"), bedrock_converse_stream("whole")])
    with onetake.use_cassette("c", mode="once") as session:
        assert b"throttlingException" in ask(provider).content
        assert session.recorded == ()
        assert b"throttlingException" not in ask(provider).content
    assert entry_of(project)["answer"]["choices"][0]["text"] == "whole"


def test_a_stream_without_its_last_word_is_a_reject(provider, project):
    provider.script([bedrock_converse_stream("one two three", ending="cut")])
    with onetake.use_cassette("c", mode="once") as session, pytest.raises(ContractError):
        ask(provider)
    assert [reject.verdict for reject in session.rejects] == ["reject:cut"]


def test_a_contract_judges_what_the_frames_say(provider, project):
    provider.script([bedrock_converse_stream(json={"label": "bug"}), bedrock_converse_stream(json={"label": "bog"})])
    contract = onetake.Contract(LABEL, name="label", schema_version=1)
    with onetake.use_cassette("c", mode="once", contract=contract) as session:
        ask(provider)
        with pytest.raises(ContractError, match="bog"):
            ask(provider)
        session.expect_refusal()
    assert entry_of(project)["contract"]["name"] == "label"


def test_a_caller_that_leaves_at_the_last_word_has_a_judged_entry(provider, project):
    provider.script([bedrock_converse_stream("All is well.")])
    with (
        onetake.use_cassette("c", mode="once"),
        httpx.stream("POST", provider.url + PATH, json={"messages": []}) as response,
    ):
        for chunk in response.iter_raw():
            if b"messageStop" in chunk:
                break
    stored = entry_of(project)
    assert (stored["verdict"], stored["answer"]["choices"][0]["finish"]) == ("good", "end_turn")
