"""What was accepted in a review, noted beside the entries, so that nobody is asked again while nothing has changed."""

from __future__ import annotations

import re
from pathlib import Path

from onetake.aside import hide
from onetake.errors import StoreError
from onetake.stores import files

_MARK = re.compile(r"[0-9a-f]{64}")
_LARGEST = 64 * 1024 * 1024


def read(root: Path) -> frozenset[str]:
    """Return the marks that are noted in a settings folder; what cannot be read is asked again."""
    try:
        data = files.read(_book(root), _LARGEST) or b""
    except OSError:
        return frozenset()
    return frozenset(filter(_MARK.fullmatch, data.decode("ascii", "replace").splitlines()))


def note(root: Path, mark: str) -> None:
    """Note a mark; several reviews may be under way.

    Args:
        root: The settings' folder.
        mark: 64 hex digits.

    Raises:
        StoreError: It cannot be noted.
    """
    book = _book(root)
    try:
        hide(root)
        files.make_folder(book.parent)
        with book.open("ab") as file:
            file.write(f"{mark}\n".encode())  # one write at the end: what another process adds stands before or behind
            files.sync(file)
    except OSError as error:
        raise StoreError(f"{book}: cannot be written: {error.strerror or error}") from error


def drafts(root: Path) -> Path:
    """Return the folder in which answers lie while a person edits them."""
    return root / ".onetake" / "review" / "drafts"


def _book(root: Path) -> Path:
    return root.absolute() / ".onetake" / "review" / "accepted"
