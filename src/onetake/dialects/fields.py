"""What the fields of a request mean: the prompt, the model, the schema, the tools, a parameter; and who speaks.

Source: the request bodies in the references of the providers' APIs, and the types of their SDKs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import Any

Step = str | int


class Field(StrEnum):
    """What a field of a request is, in the words of messages."""

    MODEL = "the model"
    SCHEMA = "the answer's schema"
    TOOLS = "the tools"
    PROMPT = "the prompt"
    CONTEXT = "the conversation that it goes on with"
    ARGUMENTS = "the function's arguments"
    PARAMETER = "a parameter"
    OTHER = "another field"


class Speaker(StrEnum):
    """Whose words a text of a prompt is."""

    PERSON = "person"
    """The program's or its user's: instructions and questions."""
    MODEL = "model"
    """What the model answered before, or how it called a tool."""
    TOOL = "tool"
    """What a tool returned."""
    NOBODY = "nobody"
    """No words: a role, an id, an image."""


_SAMPLING = (
    "temperature top_p top_k p k min_p typical_p top_a seed random_seed stop stop_sequences n best_of echo max_tokens "
    "max_completion_tokens max_output_tokens max_tokens_to_sample max_gen_len num_predict maxTokenCount "
    "presence_penalty frequency_penalty repetition_penalty logit_bias logprobs top_logprobs stream stream_options"
)
_THINKING = "reasoning reasoning_effort thinking think effort verbosity prediction safe_prompt prompt_mode"
_FORM = "modalities audio voice speed size quality style background output_format truncation include"
_ROUTING = "provider route transforms plugins web_search_options guardrails guardrailConfig safetySettings moderation"
_TOOLS = (
    "tools functions tool_choice function_call tool_config parallel_tool_calls max_tool_calls strict_tools mcp_servers"
)
_MODEL = "model models modelId engine deployment fallbacks"
_SCHEMA = (
    "response_format json_schema response_schema guided_json guided_regex guided_choice guided_grammar output_config"
)
_CONTEXT = "previous_response_id conversation conversation_id session_id container cached_content context file_ids"
_SHARED = {
    Field.MODEL: _MODEL,
    Field.SCHEMA: _SCHEMA,
    Field.TOOLS: _TOOLS,
    Field.CONTEXT: _CONTEXT,
    Field.PARAMETER: f"{_SAMPLING} {_THINKING} {_FORM} {_ROUTING}",
}
"""What names mean wherever they stand at the top of a body; a dialect's own meaning of one goes before it."""

_OWN: Mapping[str, Mapping[Field, str]] = {
    "openai-chat": {Field.PROMPT: "messages prompt suffix"},
    "openai-responses": {
        Field.PROMPT: "input instructions",
        Field.CONTEXT: "prompt",
        Field.SCHEMA: "text.format",
        Field.PARAMETER: "text",
    },
    "openai-completions": {Field.PROMPT: "prompt suffix"},
    "anthropic-messages": {Field.PROMPT: "messages system", Field.SCHEMA: "output_format"},
    "bedrock-converse": {
        Field.PROMPT: "messages system",
        Field.CONTEXT: "promptVariables",
        Field.SCHEMA: "outputConfig",
        Field.PARAMETER: "inferenceConfig additionalModelRequestFields additionalModelResponseFieldPaths "
        "performanceConfig",
    },
    "bedrock-invoke": {
        Field.PROMPT: "messages system prompt inputText message chat_history preamble",
        Field.PARAMETER: "inferenceConfig textGenerationConfig anthropic_version anthropic_beta",
    },
    "gemini": {
        Field.PROMPT: "contents systemInstruction",
        Field.SCHEMA: "generationConfig.responseSchema generationConfig.responseJsonSchema "
        "generationConfig.responseMimeType",
        Field.PARAMETER: "generationConfig",
    },
    "ollama": {
        Field.PROMPT: "messages prompt system suffix",
        Field.SCHEMA: "format",
        Field.PARAMETER: "options template raw keep_alive images",
    },
    "cohere-chat": {
        Field.PROMPT: "messages",
        Field.CONTEXT: "documents citation_options",
        Field.PARAMETER: "safety_mode",
    },
    "cohere-v1": {
        Field.PROMPT: "message preamble chat_history prompt",
        Field.CONTEXT: "documents connectors tool_results",
        Field.PARAMETER: "prompt_truncation citation_quality search_queries_only raw_prompting",
    },
    "mistral-conversations": {
        Field.PROMPT: "inputs instructions",
        Field.CONTEXT: "agent_id",
        Field.SCHEMA: "completion_args.response_format",
        Field.PARAMETER: "completion_args",
    },
    "function": {Field.ARGUMENTS: "function arguments"},
}
"""What more a dialect's bodies hold, as dotted names; one that is not here has no prompt whose words may be edited."""

