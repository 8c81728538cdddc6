"""The real SDK parses what the scripted provider says, over loopback and through httpx2."""

import json

import httpx2
import openai
import pytest

from onetake.testing.provider import (
    openai_batch,
    openai_completion,
    openai_completion_stream,
    openai_file,
    openai_image_stream,
    openai_images,
    openai_moderation,
    openai_response,
    openai_response_stream,
    openai_speech,
    openai_speech_stream,
    openai_transcription,
    openai_transcription_stream,
)

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
SOUND = ("a.mp3", b"\xff\xfb\x90\x00", "audio/mpeg")


@pytest.fixture
def gpt(provider):
    with openai.OpenAI(base_url=f"{provider.url}/v1", api_key="sk-test", max_retries=0, timeout=20) as client:
        assert isinstance(client._client, httpx2.Client)
        yield client


def test_a_response(provider, gpt):
    provider.script([openai_response("Hello there", reasoning="A greeting", tool_calls=[("add", {"n": 1})])])
    said = gpt.responses.create(model="gpt-5", input="hi")
    assert said.output_text == "Hello there"
    assert [item.type for item in said.output] == ["reasoning", "message", "function_call"]
    assert said.output[0].summary[0].text == "A greeting"
    assert (said.output[2].name, json.loads(said.output[2].arguments)) == ("add", {"n": 1})
    assert said.status == "completed"
    assert said.usage.total_tokens == said.usage.input_tokens + said.usage.output_tokens


def test_a_response_that_is_incomplete_refused_under_way_or_failed(provider, gpt):
    provider.script(
        [
            openai_response("Hel", finish="max_output_tokens"),
            openai_response(refusal="I can't."),
            openai_response("later", status="queued"),
            openai_response("never", status="failed"),
        ]
    )
    cut, refused, queued, failed = (gpt.responses.create(model="gpt-5", input="hi") for _ in range(4))
    assert (cut.status, cut.incomplete_details.reason, cut.output_text) == ("incomplete", "max_output_tokens", "Hel")
    assert refused.output[0].content[0].refusal == "I can't."
    assert (queued.status, queued.output) == ("queued", [])
    assert (failed.status, failed.error.message) == ("failed", "The model stopped")


def test_a_streamed_response_is_what_the_sdk_puts_together(provider, gpt):
    provider.script(
        [
            openai_response_stream(
                "Hello there 👋", reasoning="A long greeting", tool_calls=[("add", {"n": 1}), ("sub", "{}")]
            )
        ]
    )
    with gpt.responses.stream(model="gpt-5", input="hi") as stream:
        events = list(stream)
        final = stream.get_final_response()
    deltas = [event for event in events if event.type.endswith(".delta")]
    assert "".join(d.delta for d in deltas if d.type == "response.output_text.delta") == "Hello there 👋"
    assert "".join(d.delta for d in deltas if d.type == "response.reasoning_summary_text.delta") == "A long greeting"
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert final.output_text == "Hello there 👋"
    assert [item.arguments for item in final.output if item.type == "function_call"] == ['{"n": 1}', "{}"]


def test_every_streamed_event_is_of_a_known_type(provider, gpt):
    from openai.types.responses import ResponseStreamEvent

    known = ResponseStreamEvent.__args__[0].__args__
    provider.script(
        [
            openai_response_stream("a b", reasoning="c d", commentary="e", tool_calls=[("f", {})]),
            openai_response_stream(refusal="I can't"),
            openai_response_stream("a b", finish="max_output_tokens"),
        ]
    )
    for ending in ("completed", "completed", "incomplete"):
        events = list(gpt.responses.create(model="gpt-5", input="hi", stream=True))
        assert all(isinstance(event, known) for event in events)
        for event in events:
            # The SDK builds without checking; checked, each is as it says.
            type(event).model_validate(event.to_dict())
        assert events[-1].type == f"response.{ending}"


@pytest.mark.parametrize("ending, last", [("cut", "response.output_text.delta"), ("failed", "response.failed")])
def test_a_streamed_response_that_stops(provider, gpt, ending, last):
    provider.script([openai_response_stream("one two three four five six", ending=ending)])
    events = list(gpt.responses.create(model="gpt-5", input="hi", stream=True))
    assert events[-1].type == last


def test_a_streamed_response_that_ends_in_an_error(provider, gpt):
    provider.script([openai_response_stream("one two three four five six", ending="error")])
    last = list(gpt.responses.create(model="gpt-5", input="hi", stream=True))[-1]
    assert (last.type, last.message) == ("error", "The model stopped")


