"""Whether an output is still what its input, its job and the store make of it. Asks nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, zip_longest
from pathlib import Path
from typing import IO

from onetake.batch.failures import Failure
from onetake.batch.manifest import Digest, Manifest, load_manifest, manifest_path
from onetake.batch.records import Record, Tally
from onetake.batch.resolving import Resolver, Row
from onetake.batch.rows import encode, rows
from onetake.errors import FormatError, StoreError
from onetake.printable import counted, excerpt, one_line

_LONGEST = 200
_NO_KEYS = sha256().hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as the manifest, or the output, has it.

    Args:
        what: `input`, `job`, `output`, `rows`, `failures`, `row`, `keys`, `store` or `manifest`.
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
            found = list(again.compared(records, manifest))
    except OSError as error:
        raise StoreError(f"{out}: cannot be read: {error.strerror or error}") from error
    found[:0] = causes(tally, manifest, job_digest)
    if again.output != manifest.output:
        found.append(Difference("output", _other("the output", manifest.output, again.output)))
    if again.keys:
        found += again.counted(manifest)
    return found


def causes(tally: Tally, manifest: Manifest, job_digest: str) -> list[Difference]:
    """Say what of an input and a job is not as an output's rows were made from.

    Args:
        tally: Of the whole input, as it is today.
        manifest: The output's.
        job_digest: Of the job as it is today.
    """
    found = []
    source = Digest(tally.sha256, tally.bytes)
    if source != manifest.input:
        found.append(Difference("input", _other("the input", manifest.input, source)))
    if job_digest != manifest.job:
        found.append(Difference("job", "it asks something else than the rows were made from"))
    return found


def outdated(out: Path, tally: Tally, job_digest: str) -> list[Difference]:
    """Say why an output is not what its input and its job come to today; empty where it is, or where there is none.

    Args:
        out: The output.
        tally: As for `causes`, like *job_digest*.
    """
    if not (out.exists() and manifest_path(out).exists()):
        return []
    try:
        return causes(tally, load_manifest(out), job_digest)
    except (FormatError, StoreError) as error:
        return [Difference("manifest", str(error))]


class _Again:
    """The rows of an output, made again beside those that are there."""

    def __init__(self, resolver: Resolver, file: IO[bytes], *, keep_input: bool) -> None:
        self._resolver = resolver
        self._file = file
        self._keep_input = keep_input
        self._keys, self._there = sha256(), Tally()
        self._is_same = True
        self._last: Row | None = None
        self._rows_made, self._failures = 0, Counter[str]()
        self.keys = ""
        """Digest of all keys; empty where not all replies could be read."""

    @property
    def output(self) -> Digest:
        """The output as it is, as far as it was read."""
        return Digest(self._there.sha256, self._there.bytes)

    def counted(self, manifest: Manifest) -> Iterator[Difference]:
        """Return in what a manifest differs from the rows, all made anew; their numbers where the rows are alike."""
        if manifest.keys != self.keys:
            yield Difference("keys", "the rows were made from other replies")
        if not self._is_same:
            return
        if manifest.rows != self._rows_made:
            said = one_line(str(manifest.rows), _LONGEST)
            yield Difference("rows", f"the manifest says {said}, and there are {self._rows_made:,}")
        if manifest.failures != self._failures:
            was, is_ = (_classes(found) for found in (manifest.failures, self._failures))
            yield Difference("failures", f"the manifest says {was}, and there are {is_}")

    def compared(self, records: Iterable[Record], manifest: Manifest) -> Iterator[Difference]:
        """Return the first row that differs, or the reply that is damaged; reads both sides to their ends."""
        rest, there = iter(records), self._lines()
        try:
            if manifest.keys != _NO_KEYS and next(iter(self._resolver.store.names()), None) is None:
                place = self._resolver.store.place
                raise StoreError(
                    f"{place}: no reply is there, and the rows were made from some: is it the right store?"
                )
            for number, (wanted, line) in enumerate(zip_longest(self._rows(rest), there), 1):
                if self._is_same and wanted != line:
                    self._is_same = False
                    yield Difference("row", _difference(line, wanted, self._last), number)
            self.keys = self._keys.hexdigest()
        except StoreError as error:
            yield Difference("store", str(error))
            for _ in chain(rest, there):  # no row is compared any more, but the digests are of everything
                pass

    def _rows(self, records: Iterator[Record]) -> Iterator[bytes]:
        for record, row in rows(records, self._resolver):
            for key in row.keys:
                self._keys.update(f"{key}\n".encode())
            self._last = row
            self._rows_made += 1
            if row.failure is not None:
                self._failures[str(row.failure)] += 1
            yield encode(record, row, keep_input=self._keep_input)

    def _lines(self) -> Iterator[bytes]:
        for line in self._file:
            self._there.add(line)
            yield line


def _difference(line: bytes | None, wanted: bytes | None, row: Row | None) -> str:
    if line is None:
        return "the output ends before it"
    if wanted is None:
        return "the input has no record for it"
    if not line.endswith(b"\n"):
        return "the output ends within it"
    if row is not None and row.failure is Failure.GAVE_UP:
        return f"the output has {one_line(line.decode('utf-8', 'replace').rstrip())}, and {row.message}"
    is_, was = excerpt(line.decode("utf-8", "replace").rstrip("\n"), wanted.decode().rstrip("\n"))
    return f"the output has {is_}, and the store gives {was}"


def _classes(failures: Mapping[str, int]) -> str:
    said = ", ".join(f"{number} {name}" for name, number in sorted(failures.items()))
    return one_line(said, _LONGEST) or "none"


def _other(what: str, was: Digest, now: Digest) -> str:
    if was.bytes != now.bytes:
        return f"{what} has {counted(now.bytes, 'byte')}, and had {was.bytes:,}"
    return f"{what} has other bytes, SHA-256 {now.sha256[:12]}…, and had {was.sha256[:12]}…"
