"""Replies of Amazon Bedrock: Converse and invoke, plain and streamed in frames, exceptions."""

from __future__ import annotations

import base64
import json
from typing import Any, Literal, Unpack

from onetake.dialects import anthropic_blocks, converse_blocks
from onetake.eventstream import framed, headers
from onetake.model import Headers
from onetake.testing.provider_anthropic import message_events, message_said
from onetake.testing.provider_http import Reply
from onetake.testing.provider_said import Ending, Said, json_reply, spelled, token, tokens, until, words
from onetake.testing.provider_sample import sample

Maker = Literal["anthropic", "nova", "titan", "llama", "mistral"]
"""Whose bodies `bedrock_invoke` and `bedrock_invoke_stream` speak."""

_EVENT_STREAM = (("content-type", "application/vnd.amazon.eventstream"),)


def bedrock_converse(text: str | None = None, **said: Unpack[Said]) -> Reply:
    """Make an answer of Converse.

    Args:
        text: The answer.
        **said: See `Said`.
    """
    return json_reply(_conversed(text, said), headers=_headers())


def bedrock_converse_stream(text: str | None = None, *, ending: Ending = "done", **said: Unpack[Said]) -> Reply:
    """Make a streamed answer of Converse, one frame for each event; the usage comes last.

    Args:
        text: The answer, a word an event.
        ending: How the stream ends; an `error` is a `throttlingException`.
        **said: See `Said`.
    """
    frames = [bedrock_frame(name, part) for name, part in _converse_events(_conversed(text, said))]
    return _stream_reply(frames, ending)


def bedrock_invoke(maker: Maker, text: str = "", **said: Unpack[Said]) -> Reply:
    """Make an answer of invoke in the shape of a model's maker.

    Args:
        maker: Whose model answers.
        text: The answer.
        **said: See `Said`; tool calls only of Anthropic and Nova.
    """
    if maker == "anthropic":
        return json_reply(message_said(text, said), headers=_headers())
    if maker == "nova":
        return json_reply(_conversed(text, said), headers=_headers())
    body = _invoked(maker, text, said.get("finish", _FINISH[maker]))
    if maker == "titan":
        body = {
            "inputTextTokenCount": tokens(said.get("prompt", "")),
            "results": [{"tokenCount": tokens(text), **body}],
        }
    asked, answered = tokens(said.get("prompt", "")), tokens(text)
    counts = (("x-amzn-bedrock-input-token-count", asked), ("x-amzn-bedrock-output-token-count", answered))
    return json_reply(body, headers=_headers() + tuple((name, str(number)) for name, number in counts))


def bedrock_invoke_stream(maker: Maker, text: str = "", *, ending: Ending = "done", **said: Unpack[Said]) -> Reply:
    """Make a streamed answer of invoke: each frame wraps one event of the maker's, the last with Bedrock's metrics.

    Args:
        maker: Whose model answers.
        text: The answer, a word an event.
        ending: How the stream ends; an `error` is a `throttlingException`.
        **said: See `Said`; tool calls only of Anthropic and Nova.
    """
    parts: list[dict[str, Any]]
    if maker == "anthropic":
        parts = message_events(message_said(text, said))
    elif maker == "nova":
        parts = [{name: part} for name, part in _converse_events(_conversed(text, said))]
    else:
        parts = [_invoked(maker, word, None) for word in words(text)]
        parts.append(_invoked(maker, "", said.get("finish", _FINISH[maker])))
    metrics = {"inputTokenCount": tokens(said.get("prompt", "")), "outputTokenCount": tokens(text)}
    parts[-1] = {**parts[-1], "amazon-bedrock-invocationMetrics": {**metrics, "invocationLatency": 99}}
    return _stream_reply([_chunk(part) for part in parts], ending)


def bedrock_echo(path: str, body: dict[str, Any], text: str, prompt: str) -> Reply:
    """Answer a request in its operation's and its maker's shape.

    Args:
        path: The request's, without query; its end names the operation.
        body: The request's.
        text: The answer, or what is in every string of a schema that it fills, or of a call that is insisted on.
        prompt: The text whose length gives the input tokens.
    """
    operation = path.rpartition("/")[2]
    said: Said = {"prompt": prompt}
    promises = (*anthropic_blocks.promises(body), *converse_blocks.promises(body))
    promised = next((each for each in promises if each.on == "text"), None)
    if promised:
        said["json"] = sample(promised.schema, text)
    if operation.startswith("invoke"):
        maker: Maker = next((maker for sign, maker in _SIGNS if sign in body), "nova")
        invoke = bedrock_invoke if operation == "invoke" else bedrock_invoke_stream
        return invoke(maker, text, **said)
    if called := _called(body, text):
        said.pop("json", None)
        said["tool_calls"] = [called]
    converse = bedrock_converse if operation == "converse" else bedrock_converse_stream
    return converse(None if {"tool_calls", "json"} & said.keys() else text, **said)


