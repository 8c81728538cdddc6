"""The output: a row for each record, in the order of the input, published whole or not at all.

It is made anew from the input, the job and the store each time, and never appended to, never read back.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetake.batch.manifest import Digest, Manifest, from_folder, manifest_path
from onetake.batch.places import anew, beside, check_output
from onetake.batch.records import Form, Record, Tally
from onetake.batch.resolving import Needed, Resolver, Row
from onetake.batch.roots import Needs
from onetake.errors import StoreError
from onetake.format.jsonstyle import spelled, style
from onetake.stores import files
from onetake.strictjson import has_number

_spell = style("compact").spell
_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
"""What other readers of lines take for the end of one; JSON may have them raw, and as escapes."""


@dataclass(frozen=True, slots=True)
class Made:
    """What an output is made from, besides the records themselves.

    Args:
        input: The input's file; None for standard input.
        form: What it is made of.
        tally: Of the same reading that gives the records.
        job: The job's file; None for one that Python code made.
        job_digest: `Job.digest`.
        store: Where the replies are.
        repairs: How often a bad answer was followed by another question at most.
        limit: How many records are read at most; None for all.
    """

    input: Path | None
    form: Form
    tally: Tally
    job: Path | None
    job_digest: str
    store: Path
    repairs: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """An output that is there, whole.

    Args:
        rows: How many.
        failures: Rows without an answer, by class.
        manifest: What lies beside it.
    """

    rows: int
    failures: Mapping[str, int]
    manifest: Manifest


class Partial:
    """`OUT.partial`, the rows on their way: made anew by each run, to be looked at meanwhile, never read back.

    Within a `with`, which ends with the file gone: it has its final name then, or is not worth keeping.

    Args:
        out: The output.
        keep_input: Whether rows hold their records.

    Raises:
        UsageError: *out* is no place for an output.
        StoreError: It cannot be written.
    """

    def __init__(self, out: Path, *, keep_input: bool = False) -> None:
        check_output(out)
        self.out = out
        self._keep_input = keep_input
        with _told(out):
            self._file = anew(beside(out))
        self._count()

    def __enter__(self) -> Partial:
        return self

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            files.remove(beside(self.out))

    def begin(self) -> None:
        """Go back to the first row; what is there stays until other rows take its place, as somebody may look at it."""
        self._file.seek(0)
        self._count()

    def add(self, record: Record, row: Row) -> None:
        """Write a row, count it and digest it."""
        line = encode(record, row, keep_input=self._keep_input)
        self._file.write(line)
        self._output.update(line)
        self._bytes += len(line)
        self.rows += 1
        for key in row.keys:
            self._keys.update(f"{key}\n".encode())
        if row.failure is not None:
            self.failures[str(row.failure)] += 1

    def flush(self) -> None:
        """Let those who look at it see the rows so far."""
        self._file.flush()

    def end(self) -> None:
        """Have the rows on disk, and none behind them."""
        self._file.truncate()
        files.sync(self._file)
        self._file.close()  # an open file has no new name on Windows

    def manifest(self, made: Made) -> Manifest:
        """Return what lies beside the rows."""
        folder = self.out.absolute().parent
        return Manifest(
            rows=self.rows,
            failures=dict(sorted(self.failures.items())),
            input_path="-" if made.input is None else from_folder(made.input, folder),
            input=Digest(made.tally.sha256, made.tally.bytes),
            form=made.form,
            limit=made.limit,
            job_path="" if made.job is None else from_folder(made.job, folder),
            job=made.job_digest,
            repairs=made.repairs,
            store=from_folder(made.store, folder),
            keep_input=self._keep_input,
            keys=self._keys.hexdigest(),
            output=Digest(self._output.hexdigest(), self._bytes),
        )

    def _count(self) -> None:
        self.rows = self._bytes = 0
        """Rows so far."""
        self.failures = Counter[str]()
        """Of these, those without an answer, by class."""
        self._output, self._keys = sha256(), sha256()


def publish(records: Iterable[Record], resolver: Resolver, partial: Partial, made: Made, needs: Needs) -> Published:
    """Write the rows of all records and the manifest, and only then give both their names.

    A record whose reply never came gets a row that says so. The manifest gets its name first: whoever finds a new
    output finds its manifest, too. A kill between the two leaves an old output under a new manifest: `verify` names
    it, and the next run mends it without a call.

    Args:
        records: From the input's start.
        resolver: Of the job.
        partial: Of the output; what an earlier run published there is replaced.
        made: What the manifest says.
        needs: Lists the keys of all replies; the list is on disk before the output has its name.

    Raises:
        UsageError: The input is none.
        StoreError: A reply is damaged, or something cannot be read or written; what was published before still stands.
    """
    out, sheet = partial.out, manifest_path(partial.out)
    try:
        with _told(out), needs:
            partial.begin()
            for record, row in rows(records, resolver):
                partial.add(record, row)
                needs.add(row.keys)
            partial.end()
            manifest = partial.manifest(made)
            needs.keep(manifest.keys)
            with anew(beside(sheet)) as file:
                file.write(manifest.dump())
                files.sync(file)
            for path in (sheet, out):
                beside(path).replace(path)
                files.sync_folder(path.absolute().parent)
    finally:
        with suppress(OSError):
            files.remove(beside(sheet))
    return Published(manifest.rows, manifest.failures, manifest)


def rows(records: Iterable[Record], resolver: Resolver) -> Iterator[tuple[Record, Row]]:
    """Return each record with its row, in the order of the input. Asks nobody.

    Raises:
        StoreError: A reply is damaged: it was paid for, and is not taken for one that never came.
    """
    for record in resolver.ahead(records):
        found = resolver.resolve(record)
        yield record, resolver.gave_up(found) if isinstance(found, Needed) else found


def encode(record: Record, row: Row, *, keep_input: bool = False) -> bytes:
    """Write a row: a line of compact JSON in UTF-8, LF at its end.

    Args:
        record: What it is of.
        row: What became of it.
        keep_input: Whether it holds the record too.
    """
    tree: dict[str, Any] = {"line": row.line}
    if keep_input and record.data is not None:
        tree["input"] = spelled(record.data) if has_number(record.data) else record.data
    if row.failure is None:
        tree["answer"] = row.answer
    else:
        at = {} if row.offset is None else {"offset": row.offset}
        tree["error"] = {"class": str(row.failure), "message": row.message, **at}
    try:
        line = _spell(tree)
    except ValueError:  # a number beyond every float, which JSON has and its encoder has not
        line = _spell(spelled(tree))
    return (line if line.isascii() else _on_one_line(line)) + b"\n"


@contextmanager
def _told(out: Path) -> Iterator[None]:
    """Say of what cannot be written that it is of an output."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{out}: cannot be written: {error.strerror or error}") from error


def _on_one_line(line: bytes) -> bytes:
    return _LINE_ENDS.sub(lambda found: f"\\u{ord(found[0]):04x}", line.decode()).encode()
