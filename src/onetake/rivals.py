"""Other tools that answer for a client in tests: respx, pytest-httpx, aioresponses. Of two one wins unseen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from onetake import explain
from onetake.errors import InteractionNotFound
from onetake.model import Request
from onetake.steps import Policy

_TOOLS = {
    "pytest_httpx": "pytest-httpx",
    "responses": "responses",
    "requests_mock": "requests-mock",
    "aioresponses": "aioresponses",
}


def over(hook: Callable[..., Any] | None) -> str:
    """Name the mocking tool that a client's method belongs to now; empty for any other, which calls what it wraps.

    Args:
        hook: What stands at the method's place; None where nothing does.
    """
    mock = getattr(hook, "mock", None)  # of unittest: it bears the names of what it stands for
    owner = getattr(mock, "side_effect", None) or hook
    return _TOOLS.get(str(getattr(owner, "__module__", "")).partition(".")[0], "")


def on_requests() -> str:
    """Name the mocking tool that answers for requests just now, above the client below it; empty where none does."""
    return over(_loaded("requests.adapters", "HTTPAdapter", "send")) or over(_loaded("requests", "Session", "send"))


def respx_on(client: str) -> str:
    """Return `respx` where one of its routers is active on a client module, else nothing."""
    return "respx" if any(True for _ in _routers(client)) else ""


def respx_takes(client: str, request: Any) -> bool:
    """Tell whether an active respx router would answer a request, rather than pass it through.

    Args:
        client: The client module, `httpx`.
        request: The client's own request, its body read.
    """
    asked = False
    for router in _routers(client):
        asked = True
        for route in router.routes:
            if route.pattern is None or route.pattern.match(request):
                return not route.is_pass_through
    return asked


def refusal(tool: str, asked: Request, policy: Policy) -> InteractionNotFound:
    """Make the refusal of a call that another tool would answer beside us; no secret of the request is in it.

    Args:
        tool: The other tool's name.
        asked: The request.
        policy: The session's, whose scrubber it goes through.
    """
    return InteractionNotFound(
        f"{tool} and onetake are both active on this client, and only one of them can answer",
        explain.asked_line(policy.scrubber.begin().request(asked), None),
        "",
        "",
        f"take {tool} out of this test, let it pass this call through, or leave the call out of the session (`ignore`)",
    )


def _routers(client: str) -> Iterator[Any]:
    """Yield respx's active routers on a client; it replaces methods of the client, or of the httpcore below it."""
    roots = (client, client.replace("httpx", "httpcore"))
    for mocker in (_loaded("respx.mocks", "Mocker", "registry") or {}).values():
        if any(target.partition(".")[0] in roots for target in mocker.targets):
            yield from mocker.routers


def _loaded(module: str, *names: str) -> Any:
    """Return a part of a module, None where it is not loaded or, as a program's own of that name, has no such part."""
    found: Any = sys.modules.get(module)
    for name in names:
        found = getattr(found, name, None)
    return found
