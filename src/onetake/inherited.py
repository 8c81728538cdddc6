"""The session that a process inherits from the one that started it, open from its start to its end."""

from __future__ import annotations

import json
import os
from contextvars import Token
from dataclasses import dataclass
from pathlib import Path

from onetake import active, modes, starting
from onetake.contract import Contract
from onetake.model import Mode
from onetake.options import FromOutside
from onetake.session_run import SessionRun
from onetake.settings import load_settings


@dataclass(frozen=True, slots=True)
class _Now:
    """The session that this process belongs to."""

    seed: str
    run: SessionRun
    scope: active.Scope
    token: Token[active.Scope | None]


_now: _Now | None = None


def open_from_environment() -> SessionRun | None:
    """Open the session that the environment names, for the whole process.

    Returns:
        Its run, or None where the environment names none.

    Raises:
        OnetakeError: It cannot be opened here.
    """
    belong(os.environ.get(starting.VARIABLE, ""))
    return _now.run if _now is not None else None


def belong(seed: str) -> None:
    """Have this process belong to the session of a seed, instead of the one that it belongs to now.

    Args:
        seed: What `children.seed_of` returned; empty for none.

    Raises:
        OnetakeError: It cannot be opened here.
    """
    global _now
    before = _now
    if before is not None and before.seed == seed:
        return
    if before is not None:
        _now = None
        active.unbind(before.scope, before.token)
        before.run.close()
    modes.set_run(None, "")  # a session that is handed on goes by its own mode
    if seed:
        run = _run(seed)
        scope = run.open(ambient=True)
        _now = _Now(seed, run, scope, active.bind(scope))
        modes.set_run(*_said_for_all(seed))


def succession() -> SessionRun | None:
    """Return the session that the environment names, as this process's own.

    Returns:
        None where another process opened it, or a test: then this one is its child.

    Raises:
        OnetakeError: It cannot be opened here.
    """
    seed = os.environ[starting.VARIABLE]
    said = json.loads(seed)
    if said["process"] != os.getpid() or said["test"]:
        return None
    modes.set_run(*_said_for_all(seed))
    return _run(seed, as_own=True)


def _said_for_all(seed: str) -> tuple[Mode | None, str]:
    """Return what was said for the whole program that this process is part of, as `modes.set_run` takes it."""
    said = json.loads(seed)
    return (Mode(said["forced"]) if said["forced"] else None), said["switch"]


def _run(seed: str, *, as_own: bool = False) -> SessionRun:
    said = json.loads(seed)
    del said["forced"], said["switch"], said["process"]
    root, told, part = Path(said.pop("root")), Path(said.pop("told")), said.pop("part")
    modes.set_pytest(said.pop("pytest"))
    test, node, owned = said.pop("test"), said.pop("node"), said.pop("owned")
    unrecorded = said.pop("unrecorded", "")
    said["contract"] = [Contract(**contract) for contract in said.pop("contracts")]
    given = FromOutside(**said), load_settings(root), Mode.NONE, test
    inherited = None if as_own else (seed, told, part)
    return SessionRun(*given, node=node, owned=owned, unrecorded=unrecorded, inherited=inherited)
