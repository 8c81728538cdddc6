"""What probes said of entries, remembered beside the project, so that `status` knows it. No cassette is touched by it.

A note holds for a file as it was: by the digest of its bytes. It moves no age: that counts from the recording.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from errno import EISDIR
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetake.aside import hide
from onetake.errors import StoreError
from onetake.picking import document, mapping, text
from onetake.stores import files
from onetake.validity import moment

AGREED, DRIFTED = "agreed", "drifted"
_LARGEST = 16 * 1024 * 1024
_FORMAT = 1
_MOST = 10_000
"""Notes that are kept, the newest."""


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe said of one file.

    Args:
        at: When.
        agreed: Whether what came agreed with it; else it drifted.
    """

    at: datetime
    agreed: bool


class ProbeBook:
    """The notes of one project.

    Args:
        root: The settings' folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        said = self._read()
        self.last: Mapping[str, Any] = mapping(said.get("last"))
        """The last probe: `at`, `sampled`, `agreed`, `drifted`, `failed`, `unasked`, `unaskable`, `exit`, and
        `model` where another one was asked than was recorded."""
        self._entries = mapping(said.get("entries"))

    @property
    def is_empty(self) -> bool:
        """Whether there is a note of no file."""
        return not self._entries

    def of(self, data: bytes) -> Probed | None:
        """Return what the last probe that could tell said of a file; None where none did.

        Args:
            data: The bytes of the file.
        """
        note = mapping(self._entries.get(sha256(data).hexdigest())) if self._entries else {}
        at, outcome = moment(note.get("at")), text(note.get("outcome"))
        return Probed(at, outcome == AGREED) if at and outcome in (AGREED, DRIFTED) else None

    def note(self, last: Mapping[str, Any], outcomes: Iterable[tuple[str, str]]) -> None:
        """Remember a probe.

        Args:
            last: What `last` says from now on.
            outcomes: The digest of each file that could be compared, and what came of it.

        Raises:
            StoreError: It cannot be written.
        """
        at = text(last.get("at"))
        new = {digest: {"at": at, "outcome": outcome} for digest, outcome in outcomes if outcome in (AGREED, DRIFTED)}
        older = {digest: note for digest, note in self._entries.items() if digest not in new}
        notes = dict([*older.items(), *new.items()][-_MOST:])
        said = {"onetake_probed": _FORMAT, "last": dict(last), "entries": notes}
        with self._written((json.dumps(said, indent=1) + "\n").encode()) as temp:
            temp.replace(self._place)

    def see_that_it_can_be_written(self) -> None:
        """See it before anything is asked and paid for.

        Raises:
            StoreError: It cannot.
        """
        with self._written(b""):
            pass

    @contextmanager
    def _written(self, data: bytes) -> Iterator[Path]:
        """Write a file beside the notes, to be put in their place; it is gone afterwards."""
        try:
            hide(self._root)
            if self._place.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            with files.temporary(self._place.parent, data) as temp:
                yield temp
        except OSError as error:
            raise StoreError(f"{self._place.as_posix()}: cannot be written: {error.strerror or error}") from error

    @property
    def _place(self) -> Path:
        return self._root / ".onetake" / "probed.json"

    def _read(self) -> dict[str, Any]:
        try:
            said = document(files.read(self._place, _LARGEST) or b"")
        except OSError:
            return {}  # it only helps to tell what was probed
        return said if said.get("onetake_probed") == _FORMAT else {}
