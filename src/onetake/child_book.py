"""What a session's child processes do and refuse, on its way to the process that opened it: one file for each child.

A line is written at each call, and read by whoever opened the session: what a child did before it was killed is known.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetake import forking
from onetake.aside import hide
from onetake.errors import ChildError, NotStored, Refusal

_SUFFIX = ".told"
_TRIES = 3
_LEFT_BEHIND_S = 7 * 24 * 3600.0
"""Seconds after which what a killed run left is nobody's any more; no session is open for so long."""


@dataclass(slots=True)
class Tally:
    """What became of a session's calls; each is known by its entry's key and ordinal, in the order of asking."""

    replayed: list[tuple[str, int]] = field(default_factory=list)
    recorded: list[tuple[str, int]] = field(default_factory=list)
    rejected: list[tuple[str, int]] = field(default_factory=list)
    """Answers that the gate refused; the ordinal counts among the rejects."""
    notes: dict[str, None] = field(default_factory=dict)
    """What was said that is no refusal, each text once."""
    failed: set[str] = field(default_factory=set)
    """The keys of calls that went live and brought nothing to keep, in the end."""
    unstored: list[tuple[str, int]] = field(default_factory=list)
    """Answers that came when another caller's was stored already."""
    differing: list[Mapping[str, Any]] = field(default_factory=list)
    """What was answered although the request differs from the recorded one; see `Differing.as_plain`."""


