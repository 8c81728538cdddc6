"""The real openai SDK against the scripted provider, recorded and then replayed sealed: every API of the family."""

import base64
import json
import re

import openai
import pytest

import onetake
from onetake import settings_start
from onetake.contract import Contract
from onetake.errors import ContractError
from onetake.model import Answer, Choice
from onetake.testing.provider import (
    json_reply,
    openai_completion_stream,
    openai_file,
    openai_image_stream,
    openai_images,
    openai_response,
    openai_response_stream,
    openai_speech,
    openai_transcription,
    openai_transcription_stream,
)

LABEL = {"type": "object", "properties": {"label": {"enum": ["bug"]}}, "required": ["label"]}
LABELS = Contract(LABEL, name="labels")
SOUND = ("a.mp3", b"\xff\xfb\x90\x00" * 4, "audio/mpeg")
PICTURE = ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(16), "image/png")


@pytest.fixture(autouse=True)
def project(tmp_path):
    """A project of its own for each test; cassettes lie in it."""
    before = settings_start.set_start(tmp_path)
    yield tmp_path
    settings_start.set_start(before)


@pytest.fixture
def gpt(provider):
    with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="sk-test", max_retries=0, timeout=20) as client:
        yield client


def names(project):
    """Return the labels of the entries' files."""
    return sorted(re.sub(r"-[0-9a-f]{16}.*", "", path.name) for path in project.glob("c/*.json"))


def recorded(ask, project, **options):
    """Record what *ask* does, replay it sealed, and return what it gave, once it is the same; and the entries."""
    with onetake.use_cassette("c", mode="once", **options) as session:
        live = ask()
        entries = session.recorded
    with onetake.use_cassette("c", mode="none", **options) as sealed:
        assert ask() == live
        assert not sealed.refusals
    return live, entries


def response(gpt, **more):
    return gpt.responses.create(model="gpt-5", input="hi", **more)


def test_responses_whole_and_streamed(provider, gpt, project):
    provider.script(
        [
            openai_response("Hello", reasoning="A greeting"),
            openai_response_stream("Hello you there", tool_calls=[("add", {"n": 1})]),
        ]
    )

    def ask():
        whole = response(gpt)
        streamed = [event.to_dict() for event in response(gpt, stream=True)]
        return whole.to_dict(), streamed

    (_, streamed), entries = recorded(ask, project)
    assert provider.count == 2
    assert [entry.verdict for entry in entries] == ["good", "good"]
    assert entries[0].answer == Answer((Choice("Hello", finish="completed", reasoning="A greeting"),))
    assert entries[1].answer.choices[0].text == "Hello you there"
    assert entries[1].answer.choices[0].tool_calls[0].arguments == {"n": 1}
    assert streamed[-1]["type"] == "response.completed"
    assert [entry.provenance["model_asked"] for entry in entries] == ["gpt-5", "gpt-5"]


def test_a_stream_closed_at_its_terminal_event_is_whole(provider, gpt, project):
    provider.script([openai_response_stream("one two")])

    def ask():
        with response(gpt, stream=True) as stream:
            return next(event.response.output_text for event in stream if event.type == "response.completed")

    said, (entry,) = recorded(ask, project)
    assert (said, entry.verdict) == ("one two", "good")


def test_a_background_response_is_polled_under_a_contract(provider, gpt, project):
    first = openai_response("later", status="queued")
    stored = json.loads(first.body)["id"]

    def poll(status, text):
        body = json.loads(openai_response(text, status=status).body) | {"id": stored}
        return json_reply(body)

    provider.script([first, poll("in_progress", '{"la'), poll("", '{"label": "bug"}')])

    def ask():
        found = response(gpt, background=True)
        states = [found.status]
        while found.status in ("queued", "in_progress"):
            found = gpt.responses.retrieve(found.id)
            states.append(found.status)
        return states, found.output_text

    (states, said), entries = recorded(ask, project, contract=LABELS)
    assert states == ["queued", "in_progress", "completed"]
    assert said == '{"label": "bug"}'
    assert [entry.unjudged for entry in entries] == [True, True, False]


@pytest.mark.parametrize(
    "reply, kind",
    [
        (openai_response('{"label": "no"}'), "violation"),
        (openai_response('{"label": ', finish="max_output_tokens"), "length"),
        (openai_response(refusal="I can't."), "refusal"),
        (openai_response_stream('{"label": ', finish="content_filter"), "refusal"),
        (openai_response_stream('{"label": "bug"} and more', ending="cut"), "cut"),
    ],
)
def test_a_bad_response_is_a_reject_of_its_kind(provider, gpt, project, reply, kind):
    provider.script([reply])
    stream = ("content-type", "text/event-stream; charset=utf-8") in reply.headers
    with onetake.use_cassette("c", mode="once", contract=LABELS) as session:
        with pytest.raises(ContractError):
            found = response(gpt, stream=stream)
            list(found)
        assert [entry.verdict for entry in session.rejects] == [f"reject:{kind}"]
        assert session.recorded == ()


