"""Read a cassette of vcrpy, or say what else a file is: as data alone, in bounded time and memory."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake.errors import FormatError
from onetake.importers import yamlvalues
from onetake.importers.answered import read_response
from onetake.importers.asked import read_request
from onetake.importers.foreign import recorder_of, recorder_of_item
from onetake.importers.layouts import Pair, pairs_of
from onetake.importers.tagged import names_objects, plain
from onetake.model import Request, Response
from onetake.stores.naming import SIDE_FOLDERS, parse_name
from onetake.vcrwords.naming import ENDINGS, without_ending

VCRPY = "vcrpy"
UNREADABLE = "unreadable"
UNKNOWN = "no cassette that is known"

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that are read, unpacked where it is packed."""

_NOT_ENTERED = ("node_modules", "site-packages", "__pycache__", *SIDE_FOLDERS)
_START = b"interactions:"
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_LFS = b"version https://git-lfs"
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Interaction:
    """One interaction of a file, as it was recorded."""

    position: int
    """0 or more: its place in the file."""
    request: Request | None
    """None where it cannot be read."""
    response: Response | None
    """None where it cannot be read."""
    problem: str
    """Why it cannot be read; empty where it can."""
    objects: bool
    """Whether the file names Python objects here: nothing was built of them."""
    foreign: str = ""
    """The recorder whose interaction this is, where it is none of vcrpy's."""
    bodyless: bool = False
    """Whether the request's body was not recorded, so that nobody knows what was asked."""
    notes: tuple[str, ...] = ()
    """What was put right, and what is known to differ from what was sent."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file."""

    path: Path
    kind: str
    """`VCRPY`, the name of another recorder, `UNKNOWN`, or `UNREADABLE`."""
    problem: str
    """Why it cannot be read; empty where it can."""
    interactions: tuple[Interaction, ...] = ()


def read(path: Path) -> Source:
    """Read a file.

    Args:
        path: YAML or JSON, packed by gzip or not; its name says nothing for sure.

    Returns:
        Its interactions in recorded order. Whatever it holds, it is no error: what cannot be read says why.

    Raises:
        UsageError: It is YAML, and PyYAML is not installed.
    """
    try:
        document, more = _document(_content(path), is_json=".json" in path.name.lower())
    except (FormatError, OSError, RecursionError, MemoryError) as error:
        return Source(path, UNREADABLE, _why(error))
    if recorder := recorder_of(document):
        return Source(path, recorder, "")
    pairs = pairs_of(document)
    if pairs is None:
        return Source(path, UNKNOWN, "")
    if more:
        return Source(path, UNREADABLE, "several YAML documents in one file: vcrpy reads none such")
    return Source(path, VCRPY, "", tuple(_interaction(number, pair) for number, pair in enumerate(pairs)))


def files_under(paths: Iterable[Path]) -> Iterator[Path]:
    """List the files that may be cassettes: those that are named, and those in folders that end as cassettes do.

    Args:
        paths: Files and folders that are there. Below a folder links are named and not followed; folders whose names
            begin with a dot, installed packages, onetake's own entries and macOS's `._` files are left out.

    Returns:
        Each file once, in the order of the paths given, below a folder in the order of its names; a folder that cannot
        be listed stands behind them, as what cannot be read.
    """
    seen: set[Path] = set()
    for path in paths:
        for file in _walked(path) if path.is_dir() else (path,):
            if (full := file.absolute()) not in seen:
                seen.add(full)
                yield file


def stem_of(path: Path) -> str:
    """Return the name of a cassette's file without what tells its format."""
    return without_ending(path.name)


def _walked(folder: Path) -> Iterator[Path]:
    unlisted: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=unlisted.append):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_ENTERED)
        linked = [name for name in folders if Path(place, name).is_symlink()]
        for name in sorted([*names, *linked]):
            if name in linked or (parse_name(name) is None and _may_be_one(Path(place, name))):
                yield Path(place, name)
    yield from sorted(Path(error.filename) for error in unlisted)