class ChildBook:
    """A folder that a session's children write to and its own process reads.

    A line is `+ <number> <refusal> <where it was shown>`; `- <number>` for one that was expected or handled after all;
    `replayed`, `recorded`, `rejected`, `unstored` or `failed` with key and ordinal; `note <text>`; `differs <json>`.

    Args:
        folder: Under `.onetake/children/` of *root*; made by the first child.
        root: The settings' folder.
        reads: True in the process that opened the session, False in one that inherited it.
    """

    def __init__(self, folder: Path, root: Path, *, reads: bool) -> None:
        self.folder = folder
        self._root = root
        self._reader = os.getpid() if reads else 0
        self._writer = 0
        self._name = ""
        self._mine: list[Refusal] = []
        self._closed: set[int] = set()
        self._unsaid = b""
        self._read: dict[str, int] = {}
        self._found: dict[str, dict[int, Refusal]] = {}
        self._shown: dict[int, str] = {}
        self._unread: set[str] = set()
        """The files that hold something that cannot be read; a person may want to look at them."""
        self._is_open = True
        self.anyone_came = False
        """Whether a child was there."""
        self.tally = Tally()
        """What children did, as far as it was read."""
        self.renew()
        forking.remember(self)

    def renew(self) -> None:
        """Note that this process is there, if it is a child."""
        if self._is_open and self.is_child:
            self._begin()
            self._write(b"")

    def close(self) -> None:
        """Note no more who is there: the session has ended."""
        self._is_open = False

    @property
    def is_child(self) -> bool:
        """Whether this process is a child of the one that opened the session."""
        return os.getpid() != self._reader

    def tell(self, refusal: Refusal, shown: str = "") -> None:
        """Write a refusal down, if this process is a child; without the answer that is on no disk for its secrets.

        Args:
            refusal: What was said.
            shown: Where, as `ledger.terminal` tells it.
        """
        if not self.is_child:
            return
        self._begin()
        self._mine.append(refusal)
        told = type(refusal)(*refusal.args[:2]) if isinstance(refusal, NotStored) else refusal
        data = base64.b64encode(pickle.dumps(told))
        self._write(b"+ %d %s %s" % (len(self._mine) - 1, data, shown.encode()))

    def shown(self, refusal: Refusal) -> str:
        """Return where a child showed a refusal that `told` returned; empty where that is not known."""
        return self._shown.get(id(refusal), "")

    def count(self, what: str, key: str, ordinal: int) -> None:
        """Write down what became of a call, if this process is a child.

        Args:
            what: `replayed`, `recorded`, `rejected`, `unstored` or `failed`.
            key: The entry's.
            ordinal: The entry's.
        """
        if self.is_child:
            self._begin()
            self._write(b"%s %s %d" % (what.encode(), key.encode(), ordinal))

    def note(self, text: str) -> None:
        """Write down what was said that is no refusal, if this process is a child."""
        if self.is_child:
            self._begin()
            self._write(b"note " + base64.b64encode(text.encode("utf-8", "surrogatepass")))

    def differs(self, told: Mapping[str, Any]) -> None:
        """Write down that a request was answered which differs from the recorded one, if this process is a child."""
        if self.is_child:
            self._begin()
            self._write(b"differs " + base64.b64encode(json.dumps(told).encode()))

    def settled(self, refusals: Iterable[Refusal]) -> None:
        """Write down that refusals which this child told were expected or handled after all."""
        if self._writer != os.getpid():
            return
        done = {id(refusal) for refusal in refusals} - self._closed
        for number, refusal in enumerate(self._mine):
            if id(refusal) in done:
                self._closed.add(id(refusal))
                self._write(b"- %d" % number)

    def told(self) -> tuple[list[Refusal], list[Refusal]]:
        """Return what children wrote since this was last asked: refusals, and those of all that are settled.

        What cannot be read counts as a refusal that nobody knows, an `ChildError`.
        """
        told: list[Refusal] = []
        settled: list[Refusal] = []
        for file in () if self.is_child else self._files():
            self.anyone_came = True
            new, done = self._heard(file)
            told += new
            settled += done
            if any(isinstance(one, ChildError) for one in new):
                self._unread.add(file.name)
        return told, settled

    def _heard(self, file: Path) -> tuple[list[Refusal], list[Refusal]]:
        found = self._found.setdefault(file.name, {})
        told: list[Refusal] = []
        settled: list[Refusal] = []
        for line in filter(None, self._lines(file)):
            match line.split(b" "):
                case [b"+", number, data, *shown] if number.isdigit():
                    found[int(number)] = _refusal(data, file)
                    told.append(found[int(number)])
                    self._shown[id(told[-1])] = b"".join(shown).decode(errors="replace")
                case [b"-", number] if number.isdigit():
                    # None where the line that told it could not be written.
                    settled += [one] if (one := found.get(int(number))) else []
                case [b"replayed" | b"recorded" | b"rejected" | b"unstored" as what, key, number] if number.isdigit():
                    getattr(self.tally, what.decode()).append((key.decode(errors="replace"), int(number)))
                    self.tally.failed.discard(key.decode(errors="replace"))
                case [b"failed", key, number] if number.isdigit():
                    self.tally.failed.add(key.decode(errors="replace"))
                case [b"note", text] if (note := _note(text)) is not None:
                    self.tally.notes[note] = None
                case [b"differs", text] if (differing := _differing(text)) is not None:
                    self.tally.differing.append(differing)
                case _:
                    told.append(ChildError(file.as_posix(), "a line in it is damaged"))
        return told, settled

    def remove(self) -> None:
        """Remove what was read, and what runs that were killed left long ago; a child that is there begins anew."""
        if self.is_child:
            return
        for file in self._files():
            with suppress(OSError):
                if file.name not in self._unread and file.stat().st_size == self._read.get(file.name):
                    file.unlink()
                    del self._read[file.name]
        # Not the folder above: another process may just be making its own in it.
        with suppress(OSError):
            self.folder.rmdir()
        with suppress(OSError):
            for folder in self.folder.parent.iterdir():
                _sweep(folder)

    def _begin(self) -> None:
        """Begin this process's own file; one that was forked has its parent's numbering."""
        if self._writer != os.getpid():
            self._writer, self._mine, self._closed, self._unsaid = os.getpid(), [], set(), b""
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
        # What cannot be written was printed: a disk that is full must not change what the caller gets. It goes out with
        # the next line.
        self._unsaid += line + b"\n"
        with suppress(OSError):
            descriptor = self._open()
            try:
                while self._unsaid:
                    self._unsaid = self._unsaid[os.write(descriptor, self._unsaid) :]
            finally:
                os.close(descriptor)

    def _open(self) -> int:
        hide(self._root)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        for tries_left in reversed(range(_TRIES)):
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                return os.open(self.folder / self._name, flags, 0o600)
            except FileNotFoundError:  # the session ends just now, and has removed the folder
                if not tries_left:
                    raise
        raise AssertionError


def _refusal(data: bytes, file: Path) -> Refusal:
    try:
        refusal = pickle.loads(base64.b64decode(data, validate=True))
        str(refusal)  # that of another onetake may be made of other parts
    except Exception as error:  # noqa: BLE001 - damaged bytes may raise anything
        return ChildError(file.as_posix(), f"a refusal in it is damaged, or of another onetake: {type(error).__name__}")
    return refusal if isinstance(refusal, Refusal) else ChildError(file.as_posix(), "what is in it is no refusal")


def _note(text: bytes) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "surrogatepass")
    except ValueError:
        return None


def _differing(text: bytes) -> Mapping[str, Any] | None:
    try:
        found = json.loads(base64.b64decode(text, validate=True))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _sweep(folder: Path) -> None:
    """Remove what a killed run left, once nobody can be at it any more."""
    there = [folder, *folder.iterdir()]
    if time.time() - max(path.stat().st_mtime for path in there) > _LEFT_BEHIND_S:
        for file in there[1:]:
            file.unlink()
        folder.rmdir()
