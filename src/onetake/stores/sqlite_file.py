"""One SQLite file for threads, processes and forks: opened when it is first needed, its writes committed in groups."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import quote

from onetake import forking
from onetake.errors import OnetakeError, StoreError
from onetake.quoting import quoted_path
from onetake.stores.files import sync_folder
from onetake.stores.grouping import Group, Job
from onetake.stores.mounts import network_kind
from onetake.stores.pages import PAGE
from onetake.stores.tables import ENTRIES, Tables, looks_like

_CACHED = -32 * 1024
"""What a reader holds of a file at most, in KiB as SQLite takes it: all of the index that finds a million entries."""
_DAMAGE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
"""What SQLite calls damage; the last is what it says to our statements where the file says that it has other tables."""
_PATIENCE_S, _MOMENT_S = 60.0, 0.01
"""Seconds that a writer waits for those of other processes, and between two tries where SQLite does not wait."""

_inherited: list[sqlite3.Connection] = []
"""Connections of the process that forked this one: closed here they would drop its locks, so they stay open."""


class DamagedFileError(StoreError):
    """The file as a whole is damaged, not one row of it: its place, what is wrong, and what to do."""

    def __str__(self) -> str:
        place, wrong, mend = self.args
        return f"{place}: damaged: {wrong}{mend}"


class SqliteFile:
    """A file of tables, shared by any number of threads and processes.

    Args:
        path: Created by the first write, not before.
        place: What messages call it.
        tables: What it is made of.
    """

    def __init__(self, path: Path, place: str, tables: Tables = ENTRIES) -> None:
        self.path = path.absolute()
        self.place = place
        self._tables = tables
        self._reading, self._group = forking.Lock(), Group(self._commit)
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._is_checked = False
        forking.remember(self)

    def renew(self) -> None:
        """Begin anew in a forked child: a connection serves one process, and other threads' writes are not its own."""
        _inherited.extend(one for one in (self._reader, self._writer) if one)
        self._reader = self._writer = None
        self._group.renew()

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, none where there is no file."""
        with self._reading.held:
            try:
                if self._reader is None:
                    self._reader = self._opened_for_reading()
                return [] if self._reader is None else self._reader.execute(sql, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                raise self._error("cannot be read", error) from error

    def check(self) -> None:
        """Have SQLite compare the whole file with its indexes, once: what an index has lost would count as absent.

        For all who take something for absent, or change what an index leads to. It takes 0.2 s for 100,000 entries.

        Raises:
            DamagedFileError: They differ.
        """
        with self._reading.held:
            if not self._is_checked and (wrong := self._wrong(1)):
                raise self._damaged(wrong[0])
            self._is_checked = True

    def damage(self) -> list[str]:
        """Return what is wrong with the file as a whole, a line each; empty where nothing is."""
        try:
            return self._wrong(100)
        except DamagedFileError as error:
            return [error.args[1]]

    def _wrong(self, most: int) -> list[str]:
        return [text for (text,) in self.read(f"PRAGMA integrity_check({most})") if text != "ok"]

    def write(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Do what changes the file, and return what it returns once that is on disk.

        Threads that come while another one commits wait, and are then committed together.

        Args:
            work: Given the connection; inside a transaction that others share, so it must not fail by halves.

        Raises:
            StoreError: It was not written, by no part.
        """
        return self._group.run(work)

    def close(self) -> None:
        """Close the file; another call opens it again."""
        with self._group.leading.held, self._reading.held:
            connections, self._reader, self._writer = (self._reader, self._writer), None, None
            self._is_checked = False
            for connection in filter(None, connections):
                connection.close()

    def _commit(self, jobs: Sequence[Job]) -> None:
        """Do jobs in one transaction. Interrupted, it says of all that they are done, or leaves all undone."""
        is_whole = False
        try:
            connection = self._open_writer()
            connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                job.result = job.work(connection)
            is_whole = True
            connection.execute("COMMIT")
            _mark(jobs)
        except (Exception, OnetakeError) as error:
            self._roll_back()
            failed = error if isinstance(error, StoreError) else self._error("cannot be written", error)
            failed.__cause__ = error.__cause__ if error is failed else error
            for job in jobs:
                job.failed = failed
            _mark(jobs)
            if not isinstance(error, sqlite3.Error | OSError | StoreError):
                raise
        except BaseException:  # the user's Ctrl-C, which may come in between a commit and the word of it
            if is_whole and self._writer is not None and not self._writer.in_transaction:
                _mark(jobs)
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._writer is not None and self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    def _open_writer(self) -> sqlite3.Connection:
        if self._writer is None:
            self._refuse_links()
            if kind := network_kind(self.path):
                raise StoreError(f"{self.place}: cannot be written: it lies on a network file system ({kind}), where"
                                 " SQLite's locks do not hold; keep it on a local disk")  # fmt: skip
            self.path.parent.mkdir(parents=True, exist_ok=True)
            is_new = not self.path.exists()
            connection = self._connected(f"file:{quote(str(self.path))}")
            try:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("PRAGMA secure_delete = ON")  # what is deleted does not come back by a repair
                self._make_tables(connection)
            except BaseException:
                connection.close()
                raise
            if is_new:
                sync_folder(self.path.parent)
            self._writer = connection
        return self._writer

    def _opened_for_reading(self) -> sqlite3.Connection | None:
        self._refuse_links()
        if not self.path.exists() or not self.path.stat().st_size:
            return None
        uri = f"file:{quote(str(self.path))}"
        # Where nothing may be written beside it, SQLite reads a file only if it is told that nobody changes it.
        is_sealed = not os.access(self.path.parent, os.W_OK)
        connection = self._connected(f"{uri}?immutable=1" if is_sealed else f"{uri}?mode=rw")
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute(f"PRAGMA cache_size = {_CACHED}")
            if self._version(connection) == 0:
                connection.close()
                return None
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self, uri: str) -> sqlite3.Connection:
        connection = sqlite3.connect(uri, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False, uri=True)
        connection.text_factory = _text
        return connection

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        connection.execute(f"PRAGMA page_size = {PAGE}")
        _switch_to_wal(connection)
        if version:
            return
        connection.execute("BEGIN IMMEDIATE")
        if not self._version(connection):  # another process may have been faster
            for table in self._tables.made_by:
                connection.execute(table)
            connection.execute(f"PRAGMA application_id = {self._tables.application}")
            connection.execute(f"PRAGMA user_version = {self._tables.version}")
        connection.execute("COMMIT")

    def _version(self, connection: sqlite3.Connection) -> int:
        """Return the version of the tables, 0 where there are none yet; refuse what is not ours, or newer."""
        is_own = not connection.in_transaction
        if is_own:  # what is read here must be of one moment: another process may be making the tables
            connection.execute("BEGIN")
        (application,), (version,) = (
            connection.execute(sql).fetchone() for sql in ("PRAGMA application_id", "PRAGMA user_version")
        )
        tables = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
        if is_own:
            connection.execute("COMMIT")
        is_ours = application == self._tables.application
        if tables and not is_ours and self._tables.made_by[0] not in tables:
            raise StoreError(f"{self.place}: is a database of something else: name another file")
        if is_ours and version > self._tables.version:
            raise StoreError(f"{self.place}: a newer onetake wrote it (format {version}); upgrade onetake")
        is_new = not (tables or version or application)
        if not is_new and not (is_ours and version and tables.issuperset(self._tables.made_by)):
            raise self._damaged("its header or its list of tables is not as it was written")
        return int(version)

    def _refuse_links(self) -> None:
        if self.path.is_symlink():
            raise StoreError(f"{self.place}: is a symbolic link, and none is followed")

    def _damaged(self, why: str) -> DamagedFileError:
        mend = self._tables.mend if looks_like(self.path, self._tables) else ""
        return DamagedFileError(self.place, why, mend.format(quoted_path(self.place)))

    def _error(self, what: str, error: BaseException) -> StoreError:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            return self._damaged(f"it {what}: {error}")
        return StoreError(f"{self.place}: {what}: {getattr(error, 'strerror', None) or error or type(error).__name__}")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Let readers and a writer go on side by side, from now on and for every process.

    Where several make the file at once, SQLite refuses this to all but one without waiting, as each would wait for
    another.
    """
    until = monotonic() + _PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
        sleep(_MOMENT_S)


def _text(data: bytes) -> str:
    """Decode a text, whatever somebody else wrote in its place: what reads it says what is wrong."""
    return data.decode("utf-8", "surrogateescape")


def _mark(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.done = True
