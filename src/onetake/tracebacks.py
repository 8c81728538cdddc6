"""Tracebacks of refusals, as a report shows them: what belongs to an error, and where the program's own part ends."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType

from onetake.errors import Refusal
from onetake.ledger import is_same
from onetake.printable import counted

_OURS = str(Path(__file__).parent) + os.sep


def family(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, what it was raised from or during, and the members of groups: all that a report shows."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            members = one.exceptions if isinstance(one, BaseExceptionGroup) else ()
            waiting += [part for part in (one.__cause__, one.__context__, *members) if part is not None]


def end_at_callers_line(refusal: Refusal) -> None:
    """Cut a refusal's traceback behind the last line that is the program's own.

    What follows are the frames of the SDK, of the client and of ours. A report shows the arguments of its last frame:
    the request as it came, with its secrets.
    """
    last = first = refusal.__traceback__
    trace = first
    while trace is not None:
        if _is_own(trace):
            last = trace
        trace = trace.tb_next
    if last is not None:
        last.tb_next = None


def end_before_ours(error: BaseException) -> None:
    """Cut off what is ours at the end of a traceback: that of each refusal in what a program's error shows."""
    for part in family(error):
        last, trace = None, part.__traceback__ if isinstance(part, Refusal) else None
        while trace is not None:
            if not trace.tb_frame.f_code.co_filename.startswith(_OURS):
                last = trace
            trace = trace.tb_next
        if last is not None:
            last.tb_next = None


def cut_uncaught() -> None:
    """Have the traceback of a refusal that ends a program, or a thread of it, end at the program's own last line.

    Only where Python's own hooks print it: those that a program has set, or sets later, are its own.
    """
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _print_uncaught
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _print_uncaught_in_thread


def _print_uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    _cut(error)
    sys.__excepthook__(kind, error, trace)


def _print_uncaught_in_thread(told: threading.ExceptHookArgs) -> None:
    if told.exc_value is not None:
        _cut(told.exc_value)
    threading.__excepthook__(told)


def _cut(error: BaseException) -> None:
    for part in family(error):
        if isinstance(part, Refusal):
            end_at_callers_line(part)


def _is_own(trace: TracebackType) -> bool:
    return not is_installed(trace.tb_frame.f_code.co_filename)


def is_installed(file: str) -> bool:
    """Tell whether a source file is not the program's own: of the standard library, of a package, or ours."""
    return file.startswith(_installed())


@cache
def _installed() -> tuple[str, ...]:
    """Return the folders of what is installed: the standard library, packages, and this one wherever it lies."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (*sorted(folders), str(Path(__file__).parent), "<frozen ")


def note_refusals(error: BaseException, refusals: Sequence[Refusal]) -> None:
    """Have an error that is on its way tell of refusals that a program swallowed, unless it shows one of them.

    Args:
        error: What will be reported.
        refusals: What nobody expected or handled, the first first.
    """
    if refusals and not any(is_same(part, one) for part in family(error) for one in refusals):
        error.add_note(f"onetake refused {counted(len(refusals), 'call')}; the first: {refusals[0]}")
