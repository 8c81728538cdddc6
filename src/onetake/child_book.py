"""What a session's child processes refuse, on its way to the process that opened it: one file for each child."""

from __future__ import annotations

import base64
import os
import pickle
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from onetake import forking
from onetake.aside import hide
from onetake.errors import NotStored, Refusal

_SUFFIX = ".told"


class ChildBook:
    """A folder that a session's children write to and its own process reads.

    Args:
        folder: Under `.onetake/` of *root*; made by the first child that has something to tell.
        root: The settings' folder.
        reads: True in the process that opened the session, False in one that inherited it.
        notes: True where it matters that a child was there at all: what only it asked for, the session does not know.
    """

    def __init__(self, folder: Path, root: Path, *, reads: bool, notes: bool = False) -> None:
        self.folder = folder
        self._root = root
        self._reader = os.getpid() if reads else 0
        self._writer = 0
        self._name = ""
        self._mine: list[Refusal] = []
        self._closed: set[int] = set()
        self._read: dict[str, int] = {}
        self._found: dict[str, list[Refusal]] = {}
        self._notes = notes
        self.anyone_came = False
        """Whether a child told anything or, where that is noted, was there."""
        self.renew()
        forking.remember(self)

    def renew(self) -> None:
        """Note that this process is there, if it is a child."""
        if self._notes and self.is_child:
            self._begin()
            self._write(b"")

    def close(self) -> None:
        """Note no more who is there: the session has ended."""
        self._notes = False

    @property
    def is_child(self) -> bool:
        """Whether this process is a child of the one that opened the session."""
        return os.getpid() != self._reader

    def tell(self, refusal: Refusal) -> None:
        """Write a refusal down, if this process is a child; without the answer that is on no disk for its secrets."""
        if not self.is_child:
            return
        self._begin()
        self._mine.append(refusal)
        told = type(refusal)(*refusal.args[:2]) if isinstance(refusal, NotStored) else refusal
        self._write(b"+" + base64.b64encode(pickle.dumps(told)))

    def settled(self, refusals: Iterable[Refusal]) -> None:
        """Write down that refusals which this child told were expected or handled after all."""
        if self._writer != os.getpid():
            return
        done = {id(refusal) for refusal in refusals} - self._closed
        for place, refusal in enumerate(self._mine):
            if id(refusal) in done:
                self._closed.add(id(refusal))
                self._write(b"-%d" % place)

    def told(self) -> tuple[list[Refusal], list[Refusal]]:
        """Return what children wrote since this was last asked: refusals, and those of all that are settled."""
        told: list[Refusal] = []
        settled: list[Refusal] = []
        for file in () if self.is_child else self._files():
            self.anyone_came = True
            found = self._found.setdefault(file.name, [])
            for line in self._lines(file):
                if line.startswith(b"+"):
                    found.append(pickle.loads(base64.b64decode(line[1:])))
                    told.append(found[-1])
                elif line:
                    settled.append(found[int(line[1:])])
        return told, settled

    def remove(self) -> None:
        """Remove what was read; a child that is still there makes its file anew."""
        if not self.is_child:
            with suppress(OSError):
                for file in self._files():
                    if file.stat().st_size == self._read.get(file.name):
                        file.unlink()
                        del self._read[file.name]
                self.folder.rmdir()
                self.folder.parent.rmdir()

    def _begin(self) -> None:
        """Begin this process's own file; one that was forked has its parent's numbering."""
        if self._writer != os.getpid():
            self._writer, self._mine, self._closed = os.getpid(), [], set()
            self._name = f"{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}"

    def _files(self) -> list[Path]:
        try:
            return sorted(Path(self.folder, name) for name in os.listdir(self.folder))  # noqa: PTH208 - no glob needed
        except OSError:
            return []

    def _lines(self, file: Path) -> list[bytes]:
        """Read the whole lines that are new; a child that was killed may have left half of one."""
        try:
            with file.open("rb") as open_file:
                open_file.seek(self._read.get(file.name, 0))
                data = open_file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._read[file.name] = self._read.get(file.name, 0) + len(whole)
        return whole.splitlines()

    def _write(self, line: bytes) -> None:
        # What cannot be written was printed: a disk that is full must not change what the caller gets.
        with suppress(OSError):
            hide(self._root)
            self.folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
            descriptor = os.open(self.folder / self._name, flags, 0o600)
            try:
                os.write(descriptor, line + b"\n")
            finally:
                os.close(descriptor)