def _may_be_one(file: Path) -> bool:
    """Tell whether a file may be a cassette by its name, or where that says nothing, by how vcrpy begins one."""
    if file.name.startswith("._"):
        return False
    if file.name.lower().endswith(ENDINGS):
        return True
    try:
        if not file.is_file():  # a pipe would hold its reader for ever
            return False
        with file.open("rb") as opened:
            return opened.read(len(_START)) == _START
    except OSError:
        return False


def _content(path: Path) -> bytes:
    """Return a file's bytes, unpacked.

    Raises:
        FormatError: It is too large, or its packing is broken.
        OSError: It is no regular file, or cannot be read.
    """
    if not path.is_file():
        raise FormatError("is no file, or a folder that cannot be listed" if path.exists() else "is not there")
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    if data[:2] == b"\x1f\x8b":
        data = _unpacked(data)
    if len(data) > LARGEST:
        raise FormatError(f"is larger than the {LARGEST} bytes that are read of a cassette")
    return data


def _unpacked(data: bytes) -> bytes:
    """Unpack gzip, as far as one byte more than may be read."""
    parts: list[bytes] = []
    size = 0
    while data and size <= LARGEST:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            while size <= LARGEST and (part := unpacker.decompress(data, _PIECE)):
                parts.append(part)
                size += len(part)
                data = unpacker.unconsumed_tail
        except zlib.error as error:
            raise FormatError(f"its packing is broken: {error}") from None
        if size <= LARGEST and not unpacker.eof:
            raise FormatError("its packing is cut off")
        data = unpacker.unused_data.lstrip(b"\0")  # files that were joined; and padding
    return b"".join(parts)


def _document(data: bytes, *, is_json: bool) -> tuple[Any, bool]:
    """Return the first document, and whether others follow."""
    start = data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if not start:
        raise FormatError("is empty")
    if data.startswith(_LFS):
        raise FormatError("is a pointer of Git LFS: `git lfs pull` fetches the file")
    if b"\0" in data and data[:2] not in (b"\xff\xfe", b"\xfe\xff"):
        raise FormatError("holds a NUL character, which neither YAML nor JSON has")
    if start in (b"{", b"["):
        try:
            return _json(data), False
        except FormatError:
            if is_json:
                raise
    return yamlvalues.load(data, most_text=LARGEST)


def _json(data: bytes) -> Any:
    if len(data) > yamlvalues.MOST_VALUES and _values(data) > 2 * yamlvalues.MOST_VALUES:
        raise FormatError(f"more than {2 * yamlvalues.MOST_VALUES} values")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise FormatError("nested too deep") from None
    except json.JSONDecodeError as error:
        raise FormatError(f"no JSON: {error.msg}, line {error.lineno}") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"no UTF-8 at byte {error.start}") from None
    except ValueError:
        raise FormatError("no JSON: a number that is too long") from None


def _values(data: bytes) -> int:
    """Count the values in a JSON text, the names of members among them; at most as many as there are."""
    marks = (b",", b"[", b"{")
    most = sum(map(data.count, marks))
    if most <= 2 * yamlvalues.MOST_VALUES:
        return most
    return sum(map(_TEXT.sub(b"", data).count, marks))


def _interaction(number: int, pair: Pair) -> Interaction:
    """Read one interaction; what is wrong with it does not stop the others."""
    request, response, item = pair
    objects = names_objects([request, response])
    if objects:
        request, response, item = plain(request), plain(response), plain(item)
    if foreign := recorder_of_item(item):
        return Interaction(number, None, None, "", objects, foreign)
    try:
        if not isinstance(request, dict):
            raise FormatError("no request")
        asked = read_request(request)
    except (FormatError, RecursionError) as error:
        return Interaction(number, None, None, _why(error), objects)
    notes = asked.notes
    try:
        if not isinstance(response, dict):
            raise FormatError("no response")
        answered = read_response(response, asked.request)
    except (FormatError, RecursionError) as error:
        return Interaction(number, asked.request, None, _why(error), objects, "", asked.bodyless, notes)
    notes += answered.notes
    return Interaction(number, asked.request, answered.response, "", objects, "", asked.bodyless, notes)


def _why(error: BaseException) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error) if isinstance(error, FormatError) else "nested too deep, or too large to be read"
