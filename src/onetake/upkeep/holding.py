"""One cassette as it lies on disk: every file that is named as an entry or holds one, and what is in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from onetake.cassette_files import Listed
from onetake.errors import FormatError, NewerFormatError, StoreError
from onetake.format import load_entry
from onetake.format.entryjson import LARGEST
from onetake.model import Entry
from onetake.stores import files, open_store
from onetake.stores.naming import SIDE_FOLDERS, Slot, parse_name

_ENTRY_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\s*\"onetake\"\s*:\s*\d")
_HEX = bytes(ord("x") if code in b"0123456789abcdef" else ord(" ") for code in range(256))
_DIGEST = b"x" * 64
_ESCAPED = re.compile(rb"\\u00[36]")
_LINE = re.compile(r"\bline (\d{1,9})\b")
_HEAD = 64
_LARGEST_SIDE = 256 * 1024 * 1024
"""Bytes of a sidecar that are looked through."""


@dataclass(frozen=True, slots=True)
class Held:
    """One file of a cassette, read.

    Args:
        path: The file.
        slot: What its name says; None for a file whose name is none of an entry.
        data: Its bytes; empty where they cannot be read.
        entry: What is in it; None where that cannot be read.
        why: What keeps it from being read; else empty.
        is_newer: True where that is that a newer onetake wrote it.
    """

    path: Path
    slot: Slot | None
    data: bytes
    entry: Entry | None
    why: str = ""
    is_newer: bool = False

    def line_of(self, field: str) -> int:
        """Return the line of a field at the top of the entry, 1 where there is none."""
        found = re.search(rb'^  "%s":' % field.encode(), self.data, re.MULTILINE)
        return self.data.count(b"\n", 0, found.start()) + 1 if found else 1

    @property
    def broken_line(self) -> int:
        """The line that the reason names, 1 where it names none."""
        found = _LINE.search(self.why)
        return int(found[1]) if found else 1


class Holding:
    """A folder that holds entries, or sidecars of entries.

    Args:
        folder: Its path, as it is reached from where the search started.
        paths: Its files that are named as entries, or begin as entries do.
        is_one_file: Whether it is a store that is one file.
    """

    def __init__(self, folder: Path, paths: tuple[Path, ...], *, is_one_file: bool = False) -> None:
        self.folder = folder
        self.paths = paths
        self.is_one_file = is_one_file
        self.store = open_store(folder)

    def read(self, which: slice = slice(None)) -> Iterator[Held]:
        """Read one file after the other; what cannot be read does not stop the rest.

        Args:
            which: Of `paths`; all of them where it is left out.
        """
        try:
            yield from map(self.held, self.paths[which])
        finally:
            self.store.close()

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of its files that hold entries."""
        return frozenset(path.name for path in self.paths)

    @property
    def sides(self) -> tuple[str, ...]:
        """The sidecars that lie here, sorted: `_raw/<64 hex>.<ext>`, `_schemas/<64 hex>.json`."""
        return self._listed[0]

    @property
    def unlisted(self) -> str:
        """What kept the sidecars from being listed: their folder is a link, say; else empty."""
        return self._listed[1]

    @cached_property
    def strays(self) -> tuple[str, ...]:
        """What somebody else wrote into it that nothing finds, where it is one file: what is wrong with each."""
        if not self.is_one_file:
            return ()
        from onetake.stores.strays import Strays  # SQLite is loaded where there is such a file

        with closing(Strays(self.folder, self.store.place)) as rows, suppress(StoreError):  # then its tables are gone
            return tuple(stray.why for stray in rows.all())
        return ()

    @cached_property
    def _listed(self) -> tuple[tuple[str, ...], str]:
        try:
            return tuple(sorted(self.store.side_names())), ""
        except StoreError as error:
            return (), str(error)

    def side(self, name: str) -> bytes:
        """Return what lies in one of its sidecars, whole or not.

        Raises:
            OSError, StoreError: It cannot be read.
        """
        if self.is_one_file:
            return self.store.get_side(name) or b""
        return files.read(self.folder / name, _LARGEST_SIDE) or b""

    def held(self, path: Path) -> Held:
        """Read one of its files."""
        slot, data = parse_name(path.name), b""
        try:
            data = (self.store.get(*slot) if self.is_one_file and slot else files.read(path, LARGEST)) or b""
            return Held(path, slot, data, load_entry(data, self.store.get_side))
        except OSError as error:
            return Held(path, slot, data, None, f"cannot be read: {error.strerror or error}")
        except (FormatError, StoreError) as error:
            why = str(error).removeprefix(f"{path.as_posix()}: ")
            return Held(path, slot, data, None, why, isinstance(error, NewerFormatError))


def holding_of(listed: Listed, own: tuple[Path, ...] | None = None) -> Holding | None:
    """Return what a listed folder holds; None where that is nothing of ours.

    Args:
        listed: The folder.
        own: What `own_files` says of it, where that is known.
    """
    own = own_files(listed) if own is None else own
    found = Holding(listed.folder, own, is_one_file=listed.is_one_file)
    if own or (not set(SIDE_FOLDERS).isdisjoint(listed.folders) and (found.sides or found.unlisted or found.strays)):
        return found
    found.store.close()
    return None


def own_files(listed: Listed) -> tuple[Path, ...]:
    """Return the files of a folder that are named as entries, or begin as entries do."""
    jsons = [name for name in listed.names if name.endswith(".json") and not name.startswith(".")]
    return tuple([listed.folder / name for name in jsons if parse_name(name) or begins_as_entry(listed.folder / name)])


def begins_as_entry(path: Path) -> bool:
    """Tell whether a file begins as the file of an entry does; False for one that cannot be read."""
    if path.is_symlink() or not path.is_file():  # a pipe would hold its reader
        return False
    try:
        with path.open("rb", buffering=0) as file:
            return _ENTRY_START.match(file.read(_HEAD)) is not None
    except OSError:
        return False


def digests_in(data: bytes) -> set[str]:
    """Return every digest that an entry's file names: of its key, its schema and its sidecars, in whatever form.

    Args:
        data: The file; what can be read as JSON may spell a digit as an escape.
    """
    if b"\\u00" in data and _ESCAPED.search(data):
        with suppress(ValueError, RecursionError):
            data += json.dumps(json.loads(data)).encode()
    found: set[str] = set()
    mapped = data.translate(_HEX)  # a search for a fixed text is some ten times as fast as one for a class
    at = mapped.find(_DIGEST)
    while at >= 0:
        found.add(data[at : at + 64].decode())
        at = mapped.find(_DIGEST, at + 64)
    return found
