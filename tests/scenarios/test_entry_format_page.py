"""The ten entries of `docs/reference/entry-format.md` are what `dump_entry` writes today.

Run as a program, this file writes them into the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.format import dump_entry, load_entry
from onetake.model import Answer, Choice, ContractRef, Entry, KeySpec, Request, Response, ToolCall, Violation

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "entry-format.md"
TITLE = "## Ten entries, read as a reviewer"
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream"),)
OPENAI = "https://api.openai.com/v1"


def compact(tree):
    return json.dumps(tree, separators=(",", ":"), ensure_ascii=False).encode()


def noise(size, seed):
    """Bytes that do not compress, always the same."""
    blocks = (hashlib.sha256(f"{seed}{number}".encode()).digest() for number in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def entry(request, response, *, answer=None, model="gpt-4.1-mini", **fields):
    """An entry with the envelope that all ten share."""
    values = {
        "verdict": "good",
        "provenance": {
            "recorded_at": "2026-11-30T10:15:00Z",
            "commit": "3f1c2b4a5d6e7f8091a2b3c4d5e6f708192a3b4c",
            "test": "tests/test_triage.py::test_labels",
            "recorder": "onetake 0.1.0",
            "client": "httpx 0.28.1",
            "model_asked": model,
        },
        "dialect": "openai-chat/1",
        "metrics": {"latency_ms": 812, "input_tokens": 1204, "output_tokens": 31},
        "key": hashlib.sha256(request.url.encode() + request.body).hexdigest(),
        "ordinal": 0,
        "key_spec": KeySpec("k1", "s1"),
    }
    choices = () if answer is None else (answer,)
    return Entry(request=request, response=response, answer=Answer(choices) if choices else None, **values | fields)


def chat(messages, **more):
    body = {"model": "gpt-4.1-mini", "messages": messages} | more
    return Request("POST", f"{OPENAI}/chat/completions", JSON, compact(body))


def said(message, finish="stop"):
    body = {
        "id": "chatcmpl-B9x2",
        "object": "chat.completion",
        "model": "gpt-4.1-mini-2026-04-14",
        "choices": [{"index": 0, "message": {"role": "assistant"} | message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 1204, "completion_tokens": 31},
    }
    return Response(200, JSON, json.dumps(body, indent=2).encode() + b"\n")


def long_prompt():
    topics = ["invoices", "refunds", "crashes", "logins", "delivery", "praise", "privacy", "prices", "spam", "other"]
    rules = [f"{number}. On {topics[number % 10]}: say so only if the customer does." for number in range(1, 59)]
    prompt = "\n".join(["You label support tickets.", *rules, "Answer with JSON."])
    text = '{"label": "invoices", "sure": 0.9}'
    messages = [{"role": "system", "content": prompt}, {"role": "user", "content": "I was charged twice."}]
    return entry(
        chat(messages, temperature=0),
        said({"content": text}),
        answer=Choice(text, finish="stop"),
        contract=ContractRef("ticket", 2, hashlib.sha256(b"ticket").hexdigest()),
    )


def streamed_chat():
    words = ["The ", "customer ", "was ", "charged ", "twice.\n", "Refund ", "one ", "charge."]
    events = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    body = b"".join(b"data: " + compact(event) + b"\n\n" for event in events) + b"data: [DONE]\n\n"
    messages = [{"role": "user", "content": "Sum up: I was charged twice."}]
    answer = Choice("".join(words), finish="stop")
    return entry(chat(messages, stream=True), Response(200, SSE, body), answer=answer, unjudged=True)


def tool_call():
    arguments = '{"order_id":9007199254740993,"reason":"charged twice","note":"first line\\nsecond line"}'
    calls = [{"id": "call_7", "type": "function", "function": {"name": "refund", "arguments": arguments}}]
    schema = {"type": "object", "properties": {"order_id": {"type": "integer"}, "reason": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "refund", "parameters": schema}}]
    answer = Choice(tool_calls=(ToolCall("refund", json.loads(arguments)),), finish="tool_calls")
    response = said({"content": None, "tool_calls": calls}, "tool_calls")
    return entry(chat([{"role": "user", "content": "Refund it."}], tools=tools), response, answer=answer)


def refusal():
    text = "I can't help with reading other people's mail."
    response = said({"content": None, "refusal": text})
    return entry(
        chat([{"role": "user", "content": "Read my neighbour's mail."}]),
        response,
        answer=Choice(finish="stop", refusal=text),
        verdict="kept:refusal",
        contract=ContractRef("ticket", 2, hashlib.sha256(b"ticket").hexdigest()),
        violations=(Violation("$", "an object", "a refusal"),),
    )


def error_kept():
    error = {
        "error": {"message": "Rate limit reached. Try again in 1s.", "type": "requests", "code": "rate_limit_exceeded"}
    }
    response = Response(429, (*JSON, ("retry-after", "1")), json.dumps(error, indent=4).encode() + b"\n")
    return entry(
        chat([{"role": "user", "content": "Hi"}]), response, verdict="kept:status:429", metrics={"latency_ms": 41}
    )


def embedding():
    numbers = [round(int.from_bytes(noise(3, number), "big") / 2**24 - 0.5, 6) for number in range(256)]
    request = Request(
        "POST", f"{OPENAI}/embeddings", JSON, b'{"model":"text-embedding-3-small","input":"charged twice"}'
    )
    body = {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": numbers}],
        "usage": {"total_tokens": 2},
    }
    response = Response(200, JSON, json.dumps(body, indent=2).encode() + b"\n")
    made = entry(request, response, model="text-embedding-3-small", metrics={"latency_ms": 120})
    return replace(made, dialect="openai-embeddings/1", answer=Answer())


def image_in_request():
    image = b"\x89PNG\r\n\x1a\n" + noise(3000, "pixels")
    url = "data:image/png;base64," + base64.b64encode(image).decode()
    content = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    response = said({"content": "A receipt for two coffees."})
    return entry(
        chat([{"role": "user", "content": content}]),
        response,
        answer=Choice("A receipt for two coffees.", finish="stop"),
    )


def multipart_upload():
    lines = [
        *("--7d1f", 'Content-Disposition: form-data; name="purpose"', "", "batch"),
        *("--7d1f", 'Content-Disposition: form-data; name="file"; filename="rows.csv"', "Content-Type: text/csv", ""),
        *("id,text\n1,charged twice\n2,app crashes", "--7d1f--", ""),
    ]
    head = (("content-type", "multipart/form-data; boundary=7d1f"),)
    request = Request("POST", f"{OPENAI}/files", head, "\r\n".join(lines).encode())
    response = Response(200, JSON, b'{"id": "file-4Zk", "bytes": 38, "filename": "rows.csv"}')
    return replace(entry(request, response, metrics={"latency_ms": 300}), dialect="openai-files/1", answer=Answer())


def web_page():
    head = (("content-type", "text/html; charset=utf-8"),)
    body = "<!doctype html>\r\n<title>Price list \u2013 caf\u00e9</title>\r\n<p>Coffee\u00a0\u200b2 \u20ac</p>\r\n"
    request = Request("GET", "https://shop.example.com/prices?lang=fr")
    response = Response(200, head, body.encode(), decoded="gzip")
    return entry(request, response, dialect=None, metrics={"latency_ms": 95})


def function_call():
    request = Request(
        "CALL", "function:app.models.label", JSON, compact({"text": "charged twice", "labels": ["invoice", "other"]})
    )
    response = Response(200, JSON, compact({"label": "invoice", "score": 0.97}))
    answer = Choice('{"label":"invoice","score":0.97}')
    return entry(request, response, answer=answer, dialect="function/1", model="local", metrics={"latency_ms": 640})


TEN = {
    "A chat with a prompt of 60 lines": long_prompt,
    "A streamed chat": streamed_chat,
    "A tool call with JSON arguments": tool_call,
    "A refusal, kept on purpose": refusal,
    "An error, kept on purpose": error_kept,
    "An embedding of 256 numbers": embedding,
    "An image in a request": image_in_request,
    "A multipart upload": multipart_upload,
    "A web page": web_page,
    "A call of a decorated function": function_call,
}


def blocks(text):
    """Return the entries of a page by title."""
    section = text[text.index(TITLE) :]
    return dict(re.findall(r"^### \d+\. (.+?)\n.*?^```json\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("title", TEN)
def test_the_page_shows_what_is_written_today(title):
    entry = TEN[title]()
    data, sides = dump_entry(entry)
    assert blocks(PAGE.read_text(encoding="utf-8"))[title] == data.decode()
    assert load_entry(data, sides.get) == entry


def test_the_page_shows_ten():
    assert list(blocks(PAGE.read_text(encoding="utf-8"))) == list(TEN)


def rewrite():
    """Put today's entries into the page; the words between them stay."""
    text = PAGE.read_text(encoding="utf-8")
    for title, old in blocks(text).items():
        head = text.index(f". {title}\n")
        text = text[:head] + text[head:].replace(
            f"```json\n{old}```", f"```json\n{dump_entry(TEN[title]())[0].decode()}```", 1
        )
    PAGE.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    rewrite()