def test_the_echo_answers_responses_and_completions(gpt):
    assert gpt.responses.create(model="gpt-5", input="hi").output_text == "answer 1 to: hi"
    form = {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}
    asked = [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]
    assert json.loads(gpt.responses.create(model="gpt-5", input=asked, text=form).output_text) == {"n": 0}
    tool = {"type": "function", "name": "add", "parameters": SCHEMA, "strict": True}
    called = gpt.responses.create(model="gpt-5", input="hi", tools=[tool], tool_choice="required")
    assert (called.output[0].name, json.loads(called.output[0].arguments)) == ("add", {"n": 0})
    streamed = gpt.responses.create(model="gpt-5", input="ho", stream=True)
    assert "".join(e.delta for e in streamed if e.type == "response.output_text.delta") == "answer 4 to: ho"
    assert [c.text for c in gpt.completions.create(model="m", prompt=["a", "b"]).choices] == [
        "answer 5 to: a",
        "answer 5 to: b",
    ]
    assert "".join(
        c.choices[0].text for c in gpt.completions.create(model="m", prompt="a", stream=True) if c.choices
    ) == ("answer 6 to: a")


def test_legacy_completions(provider, gpt):
    provider.script([openai_completion("Hello there"), openai_completion_stream("Hello there", finish="length")])
    assert gpt.completions.create(model="m", prompt="hi").choices[0].text == "Hello there"
    chunks = list(gpt.completions.create(model="m", prompt="hi", stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == "Hello there"
    assert chunks[-2].choices[0].finish_reason == "length"
    assert chunks[-1].usage.total_tokens > 0


def test_images(provider, gpt):
    provider.script([openai_images(2, revised_prompt="A cat."), openai_image_stream("generation")])
    made = gpt.images.generate(model="gpt-image-1", prompt="a cat", n=2)
    assert [image.revised_prompt for image in made.data] == ["A cat.", "A cat."]
    assert made.usage.output_tokens == 272
    events = list(gpt.images.generate(model="gpt-image-1", prompt="a cat", stream=True, partial_images=1))
    assert [event.type for event in events] == ["image_generation.partial_image", "image_generation.completed"]


def test_speech(provider, gpt):
    provider.script([openai_speech(b"ID3-sound"), openai_speech_stream([b"ab", b"cd"])])
    assert gpt.audio.speech.create(model="tts-1", voice="alloy", input="hi").read() == b"ID3-sound"
    streamed = gpt.audio.speech.create(model="tts", voice="alloy", input="hi", stream_format="sse").read()
    assert streamed.count(b"speech.audio.delta") == 4  # in each event's name and type
    assert b"speech.audio.done" in streamed


@pytest.mark.parametrize(
    "form, said",
    [
        ("json", lambda found: found.text),
        ("verbose_json", lambda found: found.segments[0].text),
        ("diarized_json", lambda found: found.segments[0].text),
        ("text", str.strip),
        ("srt", lambda found: found.splitlines()[2]),
        ("vtt", lambda found: found.splitlines()[3]),
    ],
)
def test_transcriptions(provider, gpt, form, said):
    provider.script([openai_transcription("Hello there", form)])
    assert said(gpt.audio.transcriptions.create(model="whisper-1", file=SOUND, response_format=form)) == "Hello there"


def test_a_streamed_transcription(provider, gpt):
    provider.script([openai_transcription_stream("Hello there you")])
    events = list(gpt.audio.transcriptions.create(model="gpt-4o-transcribe", file=SOUND, stream=True))
    assert "".join(event.delta for event in events[:-1]) == events[-1].text == "Hello there you"


def test_moderations_files_and_batches(provider, gpt):
    batch = openai_batch("completed", output_file_id="file-2")
    provider.script([openai_moderation(True, False), openai_file("a.jsonl", 3), batch])
    assert [result.flagged for result in gpt.moderations.create(input=["x", "y"]).results] == [True, False]
    uploaded = gpt.files.create(file=("a.jsonl", b"{}\n"), purpose="batch")
    assert (uploaded.filename, uploaded.bytes, uploaded.status) == ("a.jsonl", 3, "processed")
    made = gpt.batches.create(completion_window="24h", endpoint="/v1/chat/completions", input_file_id=uploaded.id)
    assert (made.status, made.output_file_id) == ("completed", "file-2")
