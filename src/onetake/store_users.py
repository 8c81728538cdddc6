"""Who uses a store: any number of runs and sessions at a time, or one command alone that takes replies away."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path

from onetake.claims import Claims, hidden
from onetake.decide import reads_nothing, records, replaces_everything
from onetake.errors import StoreError, UsageError
from onetake.model import Mode, Repeats
from onetake.steps import Policy
from onetake.stores import FILE

READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
"""Nobody prunes a store beside which nothing can be written for these reasons, so nobody needs to be kept away."""
_USERS = 256
"""Processes that may use one store at once."""


def asked_keys(store: Path) -> Claims:
    """Return the keys of a store that processes are asking right now: runners of any job, and sessions.

    A key is taken before the store is looked into for the last time, and freed when its reply is there: so of all that
    would ask it, one does.

    Args:
        store: A file or a folder.
    """
    real = store.resolve()
    return Claims(hidden(real.parent / ".onetake" / "batch") / f"{real.name}.lock")


def asked_in_session(store: Path, policy: Policy) -> Callable[[], Claims] | None:
    """Return what opens the keys that are being asked; None where no other process gets this session's answers.

    Args:
        store: The session's.
        policy: Its policy.
    """
    is_shared = policy.repeats is Repeats.SAME and not policy.test  # what a test records waits until it has passed
    asks_once = records(policy.mode) and not replaces_everything(policy.mode)
    return partial(asked_keys, store) if is_shared and asks_once else None


@contextmanager
def using(store: Path) -> Iterator[None]:
    """Keep what is stored from being pruned or repaired inside the block, which starts from what is stored.

    Args:
        store: A file or a folder. Where nothing can be written beside it, nobody prunes it either.

    Raises:
        UsageError: It is being pruned or repaired.
        StoreError: It cannot be locked.
    """
    try:
        claims = _users_of(store)
        share = claims.share(_users())
    except StoreError as error:
        if getattr(error.__cause__, "errno", None) not in READ_ONLY:
            raise
        yield
        return
    if share is None:
        raise UsageError(f"{store}: is being pruned or repaired; try again when that has ended")
    try:
        yield
    finally:
        claims.unshare(share)


def in_session(store: Path, mode: Mode) -> AbstractContextManager[None]:
    """Keep a session's store from being pruned or repaired, as `using` does, where it is one file.

    A folder of entries is left as it is: it lies in git, and whoever prunes it sees in the diff what went.

    Args:
        store: It need not be there.
        mode: The session's.
    """
    is_file = store.suffix.lower() == FILE and not reads_nothing(mode) and (records(mode) or store.is_file())
    return using(store) if is_file else nullcontext()


@contextmanager
def alone(store: Path) -> Iterator[None]:
    """Keep all others from using a store inside the block: no run and no session is open on it, and none begins.

    Args:
        store: A file or a folder.

    Raises:
        UsageError: Somebody uses it, or has it alone.
        StoreError: It cannot be locked.
    """
    claims, taken = _users_of(store), []
    try:
        for name in _users():
            if not claims.take(name):
                raise UsageError(f"{store}: a run, a session or another command uses it; try again when that has ended")
            taken.append(name)
        yield
    finally:
        for name in taken:
            claims.free(name)


def _users_of(store: Path) -> Claims:
    real = store.resolve()
    return Claims(hidden(real.parent / ".onetake" / "using") / f"{real.name}.lock")


def _users() -> Iterator[str]:
    """Give the names of which a process that uses a store holds one, and who has it alone all."""
    return (f"user {number}" for number in range(_USERS))
