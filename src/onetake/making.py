"""A cassette that is being made: from its first entry on, until a session, or a run of tests, that recorded it ends."""

from __future__ import annotations

from pathlib import Path

from onetake.aside import aside, hide
from onetake.errors import StoreError


class Making:
    """Whether a cassette is being made, noted on disk, so that a killed run can go on.

    Args:
        root: The settings' folder.
        folder: The cassette's.
        was_empty: Whether it held no entry when the session began.
    """

    def __init__(self, root: Path, folder: Path, *, was_empty: bool) -> None:
        self._root = root
        # A file of its own in the cassette's folder there: one cassette may lie inside another.
        self._marker = _marker(root, folder)
        self._was_empty = was_empty
        self._marked = False
        self.begun = was_empty or self._marker.is_file()
        """Whether it was being made when the session began, or is since."""

    @property
    def marker(self) -> Path | None:
        """The file that says so; None where there is none."""
        return self._marker if self.begun and self._marker.is_file() else None

    def mark(self) -> None:
        """Note it, before the first entry is written.

        Raises:
            StoreError: It cannot be noted.
        """
        if not self._was_empty or self._marked:
            return
        try:
            hide(self._root)
            self._marker.parent.mkdir(parents=True, exist_ok=True)
            self._marker.touch()
        except OSError as error:
            raise StoreError(f"{self._marker}: cannot be written: {error.strerror}") from error
        self._marked = True

    def end(self) -> None:
        """Note that it is made."""
        if self.begun:
            self._marker.unlink(missing_ok=True)


def is_being_made(root: Path, folder: Path) -> bool:
    """Tell whether a cassette is being made, or whether the run that made it was killed.

    Args:
        root: The settings' folder.
        folder: The cassette's.
    """
    return _marker(root, folder).is_file()


def _marker(root: Path, folder: Path) -> Path:
    return aside(root, "making", folder) / "begun"
