"""Where a test's entries wait: a place under `.onetake/pending/` that one process at a time holds.

Only what a run left that is over may answer in another one. So a session that may write there locks its place while it
lasts, and one that finds it locked by another process takes the next: `~2`, `~3` and so on. What is left in those
answers when as many runs go on side by side again.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path

from onetake import forking
from onetake.aside import aside, hide

_BUSY = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK})
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)

_TESTS, _SESSIONS = "holding", "recording"
"""Where under `.onetake/` the locks of tests lie, and those of sessions outside of tests."""

_lock = forking.Lock()
_held: dict[Path, _Hold] = {}


@dataclass(slots=True)
class _Hold:
    """A lock of this process; the sessions in it that share a place come one after the other."""

    descriptor: int
    process: int
    sessions: int = 0


class Place:
    """A place that this process holds.

    Args:
        part: What it is called among the cassette's own; see `AsideStore`.
        file: What is locked; None where nothing can be.
    """

    def __init__(self, part: str, file: Path | None) -> None:
        self.part = part
        self._file = file

    def let_go(self) -> None:
        """Leave it to whoever comes next; once is enough."""
        file, self._file = self._file, None
        if file is None:
            return
        with _lock.held:
            hold = _held[file]
            hold.sessions -= 1
            if not hold.sessions:
                del _held[file]
                if hold.process == os.getpid():  # what a forked child inherits stays locked for its parent
                    _unlock(hold.descriptor, file)


class Recording:
    """That a session outside of tests records: others see it from its first entry on, until it ends.

    Args:
        root: The settings' folder.
        folder: The cassette's folder.
    """

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self._place: Place | None = None
        self._is_over = False

    def begin(self) -> None:
        """Show it; from whichever thread, and as often as there are entries."""
        if self._place is not None or self._is_over:
            return
        place = _hold(self._root, self._folder, "", _SESSIONS)
        with _lock.held:
            is_first = self._place is None and not self._is_over
            if is_first:
                self._place = place
        if not is_first:
            place.let_go()

    def end(self) -> None:
        """Show it no more."""
        with _lock.held:
            self._is_over = True
        if self._place is not None:
            self._place.let_go()


def hold(root: Path, folder: Path, part: str) -> Place:
    """Hold the first place of a test that no other process holds.

    Args:
        root: The settings' folder.
        folder: The cassette's folder.
        part: What the test's place in there is called; empty where the cassette is its own.

    Returns:
        It; where the file system knows no locks, or nothing can be written, the first as it is.
    """
    return _hold(root, folder, part, _TESTS)


def _hold(root: Path, folder: Path, part: str, kind: str) -> Place:
    for number in count(1):
        own = part if number == 1 else f"{part}~{number}"
        place = aside(root, "pending", folder) / own
        name = sha256(str(place.relative_to(root)).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        file = root.absolute() / ".onetake" / kind / f"{name}.lock"
        try:
            if _take(file, root):
                return Place(own, file)
        except OSError:
            return Place(part, None)
    raise AssertionError


def is_anyone_there(root: Path) -> bool:
    """Tell whether a test that records holds a place, in whichever process.

    Args:
        root: The settings' folder. Where the file system knows no locks, nobody seems to be there.
    """
    return _is_any_held(root, _TESTS)


def is_recorded_outside(root: Path) -> bool:
    """Tell likewise whether a session outside of tests has recorded, and goes on."""
    return _is_any_held(root, _SESSIONS)


def _is_any_held(root: Path, kind: str) -> bool:
    folder = root.absolute() / ".onetake" / kind
    return any(_is_held(file, root) for file in sorted(folder.glob("*.lock")))


def _is_held(file: Path, root: Path) -> bool:
    with _lock.held:
        if file in _held:
            return True
    try:
        taken = _take(file, root)
    except OSError:
        return False
    if taken:
        Place("", file).let_go()
    return not taken


def _take(file: Path, root: Path) -> bool:
    """Lock a file, unless another process has; raises OSError where nothing can be locked."""
    with _lock.held:
        if (known := _held.get(file)) is not None and known.process == os.getpid():
            known.sessions += 1
            return True
        hide(root)
        while True:
            file.parent.mkdir(exist_ok=True)
            with suppress(FileNotFoundError):  # another one took the empty folder away
                descriptor = os.open(file, _OPEN, 0o600)
                if not _locked(descriptor):
                    os.close(descriptor)
                    return False
                if _is_there(descriptor, file):
                    _held[file] = _Hold(descriptor, os.getpid(), 1)
                    return True
                os.close(descriptor)  # whoever held it has just removed it


def _is_there(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _unlock(descriptor: int, file: Path) -> None:
    """Remove the file while it is locked, so that nobody locks one that is about to go; Windows removes none open."""
    with suppress(OSError):
        file.unlink()
    with suppress(OSError):
        _released(descriptor)
    os.close(descriptor)
    with suppress(OSError):
        file.parent.rmdir()


def _locked(descriptor: int) -> bool:
    """Lock an open file without waiting; False where another holds it. On any other error it is closed."""
    try:
        _grasp(descriptor)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        os.close(descriptor)
        raise
    return True


if sys.platform == "win32":
    import msvcrt

    def _grasp(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _released(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _grasp(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _released(descriptor: int) -> None:
        # A child that was forked meanwhile shares the descriptor: closing ours alone would leave it locked.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
