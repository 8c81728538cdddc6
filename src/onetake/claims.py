"""Names that one process holds at a time, and that the kernel frees when it ends, by `kill -9` too.

A key that is being asked, a run that is under way, a store that is in use: each is a name, and a name is one byte of a
lock file that stays empty. No claim is ever left behind, so none is ever judged by its age.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from onetake import forking
from onetake.aside import hide
from onetake.errors import StoreError

_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_BUSY = frozenset({errno.EACCES, errno.EAGAIN})
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
        with self._told():
            return self._file.take(name)

    def free(self, name: str) -> None:
        """Let go of a name; nothing happens where this process does not hold it."""
        self._file.free(name)

    def share(self, names: Iterable[str]) -> object | None:
        """Hold one of several names, which all that share in this process hold together.

        Args:
            names: The same ones each time.

        Returns:
            What `unshare` takes; None where each of them is held.

        Raises:
            StoreError: As for `take`.
        """
        with self._told():
            return self._file.share(names)

    def unshare(self, share: object) -> None:
        """Share a name no more: it is free when nobody in this process does."""
        self._file.unshare(share)

    def is_held(self, name: str) -> bool:
        """Tell whether some process holds a name."""
        try:
            return self._file.is_held(name)
        except OSError:  # ours to read only: whoever holds names there can write
            return False

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"{self._place}: cannot be locked: {error.strerror or error}") from error


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
        self._shares: set[object] = set()
        self._shared = ""
        forking.remember(self)

    def renew(self) -> None:
        """Begin anew in a forked child, which inherits the descriptor and no lock."""
        self._held, self._shares = {}, set()
        self._close()

    def take(self, name: str) -> bool:
        """Lock the place of a name; see `Claims.take`."""
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
        """Unlock the place of a name; see `Claims.free`."""
        place = _place(name)
        with self._lock.held:
            if self._descriptor is not None and self._held.get(place) == name:
                del self._held[place]
                _unlock(self._descriptor, place)
                self._close()

    def share(self, names: Iterable[str]) -> object | None:
        """Lock the place of one of the names, unless this process has it for another share; see `Claims.share`."""
        with self._lock.held:
            if not self._shares:
                found = next(filter(self.take, names), None)
                if found is None:
                    return None
                self._shared = found
            share = object()
            self._shares.add(share)
            return share

    def unshare(self, share: object) -> None:
        """Unlock it with the last share; one that a forked child was born with is no share of its own."""
        with self._lock.held:
            if share in self._shares:
                self._shares.remove(share)
                if not self._shares:
                    self.free(self._shared)

    def is_held(self, name: str) -> bool:
        """Tell whether the place of a name is locked; see `Claims.is_held`."""
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


def hidden(folder: Path) -> Path:
    """See that git does not see a folder right below `.onetake/`, and return it.

    Raises:
        StoreError: The ignore file cannot be written.
    """
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
