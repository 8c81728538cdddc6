"""Other tools that answer for a client in tests: respx, pytest-httpx, vcrpy. Of two one wins unseen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from onetake import asked_lines
from onetake.engine import Engine
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


def may_stand() -> bool:
    """Tell whether vcrpy or respx is loaded at all: a question for every call, the others cost more than it."""
    return "vcr" in sys.modules or "respx.mocks" in sys.modules


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


def refuse_vcrpy(engine: Engine, standing: Any, asked: Request) -> None:
    """Refuse a request that an active cassette of vcrpy would record or answer beside us.

    Args:
        engine: Whose call it is.
        standing: What stands now at the client's place: a method, or the class of its connections.
        asked: The request.

    Raises:
        InteractionNotFound: vcrpy takes it.
    """
    if "vcr" in sys.modules and _vcrpy_takes(standing, asked):
        raise engine.refuse(refusal("vcrpy", asked, engine.policy))


def _vcrpy_takes(standing: Any, asked: Request) -> bool:
    """Tell whether vcrpy takes a request: through its connections even what it is told to ignore."""
    while standing is not None and not is_of_vcrpy(standing):
        standing = getattr(standing, "__wrapped__", None)
    if standing is None or isinstance(standing, type):
        return standing is not None
    cells = [cell.cell_contents for cell in standing.__closure__ or ()]
    cassette = next((cell for cell in cells if hasattr(cell, "filter_request")), None)
    request = _loaded("vcr.request", "Request")
    if cassette is None or request is None:
        return True
    return bool(cassette.filter_request(request(asked.method, asked.url, asked.body, dict(asked.headers))))


def is_of_vcrpy(standing: Any) -> bool:
    """Tell whether vcrpy made a class or a function; its functions bear the names of what they wrap.

    Args:
        standing: What stands at a client's place.
    """
    made_in = getattr(standing, "__globals__", {}).get("__name__") or getattr(standing, "__module__", "")
    return str(made_in).partition(".")[0] == "vcr"


def refusal(tool: str, asked: Request, policy: Policy) -> InteractionNotFound:
    """Make the refusal of a call that another tool would answer beside us; no secret of the request is in it.

    Args:
        tool: The other tool's name.
        asked: The request.
        policy: The session's, whose scrubber it goes through.
    """
    return InteractionNotFound(
        f"{tool} and onetake are both active on this client, and only one of them can answer",
        asked_lines.asked_line(policy.scrubber.begin().request(asked), None),
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
