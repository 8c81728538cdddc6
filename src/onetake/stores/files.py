"""Files that are whole or not there: what `DirectoryStore` needs of the operating system."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
# A pipe in an entry's place must not hold its reader for ever.
_READ = os.O_RDONLY | _BINARY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY | _NO_FOLLOW

TEMP_PREFIX = ".onetake-"
TEMP_SUFFIX = ".tmp"

_PIECE = 1 << 20

_NO_LINKS = frozenset(
    {errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EINVAL}
)
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF, errno.EACCES})


def read(path: str | Path, most: int | None = None) -> bytes | None:
    """Return a regular file's bytes, None if there is no such file.

    Args:
        path: The file.
        most: Bytes that are read at most; None reads a file of any size.

    Raises:
        OSError: It is a link, a folder or something else that is no file, it is larger, or it cannot be read.
    """
    try:
        descriptor = _open(path)
    except FileNotFoundError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EISDIR, "is no regular file")
        if most is not None and found.st_size > most:
            raise OSError(errno.EFBIG, f"its {found.st_size} bytes are more than the {most} that may be read")
        data = os.read(descriptor, found.st_size + 1)
        while len(data) != found.st_size and (more := os.read(descriptor, _PIECE)):
            data += more
        return data
    finally:
        os.close(descriptor)


def _open(path: str | Path) -> int:
    if not _NO_FOLLOW and Path(path).is_symlink():
        raise _linked()
    try:
        return os.open(path, _READ)
    except OSError:
        if Path(path).is_symlink():
            raise _linked() from None
        raise


def _linked() -> OSError:
    return OSError(errno.ELOOP, "is a symbolic link, and none is followed")


def create(path: Path) -> int:
    """Create a file that is not there yet and return its descriptor."""
    return os.open(path, _CREATE, 0o666)


def write(descriptor: int, data: bytes) -> None:
    """Write all bytes to a new file, see them on disk, and close it."""
    with open(descriptor, "wb") as file:
        file.write(data)
        sync(file)


def sync(file: IO[bytes]) -> None:
    """See on disk what was written to a file."""
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def claimed(descriptor: int) -> Iterator[None]:
    """Hold a lock on a file that is being written, so that others see that its writer lives: see `writer_lives`.

    The lock outlasts the closing of the descriptor. Where there are none (Windows, some network file systems), nothing
    is held.
    """
    held = None if sys.platform == "win32" else os.dup(descriptor)
    try:
        if held is not None:
            _lock(held)
        yield
    finally:
        if held is not None:
            os.close(held)


def writer_lives(path: Path) -> bool | None:
    """Tell whether the writer of a file is still at work; None where nobody can know.

    Raises:
        OSError: It is gone, or not ours to read.
    """
    descriptor = os.open(path, _READ)
    try:
        return _is_locked(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def temporary(folder: Path, data: bytes) -> Iterator[Path]:
    """Write a file under a name that nobody asks for, to be placed or renamed; it is gone afterwards, whatever happens.

    Args:
        folder: Where; it is there.
        data: The whole file.
    """
    with ExitStack() as writing:
        with locked(folder):
            temp, descriptor = create_temporary(folder, writing)
        write(descriptor, data)
        yield temp


def create_temporary(folder: Path, writing: ExitStack) -> tuple[Path, int]:
    """Create a temporary file, which is claimed, and gone, when the writing ends; returns it and its descriptor.

    Whoever holds the folder's lock meanwhile leaves nobody a moment in which the file is there and its writer unseen.
    """
    temp = folder / f"{TEMP_PREFIX}{os.urandom(8).hex()}{TEMP_SUFFIX}"
    descriptor = create(temp)
    writing.callback(remove, temp)
    writing.enter_context(claimed(descriptor))
    return temp, descriptor


def is_temporary(name: str) -> bool:
    """Tell whether a file of this name is a temporary one of ours."""
    return name.startswith(TEMP_PREFIX) and name.endswith(TEMP_SUFFIX)


def place(temp: Path, path: Path) -> bool:
    """Give a whole file its name, unless that is taken; False if it is.

    Where the file system has no links, the name is reserved by an empty file and the whole one moved over it: a kill
    between these two leaves an empty file, which reads as damaged and never as an answer.
    """
    try:
        os.link(temp, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        return _place_without_link(temp, path)
    return True


def _place_without_link(temp: Path, path: Path) -> bool:
    try:
        os.close(create(path))
    except FileExistsError:
        return False
    try:
        temp.replace(path)
    except OSError:
        path.unlink()
        raise
    return True


def remove(path: Path) -> bool:
    """Remove a file; False if there was none."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


def free_name(path: Path) -> Path:
    """Return a path that is not there yet: this one, or with `~` and a number behind it."""
    free, number = path, 0
    while os.path.lexists(free):
        number += 1
        free = path.with_name(f"{path.name}~{number}")
    return free


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, each one's name on disk before anything is put into it."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    with suppress(FileExistsError):
        folder.mkdir()
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """See a folder's names on disk, where the platform has it."""
    if sys.platform == "win32":
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Keep out everyone else who locks this folder; a killed process lets go of it.

    Yields:
        True while it is held; False where there is no folder, or the platform or file system has no such lock.
    """
    try:
        descriptor = None if sys.platform == "win32" else os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        descriptor = None
    if descriptor is None:
        yield False
        return
    try:
        yield _lock(descriptor)
    finally:
        # A child that was forked meanwhile shares the descriptor: closing ours alone would leave it locked.
        _unlock(descriptor)
        os.close(descriptor)


if sys.platform == "win32":

    def _lock(descriptor: int) -> bool:
        return False

    def _is_locked(descriptor: int) -> bool | None:
        return None

    def _unlock(descriptor: int) -> None:
        return

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            return False
        return True

    def _is_locked(descriptor: int) -> bool | None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return None
        return False

    def _unlock(descriptor: int) -> None:
        with suppress(OSError):  # It was never locked.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
