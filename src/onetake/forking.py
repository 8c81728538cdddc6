"""Forked children: what other threads held at the fork is free there, for those threads are not."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """Holds locks, or the traces of other threads' work."""

    def renew(self) -> None:
        """Begin anew: free locks, and nothing under way."""


_owners: WeakSet[Any] = WeakSet()
_unforked = threading.RLock()
_held = threading.local()
_PATIENCE = 5.0


def remember(owner: Renewable) -> None:
    """Have an object renewed in every child that is forked from here on, as long as it lives.

    A lock that a thread of the parent holds at the fork stays locked in the child, and nobody there would open it. The
    object gets new ones rather than the old ones opened: the thread that forks may stand inside of one itself.

    Args:
        owner: What holds them.
    """
    _owners.add(owner)


def in_children(renew: Callable[[], None]) -> None:
    """Have a function called in every forked child; for the locks of a module."""
    if hasattr(os, "register_at_fork"):  # there is no fork on Windows
        os.register_at_fork(after_in_child=renew)


@contextmanager
def unforked() -> Iterator[None]:
    """Keep this process from being forked inside the block, which must be short.

    For what is not ours to renew: a thread that writes to a stream holds a lock in it, and in a child that was forked
    just then the stream would never take another word.
    """
    with _unforked:
        yield


def _before() -> None:
    # Not for ever: whoever is to read a pipe that is full may be the thread that forks.
    _held.here = _unforked.acquire(timeout=_PATIENCE)


def _after_in_parent() -> None:
    if _held.here:
        _unforked.release()


def _renew() -> None:
    global _unforked
    _unforked = threading.RLock()
    for owner in list(_owners):
        owner.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_renew)
