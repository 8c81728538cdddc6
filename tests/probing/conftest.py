"""What a stored answer and a fresh one are made of: the scripted provider's replies, without a wire between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onetake.model import Entry, KeySpec, Request, Response
from onetake.probing.comparing import compare
from onetake.probing.findings import Compared

CHAT = "https://api.openai.com/v1/chat/completions"


@pytest.fixture
def response():
    """Return a function that makes a response of a scripted provider's reply."""
    return lambda reply: Response(reply.status, reply.headers, reply.body)


@pytest.fixture
def stored(response):
    """Return a function that makes an entry of what was asked, and of a reply or a response."""

    def make(answer, asked=None, *, url=CHAT, **more):
        body = json.dumps(asked or {"model": "gpt-5", "messages": [{"role": "user", "content": "Well?"}]})
        request = Request("POST", url, (("content-type", "application/json"),), body.encode())
        answer = answer if isinstance(answer, Response) else response(answer)
        return Entry(more.pop("verdict", "good"), request, answer, "0" * 64, 0, KeySpec("k1", "s1"), **more)

    return make


@pytest.fixture
def beside(stored, response):
    """Return a function that compares a stored reply with a fresh one."""

    def compared(old, new, *, url=CHAT, asked=None, again=None, **more):
        new, again = (response(one) if hasattr(one, "pieces") else one for one in (new, again))
        return compare(stored(old, asked, url=url), new, name="a.json", again=again, root=Path(), **more)

    return compared


@pytest.fixture
def found():
    """Return a function that lists what was found, without the entry: (grade, kind, path, recorded, live)."""

    def listed(compared):
        assert isinstance(compared, Compared), compared
        return [(str(f.severity), str(f.kind), f.path, f.recorded, f.live) for f in compared.findings]

    return listed
