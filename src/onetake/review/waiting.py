"""What waits or was refused under `.onetake/`, and which cassette it would go into."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from onetake.aside import aside
from onetake.review.change import Change, Kind
from onetake.stores import files
from onetake.stores.naming import SIDE_FOLDERS, folder_name, parse_name
from onetake.upkeep.prune.trash import is_linked

_ANOTHER_PLACE = re.compile(r"~[1-9][0-9]{0,3}$")
"""What a process adds to the name of a test's place while another one holds that."""
_OUTSIDE = re.compile(r"~[0-9a-f]{16}$")
"""How the place of a cassette ends that lies outside of the settings' folder."""


def waiting(root: Path, start: Path) -> Iterator[Change]:
    """Yield what lies under `.onetake/` for the cassettes at the start and below it."""
    is_whole = start == root or not start.is_relative_to(root)
    for kind, name in ((Kind.PENDING, "pending"), (Kind.REJECT, "rejects")):
        top = root / ".onetake" / name
        place = top if is_whole else aside(root, name, start)
        if not place.is_dir() or is_linked(root, place):
            continue
        for folder, folders, names in os.walk(place):
            folders[:] = sorted(one for one in folders if one not in SIDE_FOLDERS)
            for each in sorted(filter(parse_name, names)):
                yield _one_aside(kind, Path(folder, each), top, root)


def _one_aside(kind: Kind, path: Path, top: Path, root: Path) -> Change:
    try:
        data, why = files.read(path) or b"", ""
    except OSError as error:
        data, why = b"", f"cannot be read: {error.strerror or error}"
    folder = cassette_of(path.parent.relative_to(top), root, _test_in(data))
    return Change(kind, path, folder, root, "" if why else sha256(data).hexdigest(), why=why)


def cassette_of(place: Path, root: Path, test: str) -> Path | None:
    """Return the folder of the cassette that a place under `.onetake/pending` or `rejects` belongs to.

    Args:
        place: The place, from there.
        root: The settings' folder.
        test: The id of the test that recorded what lies there: tests that share a cassette have a part of it each.

    Returns:
        None for a cassette outside of the settings' folder: its place says no path.
    """
    name = _ANOTHER_PLACE.sub("", place.name)
    if not name or (test and folder_name(test) in (name, place.name)):
        place = place.parent
    is_outside = _OUTSIDE.search(place.parts[0]) if place.parts else True
    return None if is_outside else root / place


def _test_in(data: bytes) -> str:
    """Return the test that an entry's file names; empty where it names none, or is no entry."""
    try:
        test = json.loads(data)["provenance"]["test"]
    except (ValueError, RecursionError, LookupError, TypeError):
        return ""
    return test if isinstance(test, str) else ""
