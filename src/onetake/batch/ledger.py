"""A batch's ledger of intents: what was sent, what came of it and what it cost. No row of an output comes from it.

An intent is on disk before its request is sent. What came of a request is written with the next intent, so that it
costs no commit of its own: never more of it is missing after `kill -9` than there were calls in flight.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from onetake import forking
from onetake.batch import settling
from onetake.batch.attempts import NOTHING, Intent, Run, Settled, Spent, State, Totals
from onetake.claims import Claims
from onetake.errors import StoreError
from onetake.stores.sqlite_file import DamagedFileError, SqliteFile
from onetake.stores.tables import Tables

__all__ = ["Intent", "Ledger", "Run", "Settled", "Spent", "State", "Totals"]

FORMAT = 1
"""The version of the tables. 1: the first."""

_TABLES = Tables(
    0x6F6E746C,  # `ontl`
    FORMAT,
    (
        "CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT, began REAL NOT NULL, ended REAL,"
        " job_digest TEXT NOT NULL, input_digest TEXT NOT NULL, job_file TEXT NOT NULL, input_file TEXT NOT NULL,"
        " output_file TEXT NOT NULL, store TEXT NOT NULL, why TEXT NOT NULL, exit_code INTEGER)",
        "CREATE TABLE attempt (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, key BLOB NOT NULL, line INTEGER NOT NULL,"
        " at REAL NOT NULL, state INTEGER NOT NULL, class TEXT, status INTEGER, input INTEGER, output INTEGER,"
        " cost INTEGER)",
        "CREATE INDEX unsettled ON attempt (run) WHERE state < 2",
    ),
)
_PART = 1 << 31
"""Sums are made of two parts of each number, as SQLite's own fails beyond 64 bits."""


