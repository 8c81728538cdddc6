"""What an entry says of the import that made it: from which place it came, and whether its request has no body."""

from __future__ import annotations

from typing import NamedTuple

from onetake.model import Entry

LOOSE = "loose"
"""The member of an entry that says: its request's body was not recorded, so it is matched on method and URL."""


_MARK = f'"{LOOSE}"'.encode()


class ImportedFrom(NamedTuple):
    """Where an imported entry came from; in the order of recording within one file."""

    file: str
    """The cassette of the other recorder, from the settings' folder."""
    position: int
    """0 or more: the interaction's place in it."""


def imported_from(entry: Entry) -> ImportedFrom | None:
    """Return where an entry was imported from; None for one that was recorded here, or says it in no known way."""
    said = entry.provenance.get("imported_from")
    if not isinstance(said, dict):
        return None
    file, position = said.get("path"), said.get("position")
    if not isinstance(file, str) or type(position) is not int:
        return None
    return ImportedFrom(file, position)


def may_be_loose(data: bytes) -> bool:
    """Tell quickly whether the bytes of an entry may be of a loose one: most of a cassette need not be parsed."""
    return _MARK in data


def is_loose(entry: Entry) -> bool:
    """Tell whether an entry was imported without its request's body."""
    return entry.extra.get(LOOSE) is True
