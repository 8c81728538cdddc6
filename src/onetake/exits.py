"""Exit codes: one table for all commands and for `onetake.Batch`, and the code of each error."""

from __future__ import annotations

from enum import IntEnum

from onetake.errors import OnetakeError


class Exit(IntEnum):
    """What a command's exit code says; `docs/reference/errors.md` has the table."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    DRIFT = 3
    INCONCLUSIVE = 4
    DAMAGE = 5
    MISS = 6
    ROWS_FAILED = 7
    PROVIDER = 75
    INTERRUPTED = 130
    UNREAD = 141
    TERMINATED = 143


def code_of(error: OnetakeError) -> Exit:
    """Return the exit code of an error."""
    return Exit(error.exit_code)
