import json

import pytest

from onetake.dialects import Reading
from onetake.dialects.openai_transcriptions import DIALECT
from onetake.model import Answer, Choice, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import openai_transcription, openai_transcription_stream

URL = "https://api.openai.com/v1/audio/transcriptions"
AZURE = "https://x.openai.azure.com/openai/deployments/whisper/audio/transcriptions?api-version=2024-06-01"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
FORM = (("content-type", "multipart/form-data; boundary=b"),)
USAGE = {"type": "tokens", "input_tokens": 14, "output_tokens": 2}


def form(**fields):
    text = "".join(f'--b\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items())
    sound = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.mp3"\r\nContent-Type: audio/mpeg\r\n\r\n'
    return (text + sound).encode() + b"\xff\xfb\x90\r\n--b--\r\n"


def stream(*steps, end=""):
    return Response(200, SSE, ("".join(f"data: {json.dumps(step)}\n\n" for step in steps) + end).encode())


ASKED = Request("POST", URL, FORM, form(model="gpt-4o-transcribe", language="de"))


class TestOpenAITranscriptions(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", AZURE),
        ("POST", "https://api.openai.com/v1/audio/translations"),
        ("POST", "https://api.groq.com/openai/v1/audio/transcriptions"),
        ("POST", "http://127.0.0.1:8000/v1/audio/transcriptions"),
    )
    silent = (("GET", URL), ("POST", "https://api.openai.com/v1/audio/speech"), ("POST", URL + "/1"))
    cases = (
        DialectCase(
            "text",
            ASKED,
            Reading(Answer((Choice("Grüße 👋"),)), input_tokens=14, output_tokens=2),
            whole=Response(200, JSON, json.dumps({"text": "Grüße 👋", "usage": USAGE}).encode()),
            stream=stream(
                {"type": "transcript.text.delta", "delta": "Grü"},
                {"type": "transcript.text.delta", "delta": "ße 👋"},
                {"type": "transcript.text.done", "text": "Grüße 👋", "usage": USAGE},
            ),
            model_asked="gpt-4o-transcribe",
        ),
        DialectCase(
            "silence",
            Request("POST", URL, FORM, form(language="de")),
            Reading(Answer((Choice(),))),
            whole=Response(200, JSON, b'{"text": ""}'),
            stream=stream({"type": "transcript.text.done", "text": ""}),
        ),
        DialectCase(
            "Mistral",
            ASKED,
            Reading(Answer((Choice("Hi there"),)), model="voxtral-1"),
            whole=Response(200, JSON, b'{"text": "Hi there", "model": "voxtral-1", "segments": []}'),
            stream=stream(
                {"type": "transcription.language", "audio_language": "en"},
                {"type": "transcription.text.delta", "text": "Hi "},
                {"type": "transcription.text.delta", "text": "there"},
                {"type": "transcription.done", "text": "Hi there", "model": "voxtral-1"},
            ),
            model_asked="gpt-4o-transcribe",
        ),
        DialectCase(
            "vLLM: chunks as of a chat",
            ASKED,
            Reading(Answer((Choice("Hi there"),))),
            stream=stream(
                {"object": "transcription.chunk", "choices": [{"delta": {"content": "Hi "}}]},
                {"object": "transcription.chunk", "choices": [{"delta": {"content": "there"}}]},
                end="data: [DONE]\n\n",
            ),
            model_asked="gpt-4o-transcribe",
        ),
        DialectCase(
            "error in the middle",
            ASKED,
            Reading(Answer((Choice("Hi "),)), error="noise", terminal=False),
            stream=stream(
                {"type": "transcript.text.delta", "delta": "Hi "}, {"type": "error", "error": {"message": "noise"}}
            ),
            model_asked="gpt-4o-transcribe",
        ),
    )


@pytest.mark.parametrize(
    "kind, text",
    [
        ("json", "Hello"),
        ("verbose_json", "Hello"),
        ("diarized_json", "Hello"),
        ("text", "Hello\n"),
        ("srt", "1\n00:00:00,000 --> 00:00:01,000\nHello\n\n"),
        ("vtt", "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nHello\n\n"),
    ],
)
def test_every_form_says_the_text(kind, text):
    reply = openai_transcription("Hello", kind)
    assert DIALECT.read(ASKED, Response(200, reply.headers, reply.body)).answer == Answer((Choice(text),))


def test_no_text_at_all_is_no_answer():
    assert DIALECT.read(ASKED, Response(200, (("content-type", "text/plain"),))) == Reading()


@pytest.mark.parametrize("ending, said", [("done", "one two three"), ("cut", "one two"), ("error", "one two")])
def test_the_scripted_providers_streams(ending, said):
    reply = openai_transcription_stream("one two three", ending=ending)
    found = DIALECT.read(ASKED, Response(200, reply.headers, reply.body))
    assert found.answer == Answer((Choice(said),))
    assert found.terminal is (ending == "done")
    assert (found.error is not None) is (ending == "error")


@pytest.mark.parametrize("kind", ["application/x-subrip", "text/vtt", "text/srt; charset=utf-8"])
def test_subtitles_are_the_text(kind):
    said = "1\n00:00:00,000 --> 00:00:01,000\nGrüße 👋\n"
    found = DIALECT.read(ASKED, Response(200, (("content-type", kind),), said.encode()))
    assert found == Reading(Answer((Choice(said),)))
