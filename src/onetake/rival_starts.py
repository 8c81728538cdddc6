"""Other tools that answer for a client, noted as they start: one that is gone by the end of a session left no trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MethodType, ModuleType
from typing import Any

from onetake import active, hooking, patching

_TOOLS = {
    "aioresponses.core": ("aioresponses", "start", "aioresponses (on aiohttp)"),
    "requests_mock.mocker": ("MockerCore", "start", "requests-mock (on requests)"),
    "responses": ("RequestsMock", "start", "responses (on requests)"),
    "vcr.cassette": ("CassetteContextDecorator", "__enter__", "vcrpy"),
}
"""Where each tool starts: a class of a module, its method, and what the tool is called."""


def patch(module: ModuleType) -> None:
    """Have a tool say when it starts; where the hook stands already, or the module has no such part, nothing changes.

    Args:
        module: One that a tool starts in, or a program's own of that name.
    """
    owner, name, tool = _TOOLS[module.__name__]
    kind = getattr(module, owner, None)
    original = getattr(kind, name, None)
    if original is None or hooking.stands(original):
        return
    hook = _hook(original, tool)
    hooking.put(kind, name, hook)
    for alias, value in list(vars(module).items()):  # `responses.start` is the method of one object
        if getattr(value, "__func__", None) is original:
            setattr(module, alias, MethodType(hook, value.__self__))


def _hook(original: Callable[..., Any], tool: str) -> Callable[..., Any]:
    @wraps(original)
    def start(*args: Any, **kwargs: Any) -> Any:
        started = original(*args, **kwargs)
        scopes = active.concerned(lambda engine: True)
        for scope in scopes:
            scope.engine.rivals.add(tool)
        if scopes:
            patching.install()  # it may have taken our hooks away, which name it where a call comes
        return started

    return start
