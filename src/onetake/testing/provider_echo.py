"""What the provider answers where nothing is scripted: a numbered echo, so that a wrong replay is visible."""

from __future__ import annotations

from typing import Any

from onetake.dialects import anthropic_blocks
from onetake.testing.provider_anthropic import anthropic_message, anthropic_stream
from onetake.testing.provider_bedrock import bedrock_echo
from onetake.testing.provider_echoes import ECHOES
from onetake.testing.provider_http import Received, Reply
from onetake.testing.provider_openai import openai_chat, openai_embeddings, openai_error, openai_stream
from onetake.testing.provider_openai_more import openai_completion, openai_completion_stream
from onetake.testing.provider_openai_responses import openai_response, openai_response_stream
from onetake.testing.provider_said import Said, json_reply, tokens
from onetake.testing.provider_sample import sample


def echo(request: Received) -> Reply:
    """Answer a request in its API's shape: `answer 3 to: <the last user text>`.

    A tool that the request insists on is called; a JSON Schema that it carries is filled; the echo is in every string.

    Returns:
        What the API at the end of the path answers, streamed if asked for: chat completions, responses, legacy
        completions, embeddings, messages and their token count, Bedrock's converse and invoke, and Gemini's, Ollama's
        and Cohere's chats, vectors and scores. 404 for any other path, 400 for a body that is no JSON object.
    """
    path = request.path.partition("?")[0]
    known = next((reply for end, reply in _PATHS if path.endswith(end)), None)
    if request.method != "POST" or known is None:
        return openai_error(404, f"Unknown request: {request.method} {path}", "invalid_request_error")
    try:
        body = request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        return openai_error(400, "The body is not a JSON object", "invalid_request_error")
    return known(request, body)


def _chat(request: Received, body: dict[str, Any]) -> Reply:
    asked = _last_user_text(body)
    text = f"answer {request.number} to: {asked}"
    said: Said = {"n": body.get("n") or 1, "prompt": _all_text(body)}
    if "model" in body:
        said["model"] = body["model"]
    choice = body.get("tool_choice")
    wanted = choice["function"]["name"] if isinstance(choice, dict) else None
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema")
    if body.get("tools") and (choice == "required" or wanted):
        functions = [tool["function"] for tool in body["tools"]]
        function = next((f for f in functions if f["name"] == wanted), functions[0])
        said["tool_calls"] = [(function["name"], sample(function.get("parameters", {}), text))]
    elif schema is not None:
        said["json"] = sample(schema, text)
    elif (body.get("response_format") or {}).get("type") == "json_object":
        said["json"] = {"answer": text}
    plain = None if {"tool_calls", "json"} & said.keys() else text
    if body.get("stream"):
        usage = bool((body.get("stream_options") or {}).get("include_usage"))
        return openai_stream(plain, include_usage=usage, **said)
    return openai_chat(plain, **said)


def _responses(request: Received, body: dict[str, Any]) -> Reply:
    asked = body.get("input", "")
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    text = f"answer {request.number} to: {_last_user_text({'messages': messages})}"
    said: Said = {"prompt": _all_text({"messages": messages})}
    if "model" in body:
        said["model"] = body["model"]
    wanted = (body.get("text") or {}).get("format") or {}
    functions = [tool for tool in body.get("tools") or () if tool.get("type") == "function"]
    choice = body.get("tool_choice")
    named = choice.get("name") if isinstance(choice, dict) else None
    if functions and (choice == "required" or named):
        function = next((f for f in functions if f["name"] == named), functions[0])
        said["tool_calls"] = [(function["name"], sample(function.get("parameters", {}), text))]
    elif wanted.get("type") == "json_schema":
        said["json"] = sample(wanted.get("schema", {}), text)
    make = openai_response_stream if body.get("stream") else openai_response
    return make(None if {"tool_calls", "json"} & said.keys() else text, **said)


def _completion(request: Received, body: dict[str, Any]) -> Reply:
    asked = body.get("prompt", "")
    prompts = [asked] if isinstance(asked, str) else [str(prompt) for prompt in asked]
    make = openai_completion_stream if body.get("stream") else openai_completion
    texts = [f"answer {request.number} to: {prompt}" for prompt in prompts]
    return make(texts, model=str(body.get("model", "")), prompt=" ".join(prompts))


def _embeddings(request: Received, body: dict[str, Any]) -> Reply:
    asked = body.get("input", "")
    texts = [asked] if isinstance(asked, str) else [str(item) for item in asked]
    return openai_embeddings(texts, as_base64=body.get("encoding_format") == "base64", model=body.get("model", ""))


def _messages(request: Received, body: dict[str, Any]) -> Reply:
    text = f"answer {request.number} to: {_last_user_text(body)}"
    said: Said = {"prompt": _all_text(body)}
    if "model" in body:
        said["model"] = body["model"]
    choice = body.get("tool_choice") or {}
    if body.get("tools") and choice.get("type") in ("any", "tool"):
        tool = next((t for t in body["tools"] if t["name"] == choice.get("name")), body["tools"][0])
        said["tool_calls"] = [(tool["name"], sample(tool.get("input_schema", {}), text))]
    elif promised := next((each for each in anthropic_blocks.promises(body) if each.on == "text"), None):
        said["json"] = sample(promised.schema, text)
    make: Any = anthropic_stream if body.get("stream") else anthropic_message
    reply: Reply = make(None if {"tool_calls", "json"} & said.keys() else text, **said)
    return reply


def _bedrock(request: Received, body: dict[str, Any]) -> Reply:
    asked = _last_user_text(body) or str(body.get("inputText") or body.get("prompt") or "")
    path = request.path.partition("?")[0]
    return bedrock_echo(path, body, f"answer {request.number} to: {asked}", _all_text(body) or asked)


def _count(request: Received, body: dict[str, Any]) -> Reply:
    return json_reply({"input_tokens": tokens(_all_text(body))})


_PATHS = (
    *ECHOES,
    ("/chat/completions", _chat),
    ("/responses", _responses),
    ("/completions", _completion),
    ("/embeddings", _embeddings),
    ("/messages", _messages),
    ("/messages/count_tokens", _count),
    ("/converse", _bedrock),
    ("/converse-stream", _bedrock),
    ("/invoke", _bedrock),
    ("/invoke-with-response-stream", _bedrock),
)


def _last_user_text(body: dict[str, Any]) -> str:
    said = [_text(message) for message in body.get("messages", ()) if message.get("role") == "user"]
    return said[-1] if said else ""


def _all_text(body: dict[str, Any]) -> str:
    return " ".join(_text(message) for message in body.get("messages", ()))


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in content)
