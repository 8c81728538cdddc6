"""The doors by which a program starts other processes: each hands the session of its caller on.

What is inherited goes by the environment; here it is put into an environment that the program gives of its own, and
into what `multiprocessing` sends to its children, whose server may be older than the session.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Callable, Mapping
from functools import partial, wraps
from types import ModuleType
from typing import Any

from onetake import leaving

VARIABLE = "ONETAKE_SESSION"
"""The variable that holds the session's seed."""

BEGUN = time.time()
"""When this process began to load onetake: of the workers of one run of tests, before any of its tests."""

RUN = "ONETAKE_USAGE"
"""Where a process tells the run of tests that started it what it used: `<the run's process> <folder>`."""

_WITH_ENV = {"execve": 2, "posix_spawn": 2, "posix_spawnp": 2, "spawnve": 3}
"""The functions of `os` that take an environment, and where among their arguments; the others are made of these."""
_POPEN_ENV = 11
_PATH = "PYTHONPATH"
_NOBODYS = "getattr(__import__('sys').modules.get('onetake.inherited'), 'belong', str)('')"
"""Has the process that evaluates it belong to no session, without importing anything of ours."""

_seed_here: Callable[[], str] = str


def hand_on(seed_here: Callable[[], str]) -> None:
    """Set what returns the seed of the session that a process which is started here belongs to; empty for none."""
    global _seed_here
    _seed_here = seed_here


def patch(module: ModuleType) -> None:
    """Wrap a module's doors, once.

    Args:
        module: `os`, `subprocess` or `multiprocessing.spawn`.
    """
    if module.__name__ == "os":
        for name, at in _WITH_ENV.items():
            _wrap(module, name, partial(_with_env, at=at, becomes=name == "execve"))
        _wrap(module, "execv", _settled)
    elif module.__name__ == "subprocess":
        _wrap(module.Popen, "__init__", partial(_with_env, at=_POPEN_ENV, optional=True))
    else:
        _wrap(module, "get_preparation_data", _with_seed)


def carry(env: Any) -> Any:
    """Return an environment with the session of its caller in it, or without any.

    Args:
        env: As for `subprocess.Popen`; None means this process's own.
    """
    seed = _seed_here()
    if env is None:
        if os.environ.get(VARIABLE, "") == seed:
            return None
        env = os.environ
    if not isinstance(env, Mapping):
        return env
    telling = {RUN: os.environ[RUN]} if RUN in os.environ else {}
    return {**telling, **with_seed(env, seed)}


def with_seed(env: Mapping[Any, Any], seed: str) -> dict[Any, Any]:
    """Return an environment that hands on a session, or with an empty seed none.

    Args:
        env: Names and values, as text or bytes.
        seed: The session's.
    """
    found = {name: value for name, value in env.items() if not (_is(name, VARIABLE) or _is(name, _PATH))}
    paths = [value for name, value in env.items() if _is(name, _PATH)]
    path = python_path(os.fsdecode(paths[0]) if paths else "", hooked=bool(seed))
    if seed:
        found[VARIABLE] = seed
    if path or paths:
        found[_PATH] = path
    return found


def python_path(path: str, *, hooked: bool) -> str:
    """Return a PYTHONPATH with the start-up hook first, or without it.

    Args:
        path: As it is; may be empty.
        hooked: True puts the hook there, once, False takes it away.
    """
    rest = [part for part in path.split(os.pathsep) if part != HOOK] if path else []
    return os.pathsep.join([HOOK, *rest] if hooked else rest)


HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")  # noqa: PTH100, PTH118, PTH120
"""The folder whose `sitecustomize` opens the session in a Python that is started. Not as a `Path`: it is a part of a
text, and has to compare equal to itself there."""


def _is(name: str | bytes, wanted: str) -> bool:
    """Tell whether a variable's name is meant: on Windows in any case, as of files."""
    return os.path.normcase(os.fsdecode(name)) == os.path.normcase(wanted)


def _wrap(owner: Any, name: str, wrapped: Callable[[Any], Any]) -> None:
    real = getattr(owner, name, None)
    if real is None or getattr(real, "_onetake", False):
        return
    ours: Any = wraps(real)(wrapped(real))
    ours._onetake = True
    setattr(owner, name, ours)
    for known in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
        if real in known:
            known.add(ours)


def _with_env(real: Any, at: int, *, optional: bool = False, becomes: bool = False) -> Any:
    def start(*args: Any, **kwargs: Any) -> Any:
        if becomes:
            leaving.settle_before_exec()
        if len(args) > at:
            args = (*args[:at], carry(args[at]), *args[at + 1 :])
        elif optional or "env" in kwargs:
            kwargs["env"] = carry(kwargs.get("env"))
        return real(*args, **kwargs)

    return start


def _settled(real: Any) -> Any:
    def become(*args: Any, **kwargs: Any) -> Any:
        leaving.settle_before_exec()
        return real(*args, **kwargs)

    return become


class _Seed:
    """A seed that is planted where it is unpickled: an empty one in any Python, also where onetake is not to be had."""

    def __init__(self, seed: str) -> None:
        self._seed = seed

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return (plant, (self._seed,)) if self._seed else (eval, (_NOBODYS,))


def plant(seed: str) -> None:
    """Have this process belong to the session of a seed.

    Args:
        seed: What `children.seed_of` returned; not empty.
    """
    importlib.import_module("onetake.inherited").belong(seed)


def _with_seed(real: Any) -> Any:
    def prepare(*args: Any, **kwargs: Any) -> Any:
        return {**real(*args, **kwargs), "onetake": _Seed(_seed_here())}

    return prepare