_WORDLESS = {
    Field.PROMPT: "input inputs text texts query documents content contents instances",
    Field.PARAMETER: "dimensions output_dimensionality encoding_format embedding_types input_type taskType parameters "
    "top_n pages image_limit timestamp_granularities language",
}
"""What the bodies of the APIs hold whose answers have no words; of these each letter of the question counts."""

_PERSON = frozenset(("", "user", "system", "developer"))
_MODEL_ROLES = frozenset(("assistant", "model", "chatbot", "ai"))
_TOOL_ROLES = frozenset(("tool", "function"))
_PERSON_BLOCKS = frozenset(("", "text", "inputtext", "message", "messageinput"))
_MODEL_BLOCKS = re.compile("outputtext|refusal|.*(thinking|reasoning).*|.*(tool|calls?)(use)?")
_TOOL_BLOCKS = re.compile(".*(result|response|output)")
"""Looked for first."""
_MODEL_NAMES = frozenset(
    ("toolcalls", "functioncall", "tooluse", "reasoningcontent", "reasoning", "thinking", "toolplan")
)
_TOOL_NAMES = frozenset(("toolresult", "functionresponse", "toolresults", "output", "outputs"))
_WORDS = frozenset(("content", "parts", "text", "message"))


def field(steps: Sequence[Step], dialect: str | None = None) -> Field:
    """Return what a place in a JSON body belongs to.

    Args:
        steps: Names and indices from the top of the body.
        dialect: The name of the dialect that the request speaks; None, and one that is not known here, count a name as
            what any dialect counts it as.
    """
    names = [_plain(step) for step in steps if isinstance(step, str)]
    known = _table(dialect) if dialect in _OWN else _any()
    dotted = (".".join(names[:length]) for length in (2, 1) if len(names) >= length)
    return next((known[name] for name in dotted if name in known), Field.OTHER)


def has_words(dialect: str | None) -> bool:
    """Tell whether a dialect is known for bodies with a prompt in words."""
    return Field.PROMPT in _OWN.get(dialect or "", {})


def speaker(body: Any, steps: Sequence[Step]) -> Speaker:
    """Return whose words stand at a place of a prompt.

    Args:
        body: The parsed JSON body.
        steps: Names and indices from its top.
    """
    whose = [one for one in _whose(body, steps) if one is not Speaker.PERSON]
    return next((one for one in (Speaker.MODEL, Speaker.TOOL, Speaker.NOBODY) if one in whose), Speaker.PERSON)


def _whose(value: Any, steps: Sequence[Step]) -> Iterator[Speaker]:
    """Yield what each object on the way, and each name after the first, says of whose words follow."""
    for depth, step in enumerate(steps):
        if isinstance(value, dict) and depth:
            yield _by_role(_plain(value.get("role")))
            yield _by_block(_plain(value.get("type")))
            yield _by_name(_plain(step))
        value = _item(value, step)
    if not isinstance(value, str):
        yield Speaker.NOBODY


def _by_role(role: str) -> Speaker:
    if role in _PERSON:
        return Speaker.PERSON
    return Speaker.MODEL if role in _MODEL_ROLES else Speaker.TOOL if role in _TOOL_ROLES else Speaker.NOBODY


def _by_block(kind: str) -> Speaker:
    if kind in _PERSON_BLOCKS:
        return Speaker.PERSON
    if _TOOL_BLOCKS.fullmatch(kind):
        return Speaker.TOOL
    return Speaker.MODEL if _MODEL_BLOCKS.fullmatch(kind) else Speaker.NOBODY


def _by_name(name: str) -> Speaker:
    if name in _WORDS:
        return Speaker.PERSON
    return Speaker.MODEL if name in _MODEL_NAMES else Speaker.TOOL if name in _TOOL_NAMES else Speaker.NOBODY


def _item(value: Any, step: Step) -> Any:
    try:
        return value[step]
    except (LookupError, TypeError):
        return None


@cache
def _table(dialect: str) -> dict[str, Field]:
    return {**_named(_SHARED), **_named(_OWN[dialect])}


@cache
def _any() -> dict[str, Field]:
    found = _named(_WORDLESS)
    for own in _OWN.values():
        for name, one in _named(own).items():
            # What is a prompt in one API is none of the lesser things that another calls by its name.
            if found.get(name) is not Field.PROMPT:
                found[name] = one
    return {**_named(_SHARED), **found}


def _named(fields: Mapping[Field, str]) -> dict[str, Field]:
    return {".".join(map(_plain, name.split("."))): one for one, names in fields.items() for name in names.split()}


def _plain(name: Any) -> str:
    """Return a name as it is compared: SDKs write one in camel case or with underscores."""
    return re.sub("[_-]", "", name).lower() if isinstance(name, str) else ""