class Ledger:
    """The ledger of the batches of one folder; any number of runs may write to it at once.

    Args:
        path: Its file; made by the first run.
        place: What messages call it; the path as given where left out.
        clock: Tells the time, in seconds since 1970.
    """

    def __init__(self, path: Path, place: str | None = None, clock: Callable[[], float] = time.time) -> None:
        self._place = str(path) if place is None else place
        self._file = SqliteFile(path, self._place, _TABLES)
        self._alive = Claims(path.with_name(f"{path.stem}.lock"))
        self._clock = clock
        self._noting = forking.Lock()
        self._notes: list[tuple[str, tuple[Any, ...]]] = []
        self._run = 0

    def begin_run(
        self,
        job_digest: str,
        input_digest: str,
        *,
        job_file: str = "",
        input_file: str = "",
        output_file: str = "",
        store: str = "",
    ) -> int:
        """Begin a run and return its number; it counts as under way until `end_run`, or the process is gone.

        Args:
            job_digest: See `Run`, as all that follow.

        Raises:
            StoreError: The ledger cannot be written.
        """
        row = (self._clock(), job_digest, input_digest, job_file, input_file, output_file, store)

        claimed: list[str] = []

        def begin(connection: sqlite3.Connection) -> int:
            sql = (
                "INSERT INTO run (began, job_digest, input_digest, job_file, input_file, output_file, store, why)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, '')"
            )
            number = int(connection.execute(sql, row).lastrowid or 0)
            if str(number) not in claimed and not self._alive.take(str(number)):
                raise StoreError(f"{self._place}: run {number} is held by another process")
            claimed.append(str(number))
            return number

        try:
            self._run = self._write(begin)
        except BaseException:  # it was not written, and the next run gets its number
            for name in claimed:
                self._alive.free(name)
            raise
        return self._run

    def end_run(self, why: str, exit_code: int) -> None:
        """Write down how the run ended, and all that is not on disk yet.

        Args:
            why: Why it stopped before its end; else empty.
            exit_code: What it ends with.
        """
        sql = "UPDATE run SET ended = ?, why = ?, exit_code = ? WHERE id = ?"
        self._note(sql, self._clock(), why, exit_code, self._run)
        try:
            self.flush()
        finally:
            self._alive.free(str(self._run))

    def intend(self, asked: Sequence[tuple[str, int]]) -> list[int]:
        """Write down that requests are about to be sent; returns when that is on disk.

        Args:
            asked: The key of each, 64 hex digits, and its record's number.

        Returns:
            The attempt's number of each, for `sent` and `done`.

        Raises:
            StoreError: They are not on disk, so nothing may be sent.
        """
        now = self._clock()
        rows = [(self._run, bytes.fromhex(key), line, now, State.OPEN) for key, line in asked]
        sql = "INSERT INTO attempt (run, key, line, at, state) VALUES (?, ?, ?, ?, ?)"

        def intend(connection: sqlite3.Connection) -> list[int]:
            return [int(connection.execute(sql, row).lastrowid or 0) for row in rows]

        numbers: list[int] = self._write(intend)
        return numbers

    def sent(self, attempt: int, word: str, *, status: int | None = None, spent: Spent = NOTHING) -> None:
        """Note what came of a request, before its reply is judged or stored. Does not touch the disk.

        Args:
            attempt: Its number.
            word: The class of what came: one word.
            status: Of the response; None where none came.
            spent: What it took.
        """
        # It may be written behind `done`, which another thread noted later and wrote first.
        sql = "UPDATE attempt SET state = max(state, ?), class = ?, status = ?, input = ?, output = ?, cost = ?"
        self._note(f"{sql} WHERE id = ?", State.ANSWERED, word, status, *settling.columns(spent), attempt)

    def done(self, attempt: int, state: State) -> None:
        """Note that an attempt is over. Does not touch the disk.

        Args:
            attempt: Its number.
            state: How it ended: `STORED`, `UNSTORED` or `LOST`.
        """
        self._note("UPDATE attempt SET state = ? WHERE id = ?", state, attempt)

    def withdraw(self, attempt: int) -> None:
        """Note that a request was not sent after all. Does not touch the disk.

        Args:
            attempt: Its number.
        """
        self._note("DELETE FROM attempt WHERE id = ?", attempt)

    def flush(self) -> None:
        """Write down what was noted.

        Raises:
            StoreError: It cannot be written; it is still noted.
        """
        if self._notes:
            self._write(lambda connection: None)

    def open_intents(self) -> list[Intent]:
        """Return the attempts of killed runs of which nobody knows yet what came."""
        sql = "SELECT id, run, key, line, at, state FROM attempt WHERE state < 2 ORDER BY run, id"
        dead: dict[int, bool] = {}
        found = []
        for number, run, key, line, at, state in self._read(sql):
            if dead.setdefault(run, run != self._run and not self._alive.is_held(str(run))):
                found.append(Intent(number, run, key.hex(), line, at, State(state)))
        return found

    def settle(self, stored: Callable[[str], Spent | None]) -> Settled:
        """Find out what became of the attempts of killed runs, once and for ever. To be called before anything is sent.

        Args:
            stored: Given a key, says what its stored reply took; None where no reply is stored.
        """
        intents = self.open_intents()
        found = {one.key: stored(one.key) for one in intents}

        def settle(connection: sqlite3.Connection) -> Settled:
            taken = settling.stored(connection, found)
            states = []
            for one in reversed(intents):
                spent = None if one.key in taken else found[one.key]
                taken.add(one.key)  # the one reply that is stored came to the last who asked
                states.append(settling.settle(connection, one, spent))
            return Settled(states.count(State.STORED), states.count(State.LOST))

        settled: Settled = self._write(settle) if intents else Settled(0, 0)
        return settled

    def totals(self, run: int | None = None) -> Totals:
        """Add up what is on disk.

        Args:
            run: Of one run; of all where left out.
        """
        where, values = ("", ()) if run is None else (" WHERE run = ?", (run,))
        parts = (f"{name} {part} {_PART}" for name in ("input", "output", "cost") for part in "/%")
        flags = ("cost IS NULL AND (input > 0 OR output > 0)", "state = 2", "state = 4", "state < 2")
        columns = ", ".join(["count(*)", *(f"coalesce(sum({one}), 0)" for one in (*parts, *flags))])
        rows = self._read(f"SELECT {columns} FROM attempt{where}", *values) or [(0,) * 11]
        attempts, *numbers, unpriced, stored, lost, unsettled = rows[0]
        asked, answered, cost = (numbers[at] * _PART + numbers[at + 1] for at in (0, 2, 4))
        by_class = self._read(f"SELECT class, count(*) FROM attempt{where} GROUP BY class ORDER BY class", *values)
        classes = {word: count for word, count in by_class if word is not None}
        dollars = Decimal(cost).scaleb(-settling.PICO)
        return Totals(attempts, stored, lost, unsettled, classes, asked, answered, dollars, unpriced)

    def runs(self) -> list[Run]:
        """Return the runs, the last one first."""
        sql = (
            "SELECT id, began, ended, job_digest, input_digest, job_file, input_file, output_file, store, why,"
            " exit_code FROM run ORDER BY id DESC"
        )
        return [Run(*row) for row in self._read(sql)]

    def asked(self) -> Iterator[tuple[str, str]]:
        """Return what runs have asked, a part at a time: the job's digest and a key, some of them several times."""
        last, of_run = 0, {run.id: run.job_digest for run in self.runs()}
        while rows := self._read("SELECT id, run, key FROM attempt WHERE id > ? ORDER BY id LIMIT 1000", last):
            yield from ((of_run.get(run, ""), key.hex()) for _, run, key in rows)
            last = rows[-1][0]

    def in_vain(self) -> Iterator[str]:
        """Return the keys of attempts that ended, and with no reply to store, a part at a time, some several times."""
        last = 0
        sql = (
            f"SELECT id, key FROM attempt WHERE id > ? AND state IN ({State.UNSTORED:d}, {State.LOST:d})"
            " AND class IS NOT NULL ORDER BY id LIMIT 1000"
        )
        while rows := self._read(sql, last):
            yield from (key.hex() for _, key in rows)
            last = rows[-1][0]

    def is_under_way(self, run: Run) -> bool:
        """Tell whether a run goes on in some process."""
        return run.ended is None and self._alive.is_held(str(run.id))

    def close(self) -> None:
        """Close the file, which is then one file again."""
        self._file.close()

    def _note(self, sql: str, *values: Any) -> None:
        with self._noting.held:
            self._notes.append((sql, values))

    def _read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with _explained():
            return self._file.read(sql, *values)

    def _write(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Write down what was noted, and do one thing more."""
        with self._noting.held:
            notes, self._notes = self._notes, []

        def both(connection: sqlite3.Connection) -> Any:
            for sql, values in notes:
                connection.execute(sql, values)
            return work(connection)

        try:
            with _explained():
                return self._file.write(both)
        except BaseException:
            with self._noting.held:
                self._notes = notes + self._notes
            raise


@contextmanager
def _explained() -> Iterator[None]:
    """Say of a damaged ledger what is lost with it."""
    try:
        yield
    except DamagedFileError as error:
        lost = "it holds what calls cost, and no reply: move it away, and the next run begins another"
        raise StoreError(f"{error}; {lost}") from error
