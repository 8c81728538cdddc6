"""The rows of a damaged SQLite file, read from its pages alone: no tree, no index and no list of tables is believed.

Source: SQLite, Database File Format (2.3 varints, 1.6 b-tree pages, 2.1 records, 4 the write-ahead log).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

PAGE = 8192
"""Bytes of a page."""
_LEAF = 13
_HEAD, _FRAME = 32, 24
_MOST = PAGE - 35
_LEAST = (PAGE - 12) * 32 // 255 - 23
_WIDTHS = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 0, 9: 0}


def fold(path: Path, log: Path) -> None:
    """Write the pages of a write-ahead log into its file, up to its last commit, and remove the log.

    Args:
        path: The file.
        log: Its log, which need not be there.
    """
    if not log.exists():
        return
    with log.open("rb") as source, path.open("rb+") as target:
        salts, last = source.read(_HEAD)[16:24], 0
        heads = []
        while len(head := source.read(_FRAME)) == _FRAME and head[8:16] == salts:
            heads.append(int.from_bytes(head[:4], "big"))
            last = len(heads) if any(head[4:8]) else last
            source.seek(PAGE, os.SEEK_CUR)
        for position, number in enumerate(heads[:last]):
            source.seek(_HEAD + position * (_FRAME + PAGE) + _FRAME)
            target.seek((number - 1) * PAGE)
            target.write(source.read(PAGE))
        target.flush()
        os.fsync(target.fileno())
    log.unlink()


def rows(path: Path) -> Iterator[tuple[Any, ...]]:
    """Return the values of whatever looks like the row of a table; the caller knows which of them are true.

    Args:
        path: The file, of pages of `PAGE` bytes, with no log beside it.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        for number in range(-(-size // PAGE)):
            page = _page(file, number)
            for place in _places(page, 100 if number == 0 else 0):
                try:
                    yield _values(_payload(file, page, place, size))
                except (IndexError, ValueError):
                    continue


def _page(file: BinaryIO, number: int) -> bytes:
    """Return a page, counted from 0."""
    file.seek(number * PAGE)
    return file.read(PAGE)


def _places(page: bytes, start: int) -> Iterator[int]:
    """Give where the rows of a leaf begin. Its kind or its count may be damaged: pointers are read up to the rows."""
    count, first, at = int.from_bytes(page[start + 3 : start + 5], "big"), len(page), start + 8
    if page[start] != _LEAF and not _is_coherent(page, start, count):
        return
    while at + 1 < first:
        place = int.from_bytes(page[at : at + 2], "big")
        if not place and at >= start + 8 + 2 * count:
            return
        at += 2
        if at <= place < len(page):
            first = min(first, place)
            yield place


def _is_coherent(page: bytes, start: int, count: int) -> bool:
    """Tell whether the first of the rows that a page counts begins where the page says that its rows begin."""
    pointers = page[start + 8 : start + 8 + 2 * count]
    places = [int.from_bytes(pointers[at : at + 2], "big") for at in range(0, len(pointers), 2)]
    return bool(places) and min(places) == int.from_bytes(page[start + 5 : start + 7], "big")


def _payload(file: BinaryIO, page: bytes, at: int, size: int) -> bytes:
    """Return the bytes of the row that begins at a place, with those of the pages that it overflows to."""
    length, at = _varint(page, at)
    _, at = _varint(page, at)
    if length > size:
        raise ValueError(length)
    if length <= _MOST:
        return page[at : at + length]
    local = _LEAST + (length - _LEAST) % (PAGE - 4)
    local = local if local <= _MOST else _LEAST
    parts, rest = [page[at : at + local]], length - local
    following = page[at + local : at + local + 4]
    while rest > 0 and any(following):
        number = int.from_bytes(following, "big")
        if number > size // PAGE:
            raise ValueError(number)
        more = _page(file, number - 1)
        parts.append(more[4 : 4 + rest])
        rest, following = rest - (PAGE - 4), more[:4]
    return b"".join(parts)


def _values(payload: bytes) -> tuple[Any, ...]:
    end, at = _varint(payload, 0)
    kinds, values = [], []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    for kind in kinds:
        width = (kind - 12) // 2 if kind >= 12 else _WIDTHS[kind] if kind in _WIDTHS else len(payload) + 1
        data = payload[at : at + width]
        if len(data) < width:
            raise ValueError(width)
        at += width
        values.append(_value(kind, data))
    return tuple(values)


def _value(kind: int, data: bytes) -> Any:
    if kind >= 12:
        return data.decode() if kind % 2 else data
    return None if kind == 0 else kind - 8 if kind in (8, 9) else int.from_bytes(data, "big", signed=True)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends: seven bits a byte, the high bit saying that more follow, eight in a ninth."""
    value = 0
    for count in range(8):
        byte = data[at + count]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + count + 1
    return value << 8 | data[at + 8], at + 9
