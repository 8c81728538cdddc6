"""The number of loose entries that a project may have: an import that brings the first ones writes it down."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from onetake.cassette_files import find_cassettes, read_entry
from onetake.imported import is_loose, may_be_loose
from onetake.model import Entry
from onetake.restating import restate
from onetake.settings import load_settings
from onetake.settings_files import nearest_file
from onetake.stores import files

SETTING = "legacy_loose"


@dataclass(frozen=True, slots=True)
class Limit:
    """What a project's settings are to say, or say by now."""

    number: int
    file: Path | None
    """Where the settings are; None where there are none."""
    is_written: bool


def set_limits(roots: Iterable[Path]) -> list[Limit]:
    """Have the settings of projects say how many loose entries there are.

    Args:
        roots: The settings' folders of cassettes that loose entries were imported into.

    Returns:
        Of each project whose settings did not say it, or say fewer: only a person may raise a number.
    """
    found = []
    for root in roots:
        file = nearest_file(root)
        limit = load_settings(root).legacy_loose if file else None
        number = _loose_in(root)
        if limit is None or number > limit:
            written = restate(root, SETTING, number) if limit is None else None
            found.append(Limit(number, file.path if file else None, written is not None))
    return found


def _loose_in(root: Path) -> int:
    return sum(_is_loose(path) for cassette in find_cassettes(root) for _, path in cassette.files)


def _is_loose(path: Path) -> bool:
    """Tell whether an entry is loose; one that cannot be read is named where it is asked for."""
    with suppress(OSError):
        if may_be_loose(files.read(path) or b""):
            entry = read_entry(path)
            return isinstance(entry, Entry) and is_loose(entry)
    return False
