"""The records of an input: one for each line of JSONL or text, or row of CSV, the bad ones too."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from itertools import dropwhile
from pathlib import Path
from typing import IO, Any

from onetake import strictjson
from onetake.errors import UsageError
from onetake.printable import counted


class Form(StrEnum):
    """What an input is made of."""

    JSONL = "jsonl"
    TEXT = "text"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class Record:
    """One line of an input.

    Args:
        line: Its number, from 1; of a CSV its row, from 1 behind the header.
        offset: Where it begins, in bytes from the start of the input.
        data: Its fields; None for a line that is none.
        why: Why it is none; else empty.
    """

    line: int
    offset: int
    data: Mapping[str, Any] | None
    why: str = ""


_START = Record(1, 0, None)


class Tally:
    """What was read of an input so far: of these bytes, and no others, are the records that came of it."""

    def __init__(self) -> None:
        self._digest = sha256()
        self.bytes = 0

    @property
    def sha256(self) -> str:
        """64 lower-case hex digits."""
        return self._digest.hexdigest()

    def add(self, data: bytes) -> None:
        """Note what was read."""
        self._digest.update(data)
        self.bytes += len(data)


def form_of(path: Path) -> Form:
    """Return what an input's name says that it is made of: `.csv`, `.txt` and `.log`; all else is JSONL."""
    return {".csv": Form.CSV, ".txt": Form.TEXT, ".log": Form.TEXT}.get(path.suffix.lower(), Form.JSONL)


def read(file: IO[bytes], form: Form, tally: Tally | None = None, first: Record | None = None) -> Iterator[Record]:
    """Read an input, a record at a time.

    Lines end at LF alone: what Unicode counts as a line's end may stand in a value. A carriage return before it is part
    of the end, and so is a byte order mark of the start.

    Args:
        file: The input, opened for bytes.
        form: What it is made of.
        tally: Is told what was read, line by line: no more than the records that were taken need.
        first: The record to begin with, of an earlier reading; the first one where left out.

    Raises:
        UsageError: A CSV has no header, or one that names a field twice.
    """
    start = first or _START
    is_csv = form is Form.CSV
    file.seek(0 if is_csv else start.offset)
    lines = _lines(file if tally is None else _tallied(file, tally), 0 if is_csv else start.offset)
    if is_csv:  # whose fields only its first line names
        yield from dropwhile(lambda record: record.line < start.line, _rows(lines))
        return
    for number, (offset, line) in enumerate(lines, start.line):
        if form is Form.TEXT:
            yield _text(number, offset, line)
        else:
            yield _object(number, offset, line)


def _tallied(file: IO[bytes], tally: Tally) -> Iterator[bytes]:
    for line in file:
        tally.add(line)
        yield line


def _lines(file: Iterable[bytes], offset: int) -> Iterator[tuple[int, bytes]]:
    """Return offset and bytes of each line, its end left out, from an offset."""
    for line in file:
        start = 3 if offset == 0 and line.startswith(b"\xef\xbb\xbf") else 0
        yield offset, line[start:].removesuffix(b"\n").removesuffix(b"\r")
        offset += len(line)


def _object(number: int, offset: int, line: bytes) -> Record:
    if not line.strip():
        return Record(number, offset, None, "the line is blank")
    try:
        found = strictjson.loads_exact(line)
    except strictjson.NotStrictError as error:
        return Record(number, offset, None, _fault(error))
    if not isinstance(found, dict):
        return Record(number, offset, None, f"no JSON object, but {_kind(found)}")
    return Record(number, offset, found)


def _text(number: int, offset: int, line: bytes) -> Record:
    if not line.strip():
        return Record(number, offset, None, "the line is blank")
    try:
        return Record(number, offset, {"line": line.decode()})
    except UnicodeDecodeError as error:
        return Record(number, offset, None, _no_utf8(error))


def _rows(lines: Iterator[tuple[int, bytes]]) -> Iterator[Record]:
    """Read CSV as RFC 4180 has it: a row may go over several lines, inside quotes."""
    header: list[str] | None = None
    number = 0
    for offset, line in lines:
        row = _Row()
        if not row.take(line) and not any(row.take(more) for _, more in lines):
            row.end()
        if header is None:
            header = _header(row.fields, row.said())
            continue
        number += 1
        why = row.said(len(header))
        yield Record(number, offset, None if why else dict(zip(header, row.fields, strict=True)), why)


