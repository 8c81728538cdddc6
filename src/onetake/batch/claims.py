"""Names that one process holds at a time, and that the kernel frees when it ends, by `kill -9` too.

A key that is being asked, a run that is under way, an output that is being made: each is a name, and a name is one byte
of a lock file that stays empty. No claim is ever left behind, so none is ever judged by its age.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path

from onetake import forking
from onetake.aside import hide
from onetake.errors import StoreError, UsageError

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_BUSY = frozenset({errno.EACCES, errno.EAGAIN})
_READ_ONLY = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_USERS = 256
"""Runs that may use one store at once."""
# POSIX has 63 bits for a place in a file, the C library of Windows 31.
_PLACES = 1 << (31 if sys.platform == "win32" else 62)


class Claims:
    """Names of one kind, each held by one process of this machine at a time.

    Any thread may take a name, and any other free it. Nobody waits here: whoever wants a name that is held asks again
    later, and then looks first whether there is still anything to do.

    Args:
        path: The lock file; made when a name is first taken, and never removed: a name that is held in a file which was
            deleted can be taken in the one that is made in its place.
    """

    def __init__(self, path: Path) -> None:
        self._place = str(path)
        resolved = path.parent.resolve() / path.name
        with _opening.held:
            self._file = _files.setdefault(resolved, _LockFile(resolved))

    def take(self, name: str) -> bool:
        """Hold a name; False where this process or another holds it already.

        Raises:
            StoreError: The lock file cannot be made, or the file system has no such locks.
        """
        try:
            return self._file.take(name)
        except OSError as error:
            raise StoreError(f"{self._place}: cannot be locked: {error.strerror or error}") from error

    def free(self, name: str) -> None:
        """Let go of a name; nothing happens where this process does not hold it."""
        self._file.free(name)

    def is_held(self, name: str) -> bool:
        """Tell whether some process holds a name."""
        try:
            return self._file.is_held(name)
        except OSError:  # ours to read only: whoever holds names there can write
            return False


class _LockFile:
    """A lock file of this process. Closing any descriptor of it drops all of the locks, so it has one.

    Args:
        path: Absolute, links of its folder resolved.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = forking.Lock()
        self._descriptor: int | None = None
        self._held: dict[int, str] = {}
        forking.remember(self)

    def renew(self) -> None:
        """Begin anew in a forked child, which inherits the descriptor and no lock."""
        self._held = {}
        self._close()

    def take(self, name: str) -> bool:
        place = _place(name)
        with self._lock.held:
            if place in self._held:
                return False
            if self._descriptor is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._descriptor = os.open(self._path, _FLAGS, 0o666)
            try:
                if _lock(self._descriptor, place):
                    self._held[place] = name
            finally:
                self._close()
            return place in self._held

    def free(self, name: str) -> None:
        place = _place(name)
        with self._lock.held:
            if self._descriptor is not None and self._held.get(place) == name:
                del self._held[place]
                _unlock(self._descriptor, place)
                self._close()

    def is_held(self, name: str) -> bool:
        with self._lock.held:
            if _place(name) in self._held:
                return True
            if not self._path.exists():
                return False
            if self.take(name):
                self.free(name)
                return False
            return True

    def _close(self) -> None:
        if self._descriptor is not None and not self._held:
            os.close(self._descriptor)
            self._descriptor = None


_files: dict[Path, _LockFile] = {}
_opening = forking.Lock()


def folder_of(path: Path) -> Path:
    """Return where a batch keeps what belongs to a store, or to an output: beside it, out of git's sight.

    Args:
        path: The store or the output.
    """
    return path.absolute().parent / ".onetake" / "batch"


def asked_keys(store: Path) -> Claims:
    """Return the keys of a store that runners of any job are asking right now.

    A key is taken before the store is looked into for the last time, and freed when its reply is there: so of any
    number of runners, and of the tasks of one, one asks it.

    Args:
        store: A file or a folder.
    """
    real = store.resolve()
    return Claims(_hidden(real) / f"{real.name}.lock")


@contextmanager
def using(store: Path) -> Iterator[None]:
    """Keep what is stored from being pruned inside the block, which starts from what is stored.

    Args:
        store: A file or a folder. Where nothing can be written beside it, nobody prunes it either.

    Raises:
        UsageError: It is being pruned.
        StoreError: It cannot be locked.
    """
    with ExitStack() as held:
        try:
            claims = asked_keys(store)
            is_ours = any(_took(held, claims, name) for name in _users())
        except StoreError as error:
            is_ours = getattr(error.__cause__, "errno", None) in _READ_ONLY
            if not is_ours:
                raise
        if not is_ours:
            raise UsageError(f"{store}: is being pruned; run it again when that has ended")
        yield


@contextmanager
def pruning(store: Path) -> Iterator[None]:
    """Keep runs from using a store inside the block: none is under way, and none begins.

    Raises:
        UsageError: A run is under way, or another prune.
        StoreError: The store cannot be locked.
    """
    with ExitStack() as held:
        claims = asked_keys(store)
        if not all(_took(held, claims, name) for name in _users()):
            raise UsageError(f"{store}: a run is under way, or another prune; prune when it has ended")
        yield


def _users() -> Iterator[str]:
    """Give the names of which a run holds any one, and a prune all: so neither begins in the other's middle."""
    return (f"user {number}" for number in range(_USERS))


def _took(held: ExitStack, claims: Claims, name: str) -> bool:
    """Take a name for as long as *held* lasts."""
    if claims.take(name):
        held.callback(claims.free, name)
        return True
    return False


@contextmanager
def making(output: Path) -> Iterator[None]:
    """Keep every other run from making the same output inside the block.

    Args:
        output: Its file; the same one by whatever links it is reached.

    Raises:
        UsageError: Another run is making it.
        StoreError: Its folder cannot be written to.
    """
    real = output.resolve()
    claims, name = Claims(_hidden(real) / "outputs.lock"), os.path.normcase(real.name)
    if not claims.take(name):
        raise UsageError(f"{output}: another run is making this output; let that end, or name another one")
    try:
        yield
    finally:
        claims.free(name)


def _hidden(path: Path) -> Path:
    folder = folder_of(path)
    try:
        hide(folder.parent.parent)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror or error}") from error
    return folder


def _place(name: str) -> int:
    return int.from_bytes(sha256(name.encode("utf-8", "surrogateescape")).digest()[:8], "big") % _PLACES


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, place: int) -> bool:
        os.lseek(descriptor, place, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def _unlock(descriptor: int, place: int) -> None:
        os.lseek(descriptor, place, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, place: int) -> bool:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

    def _unlock(descriptor: int, place: int) -> None:
        fcntl.lockf(descriptor, fcntl.LOCK_UN, 1, place)
