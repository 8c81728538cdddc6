"""What the provider answers where nothing is scripted, in the shapes of Gemini, Ollama and Cohere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from onetake.dialects import cohere_words, gemini
from onetake.model import Request
from onetake.testing.provider_cohere import cohere_message, cohere_stream, cohere_v1_message, cohere_v1_stream
from onetake.testing.provider_gemini import gemini_content, gemini_stream
from onetake.testing.provider_http import Received, Reply
from onetake.testing.provider_ollama import ollama_message, ollama_stream
from onetake.testing.provider_said import Said, spelled
from onetake.testing.provider_sample import sample
from onetake.testing.provider_vectors import (
    cohere_embeddings,
    cohere_rerank,
    gemini_embeddings,
    ollama_embeddings,
    vertex_embeddings,
)


def _gemini(request: Received, body: dict[str, Any]) -> Reply:
    path = urlsplit(request.path)
    asked = [_texts(content.get("parts")) for content in body.get("contents", ()) if content.get("role") != "model"]
    text = _answer(request, asked)
    said: Said = {"prompt": " ".join(asked), "model": path.path.rpartition("/")[2].partition(":")[0]}
    promises = gemini.DIALECT.promises(Request("POST", request.path, request.headers, request.body))
    calling = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    tool = next((promise for promise in promises if promise.on != "text"), None)
    if tool and calling.get("mode") == "ANY":
        said["tool_calls"] = [(tool.name, sample(tool.schema, text))]
    elif wanted := next((promise.schema for promise in promises if promise.on == "text"), None):
        said["json"] = sample(wanted, text)
    plain = None if {"tool_calls", "json"} & said.keys() else text
    if not path.path.endswith(":streamGenerateContent"):
        return gemini_content(plain, **said)
    return gemini_stream(plain, array=parse_qs(path.query).get("alt") != ["sse"], **said)


def _ollama(request: Received, body: dict[str, Any]) -> Reply:
    generate = request.path.partition("?")[0].endswith("/generate")
    asked = [str(body.get("prompt", ""))] if generate else _user_texts(body)
    text = _answer(request, asked)
    said: Said = {"prompt": " ".join(asked), "model": str(body.get("model", ""))}
    if isinstance(body.get("format"), dict):
        said["json"] = sample(body["format"], text)
    make = ollama_message if body.get("stream") is False else ollama_stream
    return make(None if "json" in said else text, generate=generate, **said)


def _cohere(request: Received, body: dict[str, Any]) -> Reply:
    asked = _user_texts(body)
    text = _answer(request, asked)
    said: Said = {"prompt": " ".join(asked)}
    promised = next(cohere_words.text_promises(body), None)
    if body.get("tools") and body.get("tool_choice") == "REQUIRED":
        function = body["tools"][0]["function"]
        said["tool_calls"] = [(function["name"], sample(function.get("parameters", {}), text))]
    elif promised:
        said["json"] = sample(promised.schema, text)
    plain = None if {"tool_calls", "json"} & said.keys() else text
    if not body.get("stream"):
        return cohere_message(plain, **said)
    return cohere_stream(plain, lines=request.header("accept") == "application/json", **said)


def _cohere_v1(request: Received, body: dict[str, Any]) -> Reply:
    asked = str(body.get("message", ""))
    text = _answer(request, [asked])
    if promised := next(cohere_words.text_promises(body), None):
        text = spelled(sample(promised.schema, text))
    make = cohere_v1_stream if body.get("stream") else cohere_v1_message
    return make(text, prompt=asked)


def _gemini_batch(request: Received, body: dict[str, Any]) -> Reply:
    return gemini_embeddings([_texts(each["content"].get("parts")) for each in body.get("requests", ())])


def _gemini_one(request: Received, body: dict[str, Any]) -> Reply:
    return gemini_embeddings([_texts((body.get("content") or {}).get("parts"))], batch=False)


def _vertex(request: Received, body: dict[str, Any]) -> Reply:
    return vertex_embeddings([str(each.get("content", "")) for each in body.get("instances", ())])


def _ollama_vectors(request: Received, body: dict[str, Any]) -> Reply:
    asked = body.get("input", "")
    return ollama_embeddings([asked] if isinstance(asked, str) else asked, model=str(body.get("model", "")))


def _ollama_vector(request: Received, body: dict[str, Any]) -> Reply:
    return ollama_embeddings([str(body.get("prompt", ""))], legacy=True)


def _cohere_vectors(request: Received, body: dict[str, Any]) -> Reply:
    return cohere_embeddings(body.get("texts") or (), version=_version(request))


def _cohere_scores(request: Received, body: dict[str, Any]) -> Reply:
    return cohere_rerank([str(each) for each in body.get("documents") or ()], version=_version(request))


ECHOES = (
    (":generateContent", _gemini),
    (":streamGenerateContent", _gemini),
    (":batchEmbedContents", _gemini_batch),
    (":embedContent", _gemini_one),
    (":predict", _vertex),
    ("/api/chat", _ollama),
    ("/api/generate", _ollama),
    ("/api/embed", _ollama_vectors),
    ("/api/embeddings", _ollama_vector),
    ("/v2/chat", _cohere),
    ("/v1/chat", _cohere_v1),
    ("/v1/embed", _cohere_vectors),
    ("/v2/embed", _cohere_vectors),
    ("/v1/rerank", _cohere_scores),
    ("/v2/rerank", _cohere_scores),
)
"""The end of a path, and what answers there."""


def _answer(request: Received, asked: list[str]) -> str:
    return f"answer {request.number} to: {asked[-1] if asked else ''}"


def _version(request: Received) -> int:
    return 2 if "/v2/" in request.path else 1


def _texts(parts: Iterable[dict[str, Any]] | None) -> str:
    return " ".join(str(part["text"]) for part in parts or () if "text" in part)


def _user_texts(body: dict[str, Any]) -> list[str]:
    said = [each.get("content") or "" for each in body.get("messages", ()) if each.get("role") == "user"]
    return [content if isinstance(content, str) else _texts(content) for content in said]
