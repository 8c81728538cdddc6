"""More replies of the OpenAI shape: legacy completions, images, speech, transcriptions, moderations, files, batches."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from typing import Any, Literal, Unpack

from onetake.testing.provider_http import Reply
from onetake.testing.provider_openai import data_event, error_body, openai_headers
from onetake.testing.provider_said import (
    Ending,
    Said,
    bytes_reply,
    json_reply,
    stream_reply,
    text_reply,
    token,
    tokens,
    until,
    words,
)

TranscriptionForm = Literal["json", "verbose_json", "diarized_json", "text", "srt", "vtt"]
"""The `response_format` of a transcription."""

_PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(24)).decode()
_STOPPED = error_body("The server stopped", "server_error", None)


def openai_completion(text: str | Sequence[str], **said: Unpack[Said]) -> Reply:
    """Make a legacy text completion.

    Args:
        text: The text; a list gives each choice its own.
        **said: See `Said`.
    """
    return json_reply(_completion(text, said), headers=openai_headers())


def openai_completion_stream(text: str | Sequence[str], *, ending: Ending = "done", **said: Unpack[Said]) -> Reply:
    """Make a streamed legacy completion, a word an event, the usage before the end.

    Args:
        text: The text; a list gives each choice its own.
        ending: How the stream ends.
        **said: See `Said`.
    """
    whole = _completion(text, said)
    pieces = [
        choice | {"text": piece, "finish_reason": finish}
        for choice in whole["choices"]
        for piece, finish in [*((word, None) for word in words(choice["text"])), ("", choice["finish_reason"])]
    ]
    events = [data_event(whole | {"choices": [piece], "usage": None}) for piece in pieces]
    events += [data_event(whole | {"choices": []}), b"data: [DONE]\n\n"]
    return stream_reply(until(events, ending, data_event(_STOPPED)), openai_headers())


def openai_images(count: int = 1, *, revised_prompt: str | None = None, model: str = "gpt-image-1") -> Reply:
    """Make *count* images, 1 or more, as base64."""
    image = {"b64_json": _PNG} | ({"revised_prompt": revised_prompt} if revised_prompt else {})
    body = {"created": int(time.time()), "data": [image] * count, "usage": _usage(11, 272), "model": model}
    return json_reply(body, headers=openai_headers())


def openai_image_stream(kind: Literal["generation", "edit"] = "generation", *, ending: Ending = "done") -> Reply:
    """Make a streamed image: one partial image, then the whole."""
    shared = {"b64_json": _PNG, "created_at": int(time.time()), "size": "1024x1024", "quality": "low"}
    shared |= {"background": "opaque", "output_format": "png"}
    steps = [
        {"type": f"image_{kind}.partial_image", **shared, "partial_image_index": 0},
        {"type": f"image_{kind}.completed", **shared, "usage": _usage(11, 272)},
    ]
    return stream_reply(until(_typed(steps), ending, _typed_error()), openai_headers())


def openai_speech(sound: bytes = b"ID3\x04" + bytes(60), content_type: str = "audio/mpeg") -> Reply:
    """Make speech: the sound as it is."""
    return bytes_reply(sound, content_type, headers=openai_headers())


def openai_speech_stream(pieces: Sequence[bytes] = (b"ID3\x04", bytes(60)), *, ending: Ending = "done") -> Reply:
    """Make streamed speech, one piece of sound an event."""
    steps: list[dict[str, Any]] = [
        {"type": "speech.audio.delta", "audio": base64.b64encode(piece).decode()} for piece in pieces
    ]
    steps.append({"type": "speech.audio.done", "usage": _usage(4, 20)})
    return stream_reply(until(_typed(steps), ending, _typed_error()), openai_headers())


def openai_transcription(text: str, form: TranscriptionForm = "json") -> Reply:
    """Make a transcription in any form; in those with times it is one segment of one second."""
    if form == "srt":
        return text_reply(f"1\n00:00:00,000 --> 00:00:01,000\n{text}\n\n", headers=openai_headers())
    if form == "vtt":
        return text_reply(f"WEBVTT\n\n00:00:00.000 --> 00:00:01.000\n{text}\n\n", headers=openai_headers())
    if form == "text":
        return text_reply(f"{text}\n", headers=openai_headers())
    if form == "verbose_json":
        segment = {"id": 0, "seek": 0, "start": 0.0, "end": 1.0, "text": text, "tokens": [1], "temperature": 0.0}
        segment |= {"avg_logprob": -0.1, "compression_ratio": 1.0, "no_speech_prob": 0.0}
        body = {"task": "transcribe", "language": "english", "duration": 1.0, "text": text, "segments": [segment]}
        return json_reply(body | {"usage": {"type": "duration", "seconds": 1}}, headers=openai_headers())
    body = {"text": text, "usage": {"type": "tokens", **_usage(14, tokens(text))}}
    if form == "diarized_json":
        segment = {"id": "seg_0", "type": "transcript.text.segment", "start": 0.0, "end": 1.0, "speaker": "A"}
        body |= {"task": "transcribe", "duration": 1.0, "segments": [segment | {"text": text}]}
    return json_reply(body, headers=openai_headers())


def openai_transcription_stream(text: str, *, ending: Ending = "done") -> Reply:
    """Make a streamed transcription, a word an event, the whole text in the last one."""
    steps: list[dict[str, Any]] = [{"type": "transcript.text.delta", "delta": word} for word in words(text)]
    usage = {"type": "tokens", **_usage(14, tokens(text))}
    steps.append({"type": "transcript.text.done", "text": text, "usage": usage})
    return stream_reply(until(_typed(steps), ending, _typed_error()), openai_headers())


def openai_moderation(*flags: bool, model: str = "omni-moderation-latest") -> Reply:
    """Make a moderation, one result for each flag: whether its text was found violent."""
    results = [
        {
            "flagged": flag,
            "categories": {"violence": flag},
            "category_scores": {"violence": 0.9 if flag else 0.01},
            "category_applied_input_types": {"violence": ["text"]},
        }
        for flag in flags
    ]
    return json_reply({"id": f"modr-{token()}", "model": model, "results": results}, headers=openai_headers())


def openai_file(filename: str = "input.jsonl", size: int = 120, purpose: str = "batch") -> Reply:
    """Make the file object that an upload gets."""
    body = {"id": f"file-{token()}", "object": "file", "bytes": size, "created_at": int(time.time())}
    more = {"filename": filename, "purpose": purpose, "status": "processed", "expires_at": None}
    return json_reply(body | more, headers=openai_headers())


def openai_batch(status: str = "validating", *, output_file_id: str | None = None) -> Reply:
    """Make a batch object in this status."""
    body = {
        "id": f"batch_{token()}",
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "errors": None,
        "input_file_id": f"file-{token()}",
        "completion_window": "24h",
        "status": status,
        "output_file_id": output_file_id,
        "created_at": int(time.time()),
        "request_counts": {"total": 1, "completed": 0, "failed": 0},
        "metadata": None,
    }
    return json_reply(body, headers=openai_headers())


def _completion(text: str | Sequence[str], said: Said) -> dict[str, Any]:
    texts = [text] if isinstance(text, str) else text
    finish = said.get("finish", "stop")
    choices = [
        {"index": i, "text": texts[i % len(texts)], "logprobs": None, "finish_reason": finish}
        for i in range(said.get("n", len(texts)))
    ]
    asked, answered = tokens(said.get("prompt", "")), sum(tokens(str(choice["text"])) for choice in choices)
    usage = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    return {
        "id": f"cmpl-{token(29)}",
        "object": "text_completion",
        "created": int(time.time()),
        "model": said.get("model", "gpt-3.5-turbo-instruct:20230824-v2"),
        "choices": choices,
        "usage": usage | dict(said.get("usage", {})),
    }


def _usage(asked: int, answered: int) -> dict[str, Any]:
    details = {"text_tokens": asked, "image_tokens": 0}
    total = asked + answered
    return {"input_tokens": asked, "input_tokens_details": details, "output_tokens": answered, "total_tokens": total}


def _typed(steps: Sequence[dict[str, Any]]) -> list[bytes]:
    return [f"event: {step['type']}\n".encode() + data_event(step) for step in steps]


def _typed_error() -> bytes:
    return b"event: error\n" + data_event({"type": "error", **_STOPPED})
