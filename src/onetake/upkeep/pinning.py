"""Which entries are pinned, so that nothing prunes them: by the settings, or each by itself."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onetake.model import Entry
from onetake.printable import one_line
from onetake.upkeep.amending import amend

_DIGITS = re.compile(r"[0-9a-f]{8,64}")


class Pins:
    """The setting `pinned` of one project.

    Args:
        root: The settings' folder.
        words: Paths from there, in which `*` stands for any characters and `?` for one, or the first 8 or more hex
            digits of keys. What names a folder pins all that is in it and below.
    """

    def __init__(self, root: Path, words: Sequence[str]) -> None:
        self._root = root
        self._patterns = {word: _pattern(word) for word in words}
        self._keys = tuple(word for word in words if _DIGITS.fullmatch(word))
        self._matched: set[str] = set()

    @property
    def unmatched(self) -> list[str]:
        """The words that named no entry so far."""
        return [word for word in self._patterns if word not in self._matched]

    def why(self, path: Path, entry: Entry | None) -> str:
        """Say what pins an entry; empty where nothing does.

        Args:
            path: Its file.
            entry: What it holds; None where that cannot be read.
        """
        place = self._place(path)
        for word, pattern in self._patterns.items():
            named_by_key = word in self._keys and entry is not None and entry.key.startswith(word)
            if named_by_key or pattern.fullmatch(place):
                self._matched.add(word)
                return f"pinned by the settings: {word!r}"
        said = entry.provenance.get("pinned") if entry else None
        if said is None:
            return ""
        reason = said.get("reason") if isinstance(said, dict) else ""
        return "pinned" + (f": {one_line(str(reason), 200)}" if reason else "")

    def _place(self, path: Path) -> str:
        """Return a path from the root, with slashes; whole for one on another drive."""
        try:
            return Path(os.path.relpath(path, self._root)).as_posix()
        except ValueError:
            return path.absolute().as_posix()


def _pattern(word: str) -> re.Pattern[str]:
    parts = os.path.normpath(word.replace("\\", "/")).replace("\\", "/")
    wild = re.escape(parts).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(f"{re.sub('(?:[.][*])+', '.*', wild)}(?:/.*)?", re.DOTALL)


def pin(path: Path, entry: Entry, reason: str) -> bool:
    """Note in an entry that nothing prunes it, and why.

    Args:
        path: Its file.
        entry: What is in it.
        reason: Its secrets scrubbed; may be empty. A pin that is there is written anew where it says another one.

    Returns:
        False if the file holds another interaction by now, or none; nothing was written.

    Raises:
        FormatError, SecretLeftError, StoreError: As for `amend`; nothing was written.
    """
    note = {"at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), **({"reason": reason} if reason else {})}

    def change(provenance: Mapping[str, Any]) -> Mapping[str, Any]:
        there = provenance.get("pinned")
        is_said = isinstance(there, dict) and (not reason or there.get("reason") == reason)
        return provenance if is_said else {**provenance, "pinned": note}

    return amend(path, entry, change)


def unpin(path: Path, entry: Entry) -> bool:
    """Take back what `pin` noted; returns and raises as it does."""
    return amend(path, entry, lambda provenance: {name: one for name, one in provenance.items() if name != "pinned"})