def test_a_schema_that_the_request_carried_is_enforced_where_it_is_strict(provider, gpt, project):
    form = {"type": "json_schema", "name": "label", "schema": LABEL}
    provider.script([openai_response('{"label": 7}'), openai_response('{"label": 7}')])
    with onetake.use_cassette("c", mode="once") as session:
        assert response(gpt, text={"format": {**form, "strict": False}}).output_text == '{"label": 7}'
        with pytest.raises(ContractError):
            response(gpt, text={"format": {**form, "strict": True}})
        assert [len(session.recorded), len(session.rejects)] == [1, 1]


def test_a_failed_response_goes_to_the_caller_and_is_not_written(provider, gpt, project):
    provider.script(
        [
            openai_response("never", status="failed"),
            openai_response_stream("one two three", ending="failed"),
            openai_response_stream("one two three", ending="error"),
        ]
    )
    with onetake.use_cassette("c", mode="once") as session:
        assert response(gpt).status == "failed"
        assert list(response(gpt, stream=True))[-1].type == "response.failed"
        assert list(response(gpt, stream=True))[-1].type == "error"
        assert session.recorded == session.rejects == ()


def test_what_holds_no_text_is_stored_unjudged_beside_what_does(provider, gpt, project):
    def answer(request):
        path = request.path
        if path.endswith("/responses"):
            return openai_response('{"label": "bug"}')
        if path.endswith("/images/generations"):
            return openai_image_stream() if request.json().get("stream") else openai_images()
        return openai_speech(b"ID3-sound") if path.endswith("/speech") else None

    provider.script(answer)

    def ask():
        vectors = gpt.embeddings.create(model="text-embedding-3-small", input="hi").data[0].embedding
        image = gpt.images.generate(model="gpt-image-1", prompt="a cat").data[0].b64_json
        pieces = [e.type for e in gpt.images.generate(model="gpt-image-1", prompt="a cat", stream=True)]
        sound = gpt.audio.speech.create(model="tts-1", voice="alloy", input="hi").read()
        return vectors, base64.b64decode(image), pieces, sound, response(gpt).output_text

    (_, image, pieces, sound, said), entries = recorded(ask, project, contract=LABELS)
    assert image.startswith(b"\x89PNG")
    assert (pieces[-1], sound, said) == ("image_generation.completed", b"ID3-sound", '{"label": "bug"}')
    assert [entry.verdict for entry in entries] == ["good"] * 5
    assert [entry.unjudged for entry in entries] == [True] * 4 + [False]
    assert names(project) == [
        "embeddings-text-embedding-3-small",
        "images-gpt-image-1",
        "images-gpt-image-1",
        "responses-gpt-5",
        "speech-tts-1",
    ]


def test_a_body_without_vectors_is_refused_under_a_contract(provider, gpt, project):
    provider.script([json_reply({"object": "list", "model": "m"})])
    with onetake.use_cassette("c", mode="once", contract=LABELS), pytest.raises(ContractError):
        gpt.embeddings.create(model="text-embedding-3-small", input="hi")


def test_forms_are_named_after_their_model(provider, gpt, project):
    provider.script(
        [openai_transcription("Hello"), openai_transcription_stream("Hello you"), openai_images(), openai_file()]
    )

    def ask():
        text = gpt.audio.transcriptions.create(model="whisper-1", file=SOUND).text
        stream = gpt.audio.transcriptions.create(model="gpt-4o-transcribe", file=SOUND, stream=True)
        streamed = [event.to_dict() for event in stream]
        image = gpt.images.edit(model="gpt-image-1", image=PICTURE, prompt="a hat").data[0].b64_json
        return text, streamed, image, gpt.files.create(file=("a.jsonl", b"{}\n"), purpose="batch").id

    (text, streamed, _, _), entries = recorded(ask, project, hosts=[provider.url.removeprefix("http://")])
    assert (text, streamed[-1]["text"]) == ("Hello", "Hello you")
    answers = [entry.answer and entry.answer.choices for entry in entries]
    assert answers == [(Choice("Hello"),), (Choice("Hello you"),), (), ()]
    assert [entry.provenance.get("model_asked") for entry in entries] == [
        "whisper-1",
        "gpt-4o-transcribe",
        "gpt-image-1",
        None,
    ]
    assert names(project) == [
        "files",
        "images-gpt-image-1",
        "transcription-gpt-4o-transcribe",
        "transcription-whisper-1",
    ]


def test_a_deployment_is_named_after_the_path(provider, project):
    azure = openai.AzureOpenAI(
        azure_endpoint=provider.url, azure_deployment="gpt-house", api_key="k", api_version="2024-06-01", max_retries=0
    )

    def ask():
        return azure.chat.completions.create(model="", messages=[{"role": "user", "content": "hi"}]).to_dict()

    with azure:
        said, (entry,) = recorded(ask, project)
    assert said["choices"][0]["message"]["content"] == "answer 1 to: hi"
    assert entry.provenance["model_asked"] == "gpt-house"
    assert names(project) == ["chat-gpt-house"]


def test_legacy_completions_streamed(provider, gpt, project):
    provider.script([openai_completion_stream("one two three")])

    def ask():
        return [chunk.to_dict() for chunk in gpt.completions.create(model="m", prompt="hi", stream=True)]

    _, (entry,) = recorded(ask, project)
    assert entry.answer == Answer((Choice("one two three", finish="stop"),))
    assert names(project) == ["completion-m"]
