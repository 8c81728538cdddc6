"""Two answers of every API that is known, whole and streamed, that differ in what is said alone."""

from __future__ import annotations

import json

import pytest

from onetake import dialects
from onetake.testing import provider

MAKERS = {
    "anthropic": "anthropic.claude-3-haiku-20240307-v1:0",
    "nova": "amazon.nova-micro-v1:0",
    "titan": "amazon.titan-text-lite-v1",
    "llama": "meta.llama3-8b-instruct-v1:0",
    "mistral": "mistral.mistral-7b-instruct-v0:2",
}


def conversation(text):
    message = {"type": "message.output", "id": "m", "role": "assistant", "content": text, "model": "m-1"}
    return provider.json_reply({"object": "conversation.response", "conversation_id": "c", "outputs": [message]})


def conversation_stream(text):
    kinds = ["conversation.response.started", *["message.output.delta"] * len(text), "conversation.response.done"]
    said = [{}, *({"content": piece, "model": "m-1"} for piece in text), {"usage": {"prompt_tokens": len(text)}}]
    events = (json.dumps({"type": kind, **data}) for kind, data in zip(kinds, said, strict=True))
    return provider.stream_reply(
        [f"event: {kind}\ndata: {event}\n\n".encode() for kind, event in zip(kinds, events, strict=True)]
    )


def pages(*texts):
    found = [{"index": number, "markdown": text, "images": []} for number, text in enumerate(texts)]
    return provider.json_reply({"pages": found, "model": "mistral-ocr-2512"})


def pictures(data):
    return provider.json_reply({"predictions": [{"mimeType": "image/png", "bytesBase64Encoded": data}]})


def both(make, *said):
    return [make(*one) if isinstance(one, tuple) else make(one) for one in said]


LONG = "It rains in Paris, and will rain for three days."
PAIRS = [
    ("/v1/chat/completions", both(provider.openai_chat, "Sun.", LONG)),
    ("/v1/responses", both(provider.openai_response, "Sun.", LONG)),
    ("/v1/completions", both(provider.openai_completion, "Sun.", LONG)),
    ("/v1/completions", both(provider.openai_completion_stream, "Sun.", LONG)),
    ("/v1/embeddings", both(lambda texts: provider.openai_embeddings(texts, as_base64=False), ["a", "b"], ["c", "d"])),
    ("/v1/images/generations", both(provider.openai_images, 1, 2)),
    ("/v1/images/generations", both(provider.openai_image_stream, (), ())),
    ("/v1/audio/speech", both(provider.openai_speech, b"ID3\x04aa", b"ID3\x04b")),
    ("/v1/audio/speech", both(provider.openai_speech_stream, [b"a"], [b"a", b"b"])),
    ("/v1/audio/transcriptions", both(provider.openai_transcription, "Sun.", LONG)),
    ("/v1/audio/transcriptions", both(provider.openai_transcription_stream, "Sun.", LONG)),
    ("/v1/moderations", both(provider.openai_moderation, (True,), (False, True))),
    ("/v1/messages", both(provider.anthropic_message, "Sun.", LONG)),
    ("/model/m/converse", both(provider.bedrock_converse, "Sun.", LONG)),
    *(
        (f"/model/{model}/{path}", both(make, (maker, "Sun."), (maker, LONG)))
        for maker, model in MAKERS.items()
        for path, make in (
            ("invoke", provider.bedrock_invoke),
            ("invoke-with-response-stream", provider.bedrock_invoke_stream),
        )
    ),
    ("/v1beta/models/g:generateContent", both(provider.gemini_content, "Sun.", LONG)),
    ("/v1beta/models/g:batchEmbedContents", both(provider.gemini_embeddings, ["a", "b"], ["c", "d"])),
    ("/v1beta/models/imagen-4:predict", both(pictures, "aa", "bb")),
    ("/api/chat", both(provider.ollama_message, "Sun.", LONG)),
    ("/api/embed", both(provider.ollama_embeddings, ["a", "b"], ["c", "d"])),
    ("/v2/chat", both(provider.cohere_message, "Sun.", LONG)),
    ("/v1/chat", both(provider.cohere_v1_message, "Sun.", LONG)),
    ("/v2/embed", both(provider.cohere_embeddings, ["a", "b"], ["c", "d"])),
    ("/v2/rerank", both(provider.cohere_rerank, ["a"], ["b", "c"])),
    ("/v1/conversations", both(conversation, "Sun.", LONG)),
    ("/v1/conversations", both(conversation_stream, "Sun.", LONG)),
    ("/v1/ocr", both(pages, ("# One",), ("# Two", "and three"))),
]


def dialect_at(path):
    return dialects.find("POST", "https://api.example" + path)


@pytest.mark.parametrize(("path", "pair"), PAIRS)
def test_what_is_said_is_no_finding(beside, path, pair):
    assert dialect_at(path)
    old, new = pair
    for one, other in ((old, new), (new, old)):
        compared = beside(one, other, url="https://api.example" + path, asked={})
        assert compared.findings == ()


def test_every_dialect_that_answers_is_among_them():
    asks_no_model = {"function", "openai-files", "openai-batches"}
    spoken = {dialect_at(path).name for path, _ in PAIRS}
    assert {one.name for one in dialects.known()} - spoken == asks_no_model
