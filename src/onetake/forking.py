"""Forked children: what other threads held at the fork is free there, for those threads are not."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """Holds a lock, or the traces of other threads' work."""

    def renew(self) -> None:
        """Begin anew: nothing is held, and nothing under way."""


_owners: WeakSet[Any] = WeakSet()
_unforked = threading.RLock()
_held = threading.local()
_PATIENCE = 5.0


def remember(owner: Renewable) -> None:
    """Have an object renewed in every child that is forked from here on, as long as it lives.

    Args:
        owner: What drops, in a child, the traces of other threads' work.
    """
    _owners.add(owner)


class Lock:
    """A re-entrant lock for `with lock.held:`; in a forked child it is free, whoever held it in the parent.

    A lock that another thread of the parent holds at the fork stays locked in the child, and nobody there would open
    it. What the thread that forks holds itself, it goes on holding.
    """

    def __init__(self) -> None:
        self.held = threading.RLock()
        """The lock itself: every call comes through some, and a `with` of our own takes half as long again."""
        remember(self)

    def renew(self) -> None:
        """Take a new lock where a thread holds the old one that is not in this process."""
        self.held = freed(self.held)


def freed(lock: Any) -> Any:
    """Return a lock in a forked child: the same, or a new one where a thread holds it that is not in this process.

    For locks that are made by the call and whose owner is renewed by another: a `Lock` is dearer to make.

    Args:
        lock: Re-entrant.
    """
    if not lock.acquire(blocking=False):
        return threading.RLock()
    lock.release()
    return lock


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
