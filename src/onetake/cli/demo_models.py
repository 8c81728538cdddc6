"""The two models that `onetake demo` can ask: the real one, and the scripted provider where that is not installed."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.request import ProxyHandler, build_opener

from onetake.cli.demo_lines import scripted_answer
from onetake.testing.local_model import available, local_model

if TYPE_CHECKING:
    from onetake.testing.provider import Received, Reply

_CUT_BELOW = 8
"""Tokens under which the scripted provider's answer is cut, as a real model's would be."""


@dataclass(frozen=True, slots=True)
class Served:
    """A model that is being served on loopback.

    Args:
        url: Scheme, host and port.
        name: The model's name, for requests.
        was_asked: Tells whether the server has had to answer any question so far, by its own account.
    """

    url: str
    name: str
    was_asked: Callable[[], bool]


Serve = Callable[[], AbstractContextManager[Served]]


def choose(*, real: bool) -> tuple[Serve, str]:
    """Return how to serve a model, and why it is not the real one; empty where it is.

    Args:
        real: False takes the scripted provider whatever is installed.
    """
    reason = available() if real else "as --no-model asks"
    return (_real, "") if not reason else (_scripted, reason)


def is_closed(url: str) -> bool:
    """Tell whether nothing listens at a URL any more."""
    host, _, port = url.rpartition("/")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return True
    return False


@contextmanager
def _real() -> Iterator[Served]:
    with local_model() as model:
        yield Served(model.url, model.name, lambda: _slot_was_used(model.url))


@contextmanager
def _scripted() -> Iterator[Served]:
    from onetake.testing.provider import Provider

    with Provider() as provider:
        provider.script(_reply)
        yield Served(provider.url, "scripted", lambda: provider.count > 0)


def _slot_was_used(url: str) -> bool:
    """Ask the server which of its slots has ever had a task: only such a slot names one."""
    with build_opener(ProxyHandler({})).open(f"{url}/slots", timeout=10) as reply:
        return any("id_task" in slot for slot in json.load(reply))


def _reply(request: Received) -> Reply:
    from onetake.testing.provider import openai_chat

    body = request.json()
    answer = json.dumps(scripted_answer(body["messages"][-1]["content"]))
    if body["max_tokens"] < _CUT_BELOW:
        return openai_chat(answer[:10], finish="length", model=body["model"])
    return openai_chat(answer, model=body["model"])
