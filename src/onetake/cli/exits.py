"""Exit codes: one table for all commands, and the code of each error."""

from __future__ import annotations

from enum import IntEnum

from onetake.errors import (
    AdapterError,
    ContractError,
    FormatError,
    InteractionNotFound,
    NotStored,
    OnetakeError,
    StoreError,
    UnreadableEntry,
    UsageError,
)


class Exit(IntEnum):
    """What a command's exit code says; `docs/reference/errors.md` has the table."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    DAMAGE = 5
    MISS = 6
    INTERRUPTED = 130


_CODES: tuple[tuple[tuple[type[OnetakeError], ...], Exit], ...] = (
    ((ContractError,), Exit.FINDINGS),
    ((UsageError, AdapterError), Exit.USAGE),
    ((StoreError, FormatError, UnreadableEntry, NotStored), Exit.DAMAGE),
    ((InteractionNotFound,), Exit.MISS),
)


def code_of(error: OnetakeError) -> Exit:
    """Return the exit code of an error."""
    return next((code for kinds, code in _CODES if isinstance(error, kinds)), Exit.FINDINGS)
