"""One entry of every kind, as each format version wrote it: never edited afterwards, readable for ever.

A new format version adds a folder; the files of the old ones stay as they are.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from onetake.format import load_entry
from onetake.model import (
    Answer,
    Choice,
    ContractRef,
    Cut,
    Entry,
    KeySpec,
    Request,
    Response,
    ToolCall,
    Violation,
)

FOLDER = Path(__file__).parent
JSON = (("content-type", "application/json"),)
SSE = (("content-type", "text/event-stream; charset=utf-8"),)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
URL = "https://api.example.com/v1/chat/completions"


def entry(number, request, response, **fields):
    """An entry of the corpus; *number* makes its key."""
    values = {"verdict": "good", "ordinal": 0, "key_spec": KeySpec("k1", "s1")} | fields
    return Entry(request=request, response=response, key=f"{number:02x}" * 32, **values)


def ask(body=b"", headers=JSON, url=URL):
    return Request("POST", url, headers if body else (), body)


def tool_call():
    arguments = '{"id":9007199254740993,"note":"line one\\nline two"}'
    calls = [{"id": "call_1", "function": {"name": "find", "arguments": arguments}}]
    body = json.dumps({"choices": [{"message": {"tool_calls": calls}}]}, indent=2) + "\n"
    said = Choice(tool_calls=(ToolCall("find", json.loads(arguments)),), finish="tool_calls")
    return entry(2, ask(b'{"model":"m"}'), Response(200, JSON, body.encode()), answer=Answer((said,)))


def everything():
    return entry(
        1,
        Request("POST", URL, (*JSON, ("X-Twice", "a"), ("x-twice", "b")), b'{"model":"m","messages":[]}'),
        Response(200, JSON, b'{"label": "bug"}', decoded="gzip"),
        verdict="kept:violation",
        ordinal=3,
        contract=ContractRef("items", 2, "ab" * 32, "cd" * 32),
        provenance={"recorded_at": "2026-11-30T10:00:00Z", "commit": "e" * 40, "dirty": False, "python": "3.11.7"},
        dialect="openai-chat/1",
        answer=Answer((Choice('{"label": "bug"}', (), "stop", None, "Thought\nabout it."), Choice(refusal="No."))),
        violations=(Violation("$.label", "one of billing, other", '"bug"'),),
        metrics={"latency_ms": 812.5, "input_tokens": 9},
        scrubbed=("request.headers.authorization", "$.user"),
        key_spec=KeySpec("k1", "s1", {"ignore": ["$.user"]}),
        extra={"later": {"kept": ["as", "it", "is"]}},
    )


STYLES = {
    "compact": b'{"a":[1,2.5],"b":null}',
    "spaced-ascii": b'{"a": "\\u00e9 \\ud83d\\ude00", "b": "\\ud83d"}',
    "indent-4-newline": b'{\n    "a": [\n        1\n    ],\n    "b": {}\n}\n',
    "tab": b'{\n\t"a": true\n}',
    "compact-html": b'{"a":"\\u003cb\\u003e \\u0026"}',
    "compact-angle": b'{"a":"\\u003cb\\u003e &"}',
    "compact-slash": b'{"a":"https:\\/\\/example.com"}',
}
BODIES = {
    "text": ((("content-type", "text/plain"),), "plain é \u202e\x1b[1m".encode()),
    "lines-crlf": ((("content-type", "text/html"),), b"<p>\r\none\ntwo</p>\n"),
    "invalid-json": (JSON, b'{"a":1,"a":2}'),
    "base64": ((("content-type", "image/jpeg"),), bytes.fromhex("ffd8003dfe")),
    "binary": ((("content-type", "image/png"),), PNG),
    "sse": (SSE, b'data: {"t":"a"}\n\ndata: [DONE]\n\n'),
    "ndjson": ((("content-type", "application/x-ndjson"),), b'{"done":false}\n{"done":true}\n'),
    "eventstream": (
        (("content-type", "application/vnd.amazon.eventstream"),),
        b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2H\xeb",
    ),
    "numbers": (JSON, b'{"a":1.10,"b":1E5,"c":-0,"d":1e-7,"e":' + b"9" * 700 + b"}"),
    "literal": (JSON, b'{"$json":1,"$ref":"#/x","deep":{"$lines":["a"]}}'),
    "long-array": (JSON, b'{"embedding":[' + b",".join([b"0.25"] * 80) + b",1.10]}"),
    "media": (JSON, b'{"url":"data:image/png;base64,' + base64.b64encode(PNG) + b'"}'),
    "media-url": (JSON, b'{"data":"' + base64.urlsafe_b64encode(PNG) + b'"}'),
    "json-in-json": (JSON, json.dumps({"arguments": json.dumps({"deep": json.dumps([1, "two\nlines"])})}).encode()),
}
FORMAT_1 = {
    "everything": everything(),
    "least": entry(3, Request("GET", "https://api.example.com/v1/models"), Response(204)),
    "tool-call": tool_call(),
    "unjudged": entry(4, ask(b"{}"), Response(200, JSON, b"[]"), unjudged=True),
    "error-kept": entry(5, ask(b'{"n":1}'), Response(429, JSON, b'{"error":{"code":429}}'), verdict="kept:status:429"),
    "left": entry(6, ask(b'{"n":2}'), Response(200, SSE, b"data: 1\n\ndata", cut=Cut.LEFT), verdict="left:13"),
    "cut": entry(7, ask(b'{"n":3}'), Response(200, JSON, b'{"a":', cut=Cut.PROVIDER), verdict="reject:cut"),
    "function": entry(
        8, Request("CALL", "function:app.label", (), b'{"text":"x"}'), Response(200, JSON, b'{"label":"bug"}')
    ),
    **{
        f"style-{name}": entry(20 + n, ask(body), Response(200, JSON, body))
        for n, (name, body) in enumerate(STYLES.items())
    },
    **{
        f"body-{name}": entry(40 + n, ask(body, head), Response(200, head, body))
        for n, (name, (head, body)) in enumerate(BODIES.items())
    },
}


def side_of(folder):
    def side(name):
        file = folder / name
        return file.read_bytes() if file.is_file() else None

    return side


@pytest.mark.parametrize("name", FORMAT_1)
def test_an_entry_of_format_1_holds_what_was_recorded(name):
    folder = FOLDER / "format-1"
    assert load_entry((folder / f"{name}.json").read_bytes(), side_of(folder)) == FORMAT_1[name]


def test_every_file_of_the_corpus_is_tested():
    assert {file.stem for file in (FOLDER / "format-1").glob("*.json")} == set(FORMAT_1)