def _called(body: dict[str, Any], text: str) -> tuple[str, Any] | None:
    """Return the call of the tool that a request of Converse insists on, None where it insists on none."""
    config = body.get("toolConfig") or {}
    choice = config.get("toolChoice") or {}
    if "tool" not in choice and "any" not in choice:
        return None
    specs = [tool["toolSpec"] for tool in config["tools"] if "toolSpec" in tool]
    wanted = choice.get("tool", {}).get("name")
    spec = next((spec for spec in specs if spec["name"] == wanted), specs[0])
    return spec["name"], sample(spec["inputSchema"].get("json", {}), text)


_SIGNS: tuple[tuple[str, Maker], ...] = (
    ("anthropic_version", "anthropic"),
    ("inputText", "titan"),
    ("max_gen_len", "llama"),
    ("prompt", "mistral"),
)
"""Fields that only requests to that maker's models have, the plainer ones last."""


def bedrock_error(status: int = 500, message: str = "Internal error", kind: str = "InternalServerException") -> Reply:
    """Make an error reply: the kind is in a header, the message in the body."""
    return json_reply({"message": message}, status, (*_headers(), ("x-amzn-errortype", kind)))


def bedrock_exception(kind: str = "throttlingException", message: str = "Too many requests") -> bytes:
    """Make the frame of an exception in a stream: `modelStreamErrorException`, `internalServerException`."""
    return _frame({":exception-type": kind, ":message-type": "exception"}, {"message": message})


def bedrock_frame(name: str, part: Any) -> bytes:
    """Make the frame of an event, with padding of a length that its content decides."""
    padding = "abcdefghijklmnopqrstuvwxyz"[: 1 + len(json.dumps(part)) % 26]
    return _frame({":event-type": name, ":message-type": "event"}, {**part, "p": padding})


def _frame(told: dict[str, str], payload: Any) -> bytes:
    head = headers({":content-type": "application/json", **told})
    return framed(head, json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode())


def _chunk(part: dict[str, Any]) -> bytes:
    data = json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode()
    return bedrock_frame("chunk", {"bytes": base64.b64encode(data).decode()})


def _stream_reply(frames: list[bytes], ending: Ending) -> Reply:
    return Reply(200, _EVENT_STREAM + _headers(), tuple(until(frames, ending, bedrock_exception())), "chunked")


def _headers() -> Headers:
    return (("x-amzn-requestid", f"{token(8)}-{token(4)}-4{token(3)}-8{token(3)}-{token(12)}"),)


def _conversed(text: str | None, said: Said) -> dict[str, Any]:
    spoken = spelled(said["json"]) if "json" in said else said.get("refusal", text)
    content: list[dict[str, Any]] = [] if spoken is None else [{"text": spoken}]
    calls = said.get("tool_calls", ())
    content += [{"toolUse": {"toolUseId": f"tooluse_{token()}", "name": name, "input": given}} for name, given in calls]
    asked, answered = tokens(said.get("prompt", "")), tokens(json.dumps(content))
    usual = "guardrail_intervened" if "refusal" in said else "tool_use" if calls else "end_turn"
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": said.get("finish", usual),
        "usage": {"inputTokens": asked, "outputTokens": answered, "totalTokens": asked + answered}
        | dict(said.get("usage", {})),
        "metrics": {"latencyMs": 99},
    }


def _converse_events(answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    events: list[tuple[str, dict[str, Any]]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(answer["output"]["message"]["content"]):
        tool = block.get("toolUse")
        if tool:
            start = {"toolUse": {"toolUseId": tool["toolUseId"], "name": tool["name"]}}
            events.append(("contentBlockStart", {"contentBlockIndex": index, "start": start}))
        pieces = words(spelled(tool["input"]) if tool else block["text"])
        deltas = [{"toolUse": {"input": piece}} if tool else {"text": piece} for piece in pieces]
        events += [("contentBlockDelta", {"contentBlockIndex": index, "delta": delta}) for delta in deltas]
        events.append(("contentBlockStop", {"contentBlockIndex": index}))
    events.append(("messageStop", {"stopReason": answer["stopReason"]}))
    return [*events, ("metadata", {"usage": answer["usage"], "metrics": answer["metrics"]})]


_FINISH = {"titan": "FINISH", "llama": "stop", "mistral": "stop"}


def _invoked(maker: Maker, text: str, finish: str | None) -> dict[str, Any]:
    if maker == "titan":
        return {"outputText": text, "completionReason": finish}
    if maker == "llama":
        return {"generation": text, "prompt_token_count": None, "generation_token_count": 1, "stop_reason": finish}
    return {"outputs": [{"text": text, "stop_reason": finish}]}
