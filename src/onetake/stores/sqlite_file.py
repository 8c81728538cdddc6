"""One SQLite file for threads, processes and forks: opened when it is first needed, its writes committed in groups."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from onetake import forking
from onetake.errors import StoreError
from onetake.stores.files import sync_folder

FORMAT = 1
"""The version of the tables of entries, in the file's `user_version`. 1: the first."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What a file is made of.

    Args:
        application: What the file's header says that it is.
        version: Of the tables; a file with a higher one is refused.
        made_by: The statements that make them.
    """

    application: int
    version: int
    made_by: tuple[str, ...]


ENTRIES = Tables(
    0x6F6E6574,  # `onet`
    FORMAT,
    (
        "CREATE TABLE entry (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, ordinal INTEGER NOT NULL,"
        " label TEXT NOT NULL, codec INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL,"
        " UNIQUE (key, ordinal))",
        "CREATE TABLE side (name TEXT PRIMARY KEY, codec INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL)",
    ),
)
"""The tables of a store."""
_PAGE = 8192
_CACHED = -32 * 1024
"""What a reader holds of a file at most, in KiB as SQLite takes it: all of the index that finds a million entries."""
_PATIENCE_S = 60.0
"""Seconds that a writer waits for those of other processes."""
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "fuse.sshfs"})
_MOUNTS = Path("/proc/self/mountinfo")

_inherited: list[sqlite3.Connection] = []
"""Connections of the process that forked this one: closed here they would drop its locks, so they stay open."""


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
        self._reading, self._writing, self._queue = forking.Lock(), forking.Lock(), forking.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._waiting: list[_Job] = []
        self._led = False
        forking.remember(self)

    def renew(self) -> None:
        """Begin anew in a forked child: a connection serves one process, and other threads' writes are not its own."""
        _inherited.extend(one for one in (self._reader, self._writer) if one)
        self._reader = self._writer = None
        self._waiting, self._led = [], False

    def read(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, none where there is no file."""
        with self._reading.held:
            try:
                if self._reader is None:
                    self._reader = self._opened_for_reading()
                return [] if self._reader is None else self._reader.execute(sql, values).fetchall()
            except (sqlite3.Error, OSError) as error:
                raise self._error("cannot be read", error) from error

    def write(self, work: Callable[[sqlite3.Connection], Any]) -> Any:
        """Do what changes the file, and return what it returns once that is on disk.

        Threads that come while another one commits wait, and are then committed together: a commit costs one fsync,
        however many calls are in it.

        Args:
            work: Given the connection; inside a transaction that others share, so it must not fail by halves.

        Raises:
            StoreError: It was not written, by no part.
        """
        job = _Job(work)
        with self._queue.held:
            self._waiting.append(job)
            leads, self._led = not self._led, True
        if not leads:
            self._wait(job)
        if not job.done:  # it leads: whoever led before it has committed what came before this
            with self._writing.held:
                with self._queue.held:
                    jobs, self._waiting = self._waiting, []
                try:
                    self._commit(jobs)
                finally:
                    self._hand_over()
                    for one in jobs:
                        one.turn.release()
        if job.failed is not None:
            raise job.failed
        return job.result

    def close(self) -> None:
        """Close the file; another call opens it again."""
        with self._writing.held, self._reading.held:
            connections, self._reader, self._writer = (self._reader, self._writer), None, None
            for connection in filter(None, connections):
                connection.close()

    def _wait(self, job: _Job) -> None:
        """Wait until a write is done, or its thread is the one that commits for all that wait."""
        try:
            job.turn.acquire()
        except BaseException:  # the user's Ctrl-C: nobody may wait for a thread that has gone
            with self._queue.held:
                leads = job in self._waiting and job.leads
                if job in self._waiting:
                    self._waiting.remove(job)
            if leads:
                self._hand_over()
            raise

    def _hand_over(self) -> None:
        """Have the first of those that wait commit for all of them."""
        with self._queue.held:
            self._led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].leads = True
                self._waiting[0].turn.release()

    def _commit(self, jobs: list[_Job]) -> None:
        try:
            connection = self._open_writer()
            connection.execute("BEGIN IMMEDIATE")
            try:
                for job in jobs:
                    job.result = job.work(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
        except BaseException as error:
            for job in jobs:
                job.failed = error if isinstance(error, StoreError) else self._error("cannot be written", error)
                job.failed.__cause__ = error.__cause__ if error is job.failed else error
            if not isinstance(error, sqlite3.Error | OSError | StoreError):
                raise
        finally:
            for job in jobs:
                job.done = True

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
        return sqlite3.connect(uri, _PATIENCE_S, isolation_level=None, check_same_thread=False, uri=True)

    def _make_tables(self, connection: sqlite3.Connection) -> None:
        version = self._version(connection)
        connection.execute(f"PRAGMA page_size = {_PAGE}")
        connection.execute("PRAGMA journal_mode = WAL")
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
        (application,), (version,), (tables,) = (
            connection.execute(sql).fetchone()
            for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_master")
        )
        if is_own:
            connection.execute("COMMIT")
        has_tables = bool(tables)
        if has_tables and application != self._tables.application:
            raise StoreError(f"{self.place}: is a database of something else: name another file")
        if version > self._tables.version:
            raise StoreError(f"{self.place}: a newer onetake wrote it (format {version}); upgrade onetake")
        return int(version) if has_tables else 0

    def _refuse_links(self) -> None:
        if self.path.is_symlink():
            raise StoreError(f"{self.place}: is a symbolic link, and none is followed")

    def _error(self, what: str, error: BaseException) -> StoreError:
        return StoreError(f"{self.place}: {what}: {getattr(error, 'strerror', None) or error or type(error).__name__}")


class _Job:
    """One thread's write, and what became of it."""

    __slots__ = ("done", "failed", "leads", "result", "turn", "work")

    def __init__(self, work: Callable[[sqlite3.Connection], Any]) -> None:
        self.work = work
        self.turn = threading.Lock()
        self.turn.acquire()
        self.done = self.leads = False
        self.failed: StoreError | None = None
        self.result: Any = None


def network_kind(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return the kind of network file system that a path lies on, by the system's table of mounts; empty for a disk.

    Source: proc(5), `/proc/pid/mountinfo`: the fifth field is where it is mounted, the first after ` - ` its kind.
    """
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:
        return ""
    found = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = before.split(" ")[4].replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(found[0]):
            found = point, after.split(" ")[0]
    return found[1] if found[1] in _NETWORK else ""
