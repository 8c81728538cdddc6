"""What to do about a finding, in words that can be run or done: only commands that exist."""

from __future__ import annotations

from pathlib import Path

from onetake import explain
from onetake.format.sidecar import REMEDY
from onetake.model import Entry, Mode

RESTORE = REMEDY
UPGRADE = "upgrade onetake: a newer one wrote this"


def record_again(entry: Entry, mode: Mode) -> str:
    """Say how to record an entry again.

    Args:
        entry: The entry; its provenance says who recorded it.
        mode: `new_episodes` replaces what is stale, `all` everything.
    """
    node = _node(entry.provenance.get("test"))
    if node:
        return explain.command(mode, node)
    return f'record it again: `onetake run --mode {mode} -- PROGRAM`, or mode="{mode}" in the code'


def record_missing(entry: Entry) -> str:
    """Say how to record an entry again whose file no mode but `all` replaces."""
    return f"delete the file, then {record_again(entry, Mode.NEW_EPISODES)}"


def show(path: Path) -> str:
    """Return the command that shows an entry."""
    return f"onetake show {_written(path)}"


def diff(path: Path, other: Path) -> str:
    """Return the command that says how two entries differ."""
    return f"onetake diff {_written(path)} {_written(other)}"


def _written(path: Path) -> str:
    """Return a path as a shell takes it, from the current folder where it lies below."""
    full, here = path.absolute(), Path.cwd()
    return explain.quoted((full.relative_to(here) if full.is_relative_to(here) else full).as_posix())


def _node(test: object) -> str:
    """Return what pytest is given to run a test; of a fixture that recorded, the file whose tests use it."""
    if not isinstance(test, str) or "::" not in test:
        return ""
    file, _, name = test.partition("::")
    if "test" in name.lower():
        return test
    folder, _, own = file.rpartition("/")
    return folder if own == "conftest.py" else file
