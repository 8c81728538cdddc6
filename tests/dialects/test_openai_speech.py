import json

import pytest

from onetake.dialects import Reading
from onetake.dialects.openai_speech import DIALECT
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import openai_speech, openai_speech_stream

URL = "https://api.openai.com/v1/audio/speech"
SSE = (("content-type", "text/event-stream"),)
ASKED = Request("POST", URL, body=b'{"model": "gpt-4o-mini-tts", "input": "hi", "voice": "alloy"}')


def stream(*steps):
    return Response(200, SSE, b"".join(f"data: {json.dumps(step)}\n\n".encode() for step in steps))


class TestOpenAISpeech(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", "https://x.openai.azure.com/openai/deployments/tts/audio/speech?api-version=2024-06-01"),
        ("POST", "https://api.groq.com/openai/v1/audio/speech"),
    )
    silent = (("GET", URL), ("POST", "https://api.openai.com/v1/audio/transcriptions"))
    cases = (
        DialectCase(
            "streamed",
            ASKED,
            Reading(Answer(), input_tokens=4, output_tokens=20),
            stream=stream(
                {"type": "speech.audio.delta", "audio": "SUQz"},
                {"type": "speech.audio.done", "usage": {"input_tokens": 4, "output_tokens": 20}},
            ),
            model_asked="gpt-4o-mini-tts",
        ),
        DialectCase(
            "Mistral: sound inside JSON",
            ASKED,
            Reading(Answer()),
            whole=Response(200, (("content-type", "application/json"),), b'{"audio_data": "SUQz"}'),
            model_asked="gpt-4o-mini-tts",
        ),
        DialectCase(
            "error object under 200",
            ASKED,
            Reading(error="no voice"),
            whole=Response(200, (("content-type", "application/json"),), b'{"error": {"message": "no voice"}}'),
            model_asked="gpt-4o-mini-tts",
        ),
    )


@pytest.mark.parametrize("kind", ["audio/mpeg", "Audio/WAV", "application/octet-stream"])
def test_sound_is_an_answer_without_choices(kind):
    reply = openai_speech(b"\xff\xf3\x84\xc4" + bytes(8), kind)
    assert DIALECT.read(ASKED, Response(200, reply.headers, reply.body)) == Reading(Answer())


def test_no_sound_is_no_answer():
    assert DIALECT.read(ASKED, Response(200, (("content-type", "audio/mpeg"),))) == Reading()


@pytest.mark.parametrize("ending, terminal", [("done", True), ("cut", False), ("error", False)])
def test_the_scripted_providers_streams(ending, terminal):
    reply = openai_speech_stream(ending=ending)
    found = DIALECT.read(ASKED, Response(200, reply.headers, reply.body))
    assert found.terminal is terminal
    assert (found.error is not None) is (ending == "error")


def test_sound_without_a_type_is_an_answer():
    assert DIALECT.read(ASKED, Response(200, (), b"\xff\xf3\x84\xc4")) == Reading(Answer())
    assert DIALECT.read(ASKED, Response(200, (), b'{"error": "no')) == Reading()
    assert DIALECT.read(ASKED, Response(200, (("content-type", "text/html"),), b"<p>")) == Reading()
