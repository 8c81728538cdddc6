"""What our SQLite files are made of, and how one is known by its first page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from onetake.stores.pages import PAGE

FORMAT = 1
"""The version of the tables of entries, in the file's `user_version`. 1: the first."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What a file is made of.

    Args:
        application: What the file's header says that it is.
        version: Of the tables; a file with a higher one is refused.
        made_by: The statements that make them.
        mend: What to do where the file is damaged, `{}` being its place; a message ends in it.
    """

    application: int
    version: int
    made_by: tuple[str, ...]
    mend: str = ""


ENTRIES = Tables(
    0x6F6E6574,  # `onet`
    FORMAT,
    (
        "CREATE TABLE entry (id INTEGER PRIMARY KEY, key INTEGER NOT NULL, ordinal INTEGER NOT NULL,"
        " label TEXT NOT NULL, codec INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL,"
        " UNIQUE (key, ordinal))",
        "CREATE TABLE side (name TEXT PRIMARY KEY, codec INTEGER NOT NULL, digest BLOB NOT NULL, body BLOB NOT NULL)",
    ),
    "; `onetake store fsck {} --repair` keeps all of it that is whole",
)
"""The tables of a store."""


def looks_like(path: Path, tables: Tables) -> bool:
    """Tell by a file's first page alone, which may be damaged, whether it is one of these tables.

    Source: SQLite, Database File Format, 1.3: the application is the four bytes from the 68th.
    """
    try:
        with path.open("rb") as file:
            head = file.read(PAGE)
    except OSError:
        return False
    return head[68:72] == tables.application.to_bytes(4, "big") or tables.made_by[0].encode() in head
