"""Which entries are pinned, so that nothing puts them away: by the settings, or each by itself."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path

from onetake.model import Entry
from onetake.printable import one_line

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
        self._real_root = os.path.realpath(root)
        self._patterns = {word: (_pattern(word), *self._linked(word)) for word in words}
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
        if word := self.word(path, entry):
            return f"pinned by the settings: {word!r}"
        said = entry.provenance.get("pinned") if entry else None
        if said is None:
            return ""
        reason = said.get("reason") if isinstance(said, dict) else ""
        return "pinned" + (f": {one_line(str(reason), 200)}" if reason else "")

    def word(self, path: Path, entry: Entry | None) -> str:
        """Return the first word that names an entry, empty where none does.

        Args:
            path: Its file.
            entry: What it holds; None where that cannot be read.
        """
        places = {_relative(path, self._root), _relative(os.path.realpath(path), self._real_root)}
        named = [word for word in self._patterns if self._names(word, places, entry)]
        self._matched.update(named)
        return named[0] if named else ""

    def _names(self, word: str, places: set[str], entry: Entry | None) -> bool:
        if word in self._keys and entry is not None and entry.key.startswith(word):
            return True
        return any(pattern.fullmatch(place) for pattern in self._patterns[word] for place in places)

    def _linked(self, word: str) -> list[re.Pattern[str]]:
        """Return what names, by their real paths, the files and folders to which links that a word names lead."""
        try:
            # A path has no such method that takes `..` and full paths.
            found = glob.glob(word.replace("\\", "/").replace("[", "[[]"), root_dir=self._root)  # noqa: PTH207
        except (OSError, ValueError, re.error):
            return []
        paths = (Path(self._root, one) for one in found)
        real = {_relative(os.path.realpath(path), self._real_root) for path in paths}
        return [re.compile(f"{re.escape(place)}(?:/.*)?", re.DOTALL) for place in sorted(real)]


def _relative(path: str | Path, root: str | Path) -> str:
    """Return a path from the root, with slashes; whole for one on another drive."""
    try:
        return Path(os.path.relpath(path, root)).as_posix()
    except ValueError:
        return Path(path).absolute().as_posix()


def _pattern(word: str) -> re.Pattern[str]:
    parts = os.path.normpath(word.replace("\\", "/")).replace("\\", "/")
    wild = re.escape(parts).replace(r"\*", ".*").replace(r"\?", ".")
    return re.compile(f"{re.sub('(?:[.][*])+', '.*', wild)}(?:/.*)?", re.DOTALL)
