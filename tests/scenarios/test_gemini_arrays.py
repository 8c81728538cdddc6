"""Gemini's stream that is one JSON array: recorded as it comes, whole with its finish reason, given back in pieces."""

import json

import httpx
import pytest

import onetake
from onetake import settings_start
from onetake.contract import Contract
from onetake.errors import ContractError
from onetake.model import Cut
from onetake.testing.provider import gemini_embeddings, gemini_stream

PATH = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
LABEL = {"type": "object", "properties": {"label": {"enum": ["bug"]}}, "required": ["label"]}
OWN = {"type": "OBJECT", "properties": {"label": {"type": "STRING", "enum": ["bug"]}}, "required": ["label"]}


@pytest.fixture(autouse=True)
def project(tmp_path):
    """A project of its own for each test; cassettes lie in it."""
    before = settings_start.set_start(tmp_path)
    yield tmp_path
    settings_start.set_start(before)


def ask(provider, until=b"\0", **more):
    """Return the pieces of a stream, up to the first that holds *until*."""
    body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], **more}
    pieces = []
    with httpx.stream("POST", provider.url + PATH, json=body) as response:
        for piece in response.iter_raw():
            pieces.append(piece)
            if until in piece:
                break
    return pieces


def test_elements_are_kept_beside_the_entry_and_come_one_by_one(provider, project):
    reply = gemini_stream("one two", array=True)
    provider.script([reply])
    with onetake.use_cassette("c", mode="once"):
        assert b"".join(ask(provider)) == reply.body
    provider.close()
    (path,) = project.glob("c/*.json")
    entry = json.loads(path.read_bytes())
    assert entry["answer"]["choices"] == [{"text": "one two", "finish": "STOP"}]
    side = entry["response"]["body"]["$raw"]
    assert (project / "c" / "_raw" / f"{side['sha256']}.json").read_bytes() == reply.body
    with onetake.use_cassette("c", mode="none"):
        pieces = ask(provider)
    assert b"".join(pieces) == reply.body
    assert [piece[:4] for piece in pieces] == [b"[{\n ", b"\n,\r\n", b"\n,\r\n", b"\n]"]


def test_a_caller_may_leave_after_the_finish_reason(provider, project):
    provider.script([gemini_stream("one two", array=True)])
    with onetake.use_cassette("c", mode="once") as session:
        live = ask(provider, until=b"finishReason")
    assert session.recorded[0].verdict == "good"
    provider.close()
    with onetake.use_cassette("c", mode="none"):
        assert b"".join(ask(provider, until=b"finishReason")).rstrip() == b"".join(live).rstrip()


def test_one_that_the_provider_cuts_is_a_reject(provider, project):
    provider.script([gemini_stream("one two three", array=True, ending="cut")])
    with pytest.raises(ContractError), onetake.use_cassette("c", mode="once") as session:
        ask(provider)
    assert [reject.verdict for reject in session.rejects] == ["reject:cut"]
    assert session.rejects[0].response.cut is Cut.PROVIDER


def test_an_error_in_the_middle_passes(provider, project):
    provider.script([gemini_stream("one two three", array=True, ending="error")])
    with onetake.use_cassette("c", mode="once") as session:
        assert b"overloaded" in b"".join(ask(provider))
    assert (*session.recorded, *session.rejects) == ()


def test_a_schema_in_the_own_dialect_is_held(provider, project):
    provider.script(
        [gemini_stream(json={"label": "cow"}, array=True), gemini_stream(json={"label": "bug"}, array=True)]
    )
    config = {"responseMimeType": "application/json", "responseSchema": OWN}
    with pytest.raises(ContractError, match="label"), onetake.use_cassette("a", mode="once"):
        ask(provider, generationConfig=config)
    with onetake.use_cassette("b", mode="once") as session:
        ask(provider, generationConfig=config)
    assert session.recorded[0].answer.choices[0].text == '{"label": "bug"}'


def test_vectors_are_stored_beside_the_answers_of_a_contract(provider, project):
    provider.script([gemini_embeddings(["a"], batch=False), gemini_stream(json={"label": "bug"}, array=True)])
    with onetake.use_cassette("c", mode="once", contract=Contract(LABEL, name="labels")) as session:
        httpx.post(f"{provider.url}/v1beta/models/e:embedContent", json={"content": {"parts": [{"text": "a"}]}})
        ask(provider)
    assert [(entry.dialect, entry.unjudged) for entry in session.recorded] == [
        ("gemini-embeddings/1", True),
        ("gemini/1", False),
    ]
