"""What entries said before they were recorded again, as far as git has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path

from onetake import git
from onetake.cassette_files import is_one_file
from onetake.errors import FormatError, StoreError
from onetake.format import load_entry
from onetake.format.sidecar import Side
from onetake.model import Entry
from onetake.stores import Store, open_store
from onetake.stores.naming import is_side
from onetake.upkeep.commits import Commits

_NAMED = 200
"""Files that git is asked for by name; where there are more, it is asked for all of their folder."""


def earlier(folder: Path, paths: Iterable[Path]) -> Mapping[Path, list[Entry]]:
    """Return the versions that git has of the entries in some files of a cassette.

    Args:
        folder: The cassette's.
        paths: The files, in it.

    Returns:
        By the files, newest first, with the one that is there today where it is committed. Of one that git does not
        know, or that cannot be read, there are none; nor where there is no git.
    """
    named = {path.name: path for path in paths}
    if not named or is_one_file(folder):
        return {}
    commits = Commits(folder.absolute())
    bases = list(named) if len(named) <= _NAMED else ["."]
    changes = [change for change in commits.changes(bases) if change.name in named]
    contents = commits.contents([change.new for change in changes])
    found: dict[Path, list[Entry]] = {}
    with closing(open_store(folder)) as store:
        for change in changes:
            with suppress(FormatError, StoreError):
                if data := contents.get(change.new):
                    entry = load_entry(data, _sides(folder, store, change.commit))
                    found.setdefault(named[change.name], []).append(entry)
    return found


def _sides(folder: Path, store: Store, commit: str) -> Side:
    """Return what reads the sidecars of a commit: those that lie in the cassette no more, git may have."""

    def side(name: str) -> bytes | None:
        found = store.get_side(name) if is_side(name) else None
        is_asked = found is None and is_side(name) and Commits.is_name(commit)
        return git.ask(folder, "cat-file", "blob", f"{commit}:./{name}") if is_asked else found

    return side
