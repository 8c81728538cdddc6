"""`install`: one session for the whole life of a program that is switched by its environment.

Light until a session is wanted: `onetake.pth` loads this at the start of a Python whose environment names a cassette.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from onetake import leaving, modes
from onetake.model import Mode, Repeats

if TYPE_CHECKING:
    from onetake.engine import Engine
    from onetake.programs import Program
    from onetake.session import Session
    from onetake.session_run import SessionRun
    from onetake.settings import KeyRules, MaxAge

_TOOLS = re.compile(r"onetake|pytest|py\.test|pip[\d.]*")
"""Programs that the environment does not switch: ours and pytest have sessions of their own, pip calls no model."""

_run: SessionRun | None = None
_process = 0
_said = ""
"""What was said of it before it was to become another program."""


def install(
    cassette: str | Path | None = None,
    *,
    mode: Mode | str | None = None,
    contract: Any = None,
    schema_version: int | None = None,
    repeats: Repeats | str | None = None,
    keep: Sequence[str] | None = None,
    on_reject: str | None = None,
    key: KeyRules | Mapping[str, Any] | None = None,
    hosts: Sequence[str] = (),
    ignore: Sequence[str] = (),
    max_age: MaxAge | Mapping[str, Any] | None = None,
) -> Session | None:
    """Record and replay every model call of this program from here to its end, and of its child processes.

    At the end it says on standard error what was recorded and refused, and the exit code is that of the refusals.

    Args:
        cassette: The cassette's folder, from the folder of the settings file nearest above the program; None for the
            one that `ONETAKE_CASSETTE` names. With neither, nothing is done.
        mode: As for `use_cassette`; `new_episodes` where nobody says anything, `none` where `CI` is set.
        contract: As for `use_cassette`.
        schema_version: As for `use_cassette`.
        repeats: `sequence` or `same` (one answer for all), the default.
        keep: As for `use_cassette`.
        on_reject: As for `use_cassette`.
        key: As for `use_cassette`.
        hosts: As for `use_cassette`.
        ignore: As for `use_cassette`.
        max_age: As for `use_cassette`.

    Returns:
        The session; where one is open here already (this was called before, `onetake run`, a test's, a parent
        process's), that one, whose cassette and mode count. None where nothing is done.

    Raises:
        UsageError: An argument or the settings are wrong; or a session is open here already that does not go by the
            other arguments.
    """
    asked = {
        "mode": mode,
        "contract": contract,
        "schema_version": schema_version,
        "repeats": repeats,
        "keep": keep,
        "on_reject": on_reject,
        "key": key,
        "hosts": hosts,
        "ignore": ignore,
        "max_age": max_age,
    }
    engine = _here()
    if engine is not None:
        return _joined(engine, asked)
    if modes.under_pytest() or not (cassette or os.environ.get("ONETAKE_CASSETTE")):
        return None
    from onetake.programs import program_of

    main = getattr(sys.modules.get("__main__"), "__file__", None)
    program = program_of([sys.executable, main]) if main else program_of(sys.orig_argv)
    return _open(program, cassette, **asked)


def start() -> None:
    """Open the session that the environment names, at the start of a Python; one that cannot be opened ends it."""
    if os.environ.get("ONETAKE_SESSION"):
        join()
        return
    if modes.under_pytest():
        return
    try:
        from onetake.programs import program_of

        program = program_of(sys.orig_argv)
        if not _TOOLS.fullmatch(program.name):
            _open(program, None)
    except Exception as error:  # noqa: BLE001 - whatever it is, the program must not run on without its session
        _fail(f"the session that ONETAKE_CASSETTE names cannot be opened: {error}")


def join() -> None:
    """Join the session that the environment hands on, once; one that cannot be opened ends the process.

    What this very process handed on before it became another program, is its own still: it judges it at its end.

    Raises:
        ImportError: onetake cannot be loaded here.
    """
    if _run is not None:
        return
    from onetake import inherited, tracebacks

    tracebacks.cut_uncaught()
    try:
        run = inherited.succession()
        if run is None:
            inherited.open_from_environment()
        else:
            _own(run)
    except Exception as error:  # noqa: BLE001 - whatever it is, the program must not run on without its session
        _fail(f"the session of the process that started this one cannot be opened: {error}")


def _fail(why: str) -> NoReturn:
    from onetake.scrub import shown

    leaving.say(f"onetake: {shown(why)}\n")
    os._exit(2)


def _here() -> Engine | None:
    """Return what answers here, if a session is open."""
    active = sys.modules.get("onetake.active")
    scope = active and (active.bound() or active.innermost())
    return scope.engine if scope else None


def _joined(engine: Engine, asked: Mapping[str, Any]) -> Session:
    from onetake.programs import check_shared
    from onetake.session import Session

    check_shared(engine.policy, **asked)
    return Session(engine)


def _open(program: Program, cassette: str | Path | None, **asked: Any) -> Session:
    from onetake.programs import session_of

    modes.set_run(None, f"{modes.VARIABLE}={{mode}}")
    return _own(session_of(program, cassette, **asked))


def _own(run: SessionRun) -> Session:
    """Open this process's own session, to its end."""
    global _run, _process
    from onetake import active, tracebacks

    tracebacks.cut_uncaught()
    active.bind(run.open(ambient=True))
    leaving.before_end(_end)
    leaving.before_exec(_tell_before_exec)
    _run, _process = run, os.getpid()
    return run.session


def _tell_before_exec() -> int:
    """Say what the session came to, where nothing was refused, while it can: the next program begins its own count."""
    global _said
    if _run is not None and os.getpid() == _process:
        from onetake.programs import so_far

        ending = so_far(_run)
        if any(ending.counts.values()) and not ending.refusals:
            leaving.say("" if ending.text() == _said else ending.text())  # it may be tried in several places
            _said = ending.text()
    return 0


def _end() -> None:
    """Close the session at the end of its process: say what it came to, and see to the exit code."""
    global _run
    run, _run = _run, None
    if run is None or os.getpid() != _process:  # one that was forked leaves it to its parent
        return
    from onetake.programs import end

    ending = end(run, getattr(sys, "last_value", None), is_program=True)
    if (any(ending.counts.values()) or ending.refusals) and ending.text() != _said:
        leaving.say(ending.text())
    for refusal in run.session.refusals:
        refusal.__traceback__ = None  # its frames would keep the program's open files from being closed
    if ending.code:
        leaving.end_with(ending.code)
