"""What puts one thing of `onetake` wrong, in a process of its own. A proof that lets one pass proves nothing."""

from __future__ import annotations

import re
import time
from collections import Counter

from onetake.batch import rows, running
from onetake.key import Keyer
from onetake.stores import files, sqlite_file
from onetake.stores.sqlite import SqliteStore


def no_fsync():
    """Nothing is forced to the disk."""
    made = sqlite_file.SqliteFile._make_tables

    def make(self, connection):
        made(self, connection)
        connection.execute("PRAGMA synchronous = OFF")

    sqlite_file.SqliteFile._make_tables = make
    files.sync = lambda file: file.flush()
    files.sync_folder = lambda folder: None


def early():
    """A reply counts before it is committed: many are written together."""
    waiting, add_all, get, ordinals = {}, SqliteStore.add_all, SqliteStore.get, SqliteStore.ordinals

    def later(self, made):
        waiting.update({(key, ordinal): (data, label) for key, ordinal, data, label in made})
        if len(waiting) >= 64:
            add_all(self, [(*place, *waiting.pop(place)) for place in list(waiting)])

    SqliteStore.add_all = later
    SqliteStore.get = lambda self, key, ordinal: waiting.get((key, ordinal), [None])[0] or get(self, key, ordinal)
    SqliteStore.ordinals = lambda self, key: {0} if (key, 0) in waiting else ordinals(self, key)


def field():
    """A member of the body is no part of the key."""
    text = Keyer.text
    Keyer.text = lambda self, *given: re.sub('"temperature":[^,}]+,?', "", text(self, *given))


def append():
    """The output is a log that rows are appended to."""

    def publish(records, resolver, partial, made, needs):
        with partial.out.open("ab") as partial._file:
            for record, row in rows.rows(records, resolver):
                partial.add(record, row)
        return rows.Published(partial.rows, Counter(), partial.manifest(made))

    running.publish = publish


def clock():
    """A row says when it was written."""
    encode = rows.encode
    rows.encode = lambda record, row, **more: encode(record, row, **more)[:-2] + f',"at":{time.time()}}}\n'.encode()


MUTANTS = {made.__name__: made for made in (no_fsync, early, field, append, clock)}
