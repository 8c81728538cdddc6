"""A provider in a process of its own: it counts what it was asked and numbers its answers, so that a re-ask shows.

A record says itself what goes wrong with it: `<503 short> text` fails in two ways, and then is answered.
Each model's calls are apart: `GET /MODEL` lists them, `GET /MODEL/12` waits until there are twelve.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import threading
from collections import Counter
from dataclasses import replace
from email.utils import formatdate
from time import time

from onetake.testing.provider import Provider, json_reply, openai_chat, openai_error, openai_stream, text_reply

STALLED = threading.Event()
NEVER_WHOLE = ("stall", "stall-inside", "late")
"""Whether these are billed, nobody who asked can know."""


def _error(status, message="no", code=None, *headers):
    return lambda label, number: replace(
        json_reply({"error": {"message": message, "type": "an_error", "code": code}}, status), headers=headers
    )


def _say(text, **said):
    return lambda label, number: openai_chat(text.format(label=label, number=number) if text else None, **said)


def _good(label, number):
    return openai_chat(json.dumps({"label": label, "number": number}))


def _cut(reset):
    return lambda label, number: replace(_good(label, number), cut_after=60, reset=reset)


def _stream(ending):
    def reply(label, number):
        made = openai_stream(json.dumps({"label": label, "number": number}), include_usage=True, ending=ending)
        return replace(made, pieces=made.pieces or (b"",))

    return reply


def _leave(label, number):
    raise SystemExit  # the connection's thread ends, and the connection with it


FAULTS = {
    **{str(status): _error(status) for status in (400, 401, 402, 403, 408, 409, 413, 422, 500, 502, 503, 504, 529)},
    "404": _error(404, "gone"),
    "model": _error(404, "The model `m` does not exist", "model_not_found"),
    "429": _error(429),
    "429-seconds": _error(429, "slow down", None, ("retry-after", "1")),
    "429-ms": _error(429, "slow down", None, ("retry-after-ms", "300")),
    "429-date": lambda label, number: replace(
        openai_error(429), headers=(("retry-after", formatdate(time() + 2, usegmt=True)),)
    ),
    "quota": _error(429, "You exceeded your current quota", "insufficient_quota"),
    "leave": _leave,
    "short": _cut(False),
    "reset": _cut(True),
    "stall": lambda label, number: replace(_good(label, number), hold=STALLED),
    "stall-inside": lambda label, number: replace(_good(label, number).in_pieces(40), hold=STALLED, hold_before=1),
    "late": lambda label, number: replace(_good(label, number), delay=1.5),
    "html": lambda label, number: replace(text_reply("<html>busy</html>"), headers=(("content-type", "text/html"),)),
    "error-200": _error(200, "overloaded"),
    "empty-200": lambda label, number: text_reply(""),
    "half-json": lambda label, number: text_reply('{"choices": [{"mess'),
    "stream-cut": _stream("cut"),
    "stream-error": _stream("error"),
    "stream-utf8": lambda label, number: replace(_stream("done")("ü" * 40, number).in_pieces(7), cut_after=400),
    "stream-alive": lambda label, number: replace(
        openai_stream("x"), pieces=(b": keep-alive\n\n",) * 3, headers=(("content-type", "text/event-stream"),)
    ),
    "prose": _say("I think it is {label}."),
    "twice": _say('{{"label": "{label}", "label": "other", "number": {number}}}'),
    "nan": _say('{{"label": "{label}", "number": NaN}}'),
    "fenced": _say('```json\n{{"label": "{label}", "number": {number}}}\n```'),
    "trailing": _say('{{"label": "{label}", "number": {number}}} I hope this helps!'),
    "length": _say('{{"label": "{label}", "numb', finish="length"),
    "refusal": _say("", refusal="I will not."),
    "filter": _say("", finish="content_filter"),
}
"""What a record may ask for, by its word. Besides: `repaired` is bad until the model is told what was wrong."""


class Server:
    """Answers, and remembers what it was asked."""

    def __init__(self):
        self._calls = {}
        self._times = Counter()
        self._came = threading.Condition()
        self._chance = random.Random(0)
        self._number = 0

    def __call__(self, request):
        if request.method == "GET":
            return self._tell(*request.path.strip("/").split("/"))
        body = request.json()
        model, texts = body["model"], [one["content"] for one in body["messages"]]
        asked = next(text for text in texts if text.startswith("Label "))
        words = (re.search(r"<([\w -]+)>", asked) or [None, ""])[1].split()
        label = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        digest = hashlib.sha256(request.body).hexdigest()
        with self._came:
            self._number += 1
            number = self._number
            times = self._times[digest]
            self._times[digest] += 1
            word = words[times] if times < len(words) else "good"
            delay = self._chance.uniform(0, 0.01)
        if word == "repaired":
            word = "prose" if len(texts) < 3 else "good"
        try:
            reply = self._reply(word, label, number, is_stream=body.get("stream", False))
        except SystemExit:
            self._note(model, digest, number, word, {}, request)
            raise
        self._note(model, digest, number, word, _usage(reply) if word not in NEVER_WHOLE else {}, request)
        return replace(reply, delay=reply.delay or delay)

    def _reply(self, word, label, number, *, is_stream):
        if word == "good":
            return _stream("done")(label, number) if is_stream else _good(label, number)
        return FAULTS[word](label, number)

    def _note(self, model, digest, number, word, usage, request):
        tokens = [usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)]
        key = {"key": digest, "number": number, "word": word, "tokens": tokens, "at": request.at}
        with self._came:
            self._calls.setdefault(model, []).append(key | {"credential": request.key})
            self._came.notify_all()

    def _tell(self, model, count="0"):
        with self._came:
            self._came.wait_for(lambda: len(self._calls.get(model, ())) >= int(count), 30)
            return json_reply(self._calls.get(model, []))


def _usage(reply):
    """Return the usage of a reply that was whole: what a provider bills."""
    if reply.status != 200 or reply.cut_after is not None:
        return {}
    for piece in (reply.body, *(piece.removeprefix(b"data: ") for piece in reversed(reply.pieces))):
        try:
            found = json.loads(piece)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get("usage"), dict):
            return found["usage"]
    return {}


if __name__ == "__main__":
    with Provider() as running:
        running.script(Server())
        print(running.url, flush=True)  # noqa: T201 - how its parent learns where it is
        threading.Event().wait()
