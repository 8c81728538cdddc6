"""Hooks: functions of ours that stand in the place of a client's own. Each stands once, also under instrumentation."""

from __future__ import annotations

from typing import Any

_ours: set[object] = set()


def stands(hook: Any) -> bool:
    """Tell whether a function is a hook of ours, or wraps one, as instrumentation does and says by `__wrapped__`.

    Args:
        hook: What stands at a place now; None where nothing does.
    """
    while hook is not None:
        if hook in _ours:
            return True
        hook = getattr(hook, "__wrapped__", None)
    return False


def put(owner: Any, name: str, hook: Any) -> None:
    """Put a hook in a place.

    Args:
        owner: The class or the module that has the place.
        name: Its name there.
        hook: The function, which `stands` knows from here on; it calls what stood there before.
    """
    _ours.add(hook)
    setattr(owner, name, hook)
