"""The session that a process inherits from the one that started it, open from its start to its end."""

from __future__ import annotations

import json
import os
import sys
from contextvars import Token
from dataclasses import dataclass
from pathlib import Path

from onetake import active, modes, starting
from onetake.contract import Contract
from onetake.model import Mode
from onetake.options import Options
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


def _said_for_all(seed: str) -> tuple[Mode | None, str]:
    """Return what was said for the whole program that this process is part of, as `modes.set_run` takes it."""
    said = json.loads(seed)
    return (Mode(said["forced"]) if said["forced"] else None), said["switch"]


def _run(seed: str) -> SessionRun:
    said = json.loads(seed)
    del said["forced"], said["switch"]
    root, told = Path(said.pop("root")), Path(said.pop("told"))
    test, node, owned = said.pop("test"), said.pop("node"), said.pop("owned")
    unrecorded = said.pop("unrecorded", "")
    said["contract"] = [Contract(**contract) for contract in said.pop("contracts")]
    given = Options(**said), load_settings(root), Mode.NONE, test
    return SessionRun(*given, node=node, owned=owned, unrecorded=unrecorded, inherited=(seed, told))


def start() -> None:
    """Open the session at a Python's start; one that cannot be opened ends the process, for it must not go live."""
    try:
        open_from_environment()
    except Exception as error:  # noqa: BLE001 - whatever it is, the program must not run on without its session
        sys.stderr.write(f"onetake: the session of the process that started this one cannot be opened: {error}\n")
        sys.stderr.flush()
        os._exit(2)
