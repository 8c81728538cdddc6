"""Which files are stores: a folder of a project may hold databases of others, whose names end in the same way.

One that was a store stays one, whatever has become of it: what is destroyed is never taken for absent.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from onetake.stores.tables import ENTRIES, looks_like

_HEAD = 1 << 16
_MARK = ENTRIES.made_by[0].encode()


def is_store(path: Path) -> bool:
    """Tell whether a file is a store of entries, also where it is damaged; nothing is written beside it.

    Args:
        path: Any path; the name of a store ends in `.db`, which is not looked at here.
    """
    if path.is_symlink() or not path.is_file():
        return False
    # The tables of a store whose first writer was killed are in its log alone.
    return _says_so(path) or _MARK in _head(path.with_name(f"{path.name}-wal")) or _was_used(path)


def _was_used(path: Path) -> bool:
    """Tell whether sessions or batches of onetake have left what they leave beside a store of this name."""
    beside = path.resolve().parent / ".onetake"
    left = beside / "using" / f"{path.name}.lock", beside / "batch" / f"{path.name}.intents.db"
    return path.stat().st_size > 0 and any(file.is_file() for file in left)


def _says_so(path: Path) -> bool:
    # A file that SQLite has open is never opened besides: to close it would drop the locks of the whole process.
    uri = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as file:
            (application,) = file.execute("PRAGMA application_id").fetchone()
            tables = file.execute("SELECT sql FROM sqlite_master").fetchall()
    except sqlite3.Error:
        return looks_like(path, ENTRIES)
    return application == ENTRIES.application or (ENTRIES.made_by[0],) in tables


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""
