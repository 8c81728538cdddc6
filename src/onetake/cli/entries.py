"""Entries as commands name them: a path, or the first hex digits of a key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from onetake.cassette import Damaged
from onetake.cassette_files import find_cassettes, is_named_as_store, is_one_file, read_entry
from onetake.cli.output import shown_path
from onetake.errors import FormatError, UsageError
from onetake.model import Entry
from onetake.settings import load_settings
from onetake.stores.naming import Slot, parse_name
from onetake.upkeep import mends

_KEY = re.compile(r"([0-9a-f]{8,64})(?:-(0|[1-9][0-9]{0,8}))?")
_CANDIDATES = 8


def settings_root() -> Path:
    """Return the folder that relative names count from here."""
    return load_settings(Path.cwd()).root


def as_path(word: str) -> Path:
    """Return the path that a user wrote; backslashes separate folders everywhere, unless such a name is there."""
    path = Path(word)
    return Path(word.replace("\\", "/")) if "\\" in word and not path.exists() else path


def folder_to_search(word: str | None) -> Path:
    """Return the folder in which a command looks for entries: the one that a user wrote, else the settings'.

    A store that is one file (`.db`) is taken for a folder.

    Raises:
        UsageError: It is none, or lies under `.onetake/`: what is there is part of no cassette.
    """
    if word is None:
        return settings_root()
    path = as_path(word)
    if not path.is_dir() and not is_named_as_store(path):
        raise UsageError(f"{word}: {'is a file: name its folder' if path.is_file() else 'there is no such folder'}")
    if ".onetake" in (*path.absolute().parts, *path.resolve().parts):
        raise UsageError(f"{word}: what lies under .onetake/ is part of no cassette: name the folder of one")
    return path


def files_to_change(word: str | None, instead: str = "") -> Path:
    """Return the folder in which a command changes files; see `folder_to_search`.

    Args:
        word: As the user wrote it.
        instead: The command that does the like for a store that is one file; empty where there is none.

    Raises:
        UsageError: Likewise; or it is a store that is one file.
    """
    path = folder_to_search(word)
    if is_one_file(path):
        raise UsageError(f"{word}: is a store in one file, and this changes files: {mends.unpack(path, instead)}")
    return path


def find_entry(word: str) -> Path:
    """Find the file of an entry; see `find_entries`."""
    return find_entries([word])[0]


def find_entries(words: Iterable[str]) -> list[Path]:
    """Find the files of entries; the cassettes are listed once for all of them.

    Args:
        words: Each a path, or 8 or more hex digits of a key, with `-<ordinal>` behind them where that is needed.

    Raises:
        UsageError: There is no such file, or none or several entries below the settings' folder have such a key.
    """
    stored = _Stored()
    return [_found(word, stored) for word in words]


class _Stored:
    """All entries below the settings' folder, listed when they are first asked for."""

    @cached_property
    def root(self) -> Path:
        return settings_root()

    @cached_property
    def files(self) -> list[tuple[Slot, Path]]:
        return [file for cassette in find_cassettes(self.root) for file in cassette.files]


def _found(word: str, stored: _Stored) -> Path:
    path = as_path(word)
    if is_one_file(path.parent) and parse_name(path.name):
        return path
    if path.is_dir() or is_one_file(path):
        what = "folder" if path.is_dir() else "store of many entries"
        raise UsageError(f"{word} is a {what}, not an entry: `onetake list` shows what is in it")
    if path.is_file() or path.is_symlink():
        return path
    key = _KEY.fullmatch(word.lower())
    if key is None:
        raise UsageError(f"no entry {word}: there is no such file, and it is no key (8 or more hex digits)")
    return _find_key(word, key[1], key[2], stored)


def load(path: Path) -> Entry:
    """Read an entry.

    Raises:
        FormatError: It cannot be read; says why, and what mends it.
    """
    found = read_entry(path)
    if isinstance(found, Damaged):
        raise FormatError(f"unreadable entry: {shown_path(path)}: {found.why}")
    return found


def _find_key(word: str, digits: str, ordinal: str | None, stored: _Stored) -> Path:
    found = [
        path
        for (hex16, number), path in stored.files
        if hex16.startswith(digits[:16]) and (ordinal is None or number == int(ordinal)) and _has_key(path, digits)
    ]
    if not found:
        raise UsageError(f"no entry below {shown_path(stored.root)} has a key that begins with {word}")
    if len(found) > 1:
        names = ", ".join(map(shown_path, found[:_CANDIDATES]))
        more = f" and {len(found) - _CANDIDATES} more" if len(found) > _CANDIDATES else ""
        raise UsageError(f"{word} fits {len(found)} entries; name one: {names}{more}")
    return found[0]


def _has_key(path: Path, digits: str) -> bool:
    """Tell whether an entry has the digits that its name is too short for; one that cannot be read may have them."""
    if len(digits) <= 16:
        return True
    entry = read_entry(path)
    return isinstance(entry, Damaged) or entry.key.startswith(digits)
