"""What an answer hangs on: which differences of two requests may be adopted, which only with care, and which never."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from onetake import dialects
from onetake.dialects import Dialect
from onetake.model import Request
from onetake.upkeep.operations import Kind, Operation, signature

_PROMPT = frozenset(
    (
        "messages",
        "contents",
        "content",
        "input",
        "inputs",
        "prompt",
        "system",
        "systemInstruction",
        "system_instruction",
        "instructions",
        "query",
        "documents",
        "texts",
        "text",
        "suffix",
        "prefix",
        "chat_history",
        "preamble",
        "history",
        "arguments",
    )
)
_PARAMETERS = frozenset(
    (
        "temperature",
        "top_p",
        "top_k",
        "topP",
        "topK",
        "p",
        "k",
        "min_p",
        "seed",
        "stop",
        "stop_sequences",
        "stopSequences",
        "n",
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "maxTokens",
        "max_tokens_to_sample",
        "num_predict",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "logit_bias",
        "logprobs",
        "top_logprobs",
        "reasoning",
        "reasoning_effort",
        "thinking",
        "think",
        "generationConfig",
        "generation_config",
        "inferenceConfig",
        "additionalModelRequestFields",
        "options",
        "modalities",
        "audio",
        "voice",
        "verbosity",
        "tool_choice",
        "toolChoice",
        "parallel_tool_calls",
        "truncation",
        "dimensions",
        "encoding_format",
        "size",
        "quality",
        "style",
        "response_modalities",
        "safetySettings",
        "safety_settings",
        "safe_prompt",
        "random_seed",
        "raw",
        "keep_alive",
        "template",
    )
)
_SCHEMA = frozenset(
    (
        "response_format",
        "format",
        "output_format",
        "output_config",
        "json_schema",
        "response_schema",
        "guided_json",
        "tools",
        "functions",
        "toolConfig",
        "tool_config",
        "text_format",
    )
)
_SCHEMA_WITHIN = frozenset(
    ("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema", "responseMimeType", "format")
)
"""Names of schemas inside of what else holds parameters: `generationConfig`, `text`."""
_WITHIN = frozenset(("generationConfig", "generation_config", "text"))
_MODEL = frozenset(("model", "modelId", "model_id", "engine", "deployment"))


def refusal(found: Iterable[Operation], old: Request, new: Request) -> str:
    """Say why the answer to one request cannot be taken for that to another; empty where it may.

    Args:
        found: The steps from the one to the other.
        old: The stored request.
        new: The one that is asked.
    """
    for one in found:
        if why := _refusal(one):
            return f"{one.place}: {why}"
    first, second = (dialects.find(request.method, request.url) for request in (old, new))
    if first is not second:
        return "it is asked of another API"
    if first and second and _promises(first, old) != _promises(second, new):
        return "the schema that the request asks for is another one"
    return ""


def cautions(found: Iterable[Operation]) -> tuple[str, ...]:
    """Return what a person should know before an answer is adopted over such a difference, each once."""
    return tuple(dict.fromkeys(said for one in found if (said := _caution(one))))


def prompt(tree: Mapping[str, Any]) -> str:
    """Return what a request says to the model, and where: equal for equal prompts, whatever else is asked.

    Args:
        tree: What `tree_of` makes of it.

    Returns:
        Empty where none of the usual names is in its body.
    """
    body = tree.get("body", {}).get("json")
    said = {name: value for name, value in body.items() if name in _PROMPT} if isinstance(body, dict) else {}
    return signature([tree.get("method"), tree.get("path"), said]) if said else ""


def _promises(dialect: Dialect, request: Request) -> list[str]:
    """Return the schemas that a request asks for, in whatever order."""
    return sorted(map(repr, dialect.promises(request)))


def _refusal(one: Operation) -> str:
    match one.path:
        case ("body", "json", *steps):
            return _in_body(one, steps)
        case ("body", *_):
            return "what is sent is another content, which is no JSON"
        case ("headers" | "query", str()):
            return ""
        case ("origin",):
            return "another host is asked; if that does not count, `origins` in the key rules says so"
    return "another call is made"


def _in_body(one: Operation, steps: list[str | int | None]) -> str:
    name = str(steps[0]) if steps else ""
    if name in _MODEL:
        return "another model is asked"
    if (
        name in _SCHEMA or (name in _WITHIN and not _SCHEMA_WITHIN.isdisjoint(steps[1:2]))
    ) and one.kind is not Kind.ORDER:
        return "the schema or the tools of the request changed"
    if name == "stream" and one.new not in ("false", "null", ""):
        return "the answer is to come as a stream"
    if name == "stream" and one.old == "true":
        return "the answer is to come in one piece"
    if name in _PARAMETERS and not _is_added(one):
        return "a parameter that changes answers has another value"
    if not steps:
        return "the whole content is another one"
    return ""


def _caution(one: Operation) -> str:
    match one.path:
        case ("headers" | "query" as part, str()):
            return "" if _is_added(one) else f"a {'header' if part == 'headers' else part} has another value"
        case ("body", "json", str(name), *_) if name in _PROMPT:
            return "the prompt was edited: the stored answer is to the old one"
        case ("body", "json", str(name), *_) if name in _PARAMETERS and one.new != "null":
            return f"{name} is said that was not: it may change answers, unless it is the default"
        case ("body", "json", "stream_options", *_):
            return "a stream may hold other events now"
    return "only the order differs: a model may answer otherwise" if one.kind is Kind.ORDER else ""


def _is_added(one: Operation) -> bool:
    return one.kind is Kind.ADDED