class _Row:
    """A row of a CSV, taken line by line. One that is wrong goes on to where it would end, so that none of it is taken
    for another row.
    """

    def __init__(self) -> None:
        self.fields: list[str] = []
        self._quoted: list[str] | None = None
        """What came so far of a field in quotes; None outside."""
        self._lines = 0
        self._why = ""

    def take(self, line: bytes) -> bool:
        """Take the next line; False where the row goes on behind it."""
        self._lines += 1
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            self._wrong(_no_utf8(error))
            text = line.decode("utf-8", "replace")
        if self._quoted is None and '"' not in text and "\r" not in text:
            self.fields = text.split(",") if text else []
            return True
        return self._take(text)

    def end(self) -> None:
        """End where the input ends inside quotes."""
        self._wrong("no CSV: a quote is opened and never closed")

    def said(self, fields: int | None = None) -> str:
        """Say why this is no row; empty where it is one.

        Args:
            fields: How many it must have; None for any number.
        """
        why = self._why or ("" if fields is None else _misfit(self.fields, fields))
        return f"{why}; the row takes {self._lines:,} lines" if why and self._lines > 1 else why

    def _take(self, text: str) -> bool:
        at: int | None = 0
        while at is not None:
            if self._quoted is None and text[at : at + 1] == '"':
                self._quoted, at = [], at + 1
            at = self._take_plain(text, at) if self._quoted is None else self._take_quoted(text, at, self._quoted)
        return self._quoted is None

    def _take_plain(self, text: str, at: int) -> int | None:
        """Take a field without quotes; return where the next one begins, None behind the last."""
        comma = text.find(",", at)
        self.fields.append(text[at:] if comma < 0 else text[at:comma])
        if "\r" in self.fields[-1]:
            self._wrong("no CSV: a carriage return outside quotes")
        return None if comma < 0 else comma + 1

    def _take_quoted(self, text: str, at: int, before: list[str]) -> int | None:
        """Take what a field in quotes has on a line, up to its end or a doubled quote; return as `_take_plain` does."""
        end = text.find('"', at)
        if end < 0:
            before.append(text[at:] + "\n")
            return None
        if text[end + 1 : end + 2] == '"':
            before.append(text[at : end + 1])
            return end + 2
        self.fields.append("".join(before) + text[at:end])
        self._quoted = None
        comma = text.find(",", end + 1)
        if comma != end + 1 and end + 1 != len(text):
            self._wrong("no CSV: a quoted field goes on behind its quote")
        return None if comma < 0 else comma + 1

    def _wrong(self, why: str) -> None:
        self._why = self._why or why


def _header(row: list[str], why: str) -> list[str]:
    if why or not row:
        raise UsageError(f"the CSV has no header: {why or 'its first line is blank'}")
    if twice := next((name for name in row if row.count(name) > 1), None):
        raise UsageError(f"the CSV's header names {twice!r} twice")
    return row


def _misfit(row: list[str], fields: int) -> str:
    if not row:
        return "the line is blank"
    return "" if len(row) == fields else f"{counted(len(row), 'field')}, and the header has {fields}"


def _fault(error: strictjson.NotStrictError) -> str:
    """Say what is wrong with a line; a row holds it, so it is not in the words of this Python's parser."""
    found = error.__context__
    if isinstance(found, UnicodeDecodeError):
        return _no_utf8(found)
    if isinstance(found, json.JSONDecodeError):
        return f"no JSON: wrong at character {_place(found.doc, found.pos) + 1} of the line"
    return f"no JSON: {'a number of too many digits' if isinstance(found, ValueError) else error}"


def _place(text: str, place: int) -> int:
    """Return where a text stops being JSON; at a comma with nothing behind it that is the comma, in every Python."""
    before = text[:place].rstrip()
    return len(before) - 1 if before.endswith(",") and text[place : place + 1] in ("}", "]") else place


def _no_utf8(error: UnicodeDecodeError) -> str:
    return f"no UTF-8: byte {error.start} of the line is 0x{error.object[error.start]:02x}"


def _kind(value: object) -> str:
    kinds: dict[type, str] = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
