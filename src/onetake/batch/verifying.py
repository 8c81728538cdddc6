"""Whether an output is still what its input, its job and the store make of it. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, zip_longest
from pathlib import Path
from typing import IO

from onetake.batch.manifest import Digest, Manifest
from onetake.batch.records import Record, Tally
from onetake.batch.resolving import Resolver
from onetake.batch.rows import encode, rows
from onetake.errors import StoreError
from onetake.printable import counted, excerpt


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the manifest, or the output, has it.

    Args:
        what: `input`, `job`, `output`, `row`, `keys` or `store`.
        why: The difference, in one line.
        line: Of a row: its number; else None.
    """

    what: str
    why: str
    line: int | None = None


def verify(
    records: Iterable[Record], tally: Tally, resolver: Resolver, out: Path, manifest: Manifest, job_digest: str
) -> list[Difference]:
    """Make all rows again and compare them with an output, and all digests with its manifest.

    Args:
        records: Of the input, as many as the manifest says.
        tally: Of the same reading.
        resolver: Of the job as it is today.
        out: The output.
        manifest: Its manifest.
        job_digest: Of the job as it is today.

    Returns:
        What differs, causes first; of the rows the first one that does. Empty where nothing does.

    Raises:
        StoreError: The output cannot be read.
    """
    try:
        with out.open("rb") as file:
            again = _Again(resolver, file, keep_input=manifest.keep_input)
            found = list(again.compared(records))
    except OSError as error:
        raise StoreError(f"{out}: cannot be read: {error.strerror or error}") from error
    if job_digest != manifest.job:
        found.insert(0, Difference("job", "it asks something else than the rows were made from"))
    source = Digest(tally.sha256, tally.bytes)
    if source != manifest.input:
        found.insert(0, Difference("input", _other("the input", manifest.input, source)))
    if again.output != manifest.output:
        found.append(Difference("output", _other("the output", manifest.output, again.output)))
    if again.keys not in ("", manifest.keys):
        found.append(Difference("keys", "the rows were made from other replies"))
    return found


class _Again:
    """The rows of an output, made again beside those that are there."""

    def __init__(self, resolver: Resolver, file: IO[bytes], *, keep_input: bool) -> None:
        self._resolver = resolver
        self._file = file
        self._keep_input = keep_input
        self._keys, self._there = sha256(), Tally()
        self.keys = ""
        """Digest of all keys; empty where not all replies could be read."""

    @property
    def output(self) -> Digest:
        """The output as it is, as far as it was read."""
        return Digest(self._there.sha256, self._there.bytes)

    def compared(self, records: Iterable[Record]) -> Iterator[Difference]:
        """Return the first row that differs, or the reply that is damaged; reads both sides to their ends."""
        rest, there, is_same = iter(records), self._lines(), True
        try:
            for number, (wanted, line) in enumerate(zip_longest(self._rows(rest), there), 1):
                if is_same and wanted != line:
                    is_same = False
                    yield Difference("row", _difference(line, wanted), number)
            self.keys = self._keys.hexdigest()
        except StoreError as error:
            yield Difference("store", str(error))
            for _ in chain(rest, there):  # no row is compared any more, but the digests are of everything
                pass

    def _rows(self, records: Iterator[Record]) -> Iterator[bytes]:
        for record, row in rows(records, self._resolver):
            for key in row.keys:
                self._keys.update(f"{key}\n".encode())
            yield encode(record, row, keep_input=self._keep_input)

    def _lines(self) -> Iterator[bytes]:
        for line in self._file:
            self._there.add(line)
            yield line


def _difference(line: bytes | None, wanted: bytes | None) -> str:
    if line is None:
        return "the output ends before it"
    if wanted is None:
        return "the input has no record for it"
    if not line.endswith(b"\n"):
        return "the output ends within it"
    is_, was = excerpt(line.decode("utf-8", "replace").rstrip("\n"), wanted.decode().rstrip("\n"))
    return f"the output has {is_}, and the store gives {was}"


def _other(what: str, was: Digest, now: Digest) -> str:
    if was.bytes != now.bytes:
        return f"{what} has {counted(now.bytes, 'byte')}, and had {was.bytes:,}"
    return f"{what} has other bytes, SHA-256 {now.sha256[:12]}…, and had {was.sha256[:12]}…"
