"""`.onetake/`: where what is not part of a cassette lies, one folder each for pending, rejects, trash and so on."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from onetake.stores import files
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import SIDE_FOLDERS

if TYPE_CHECKING:
    from onetake.promoting import Journal

_IGNORE = b"*\n"


class AsideStore(DirectoryStore):
    """A store under `.onetake/`, which git does not see, whatever the project's own ignore file says.

    Args:
        root: The settings' folder.
        kind: `pending`, `rejects` or `trash`.
        folder: The folder of the cassette that it belongs to.
        part: A folder of its own in there: the name of one of the tests that share the cassette.
    """

    def __init__(self, root: Path, kind: str, folder: Path, part: str = "") -> None:
        where = aside(root, kind, folder) / part
        super().__init__(where, place_of(where, root))
        self._root = root

    def add(self, key: str, ordinal: int, data: bytes, label: str = "") -> bool:
        """Create an entry, never over another one; see `Store.add`."""
        self._hide()
        return super().add(key, ordinal, data, label)

    def replace(self, key: str, ordinal: int, data: bytes, label: str = "") -> None:
        """Write an entry over the one that is there; see `Store.replace`."""
        self._hide()
        super().replace(key, ordinal, data, label)

    def add_side(self, name: str, data: bytes) -> None:
        """Keep a sidecar; see `Store.add_side`."""
        self._hide()
        super().add_side(name, data)

    def _hide(self) -> None:
        with self._told("cannot be written"):
            hide(self._root)


def aside(root: Path, kind: str, folder: Path) -> Path:
    """Return the place under `.onetake/` that belongs to a cassette.

    Args:
        root: The settings' folder.
        kind: `pending`, `rejects`, `trash` or `making`.
        folder: The cassette's folder.

    Returns:
        `.onetake/<kind>/<the cassette's path from root>`; for one outside of root its name and a digest.
    """
    place = root / ".onetake" / kind
    full = folder.absolute()
    if ".." not in full.parts and full.is_relative_to(root.absolute()):
        return place / full.relative_to(root.absolute())
    digest = sha256(str(full.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return place / f"{full.name}~{digest}"


def hide(root: Path) -> None:
    """Keep `.onetake/` out of git by an ignore file of its own, unless it has one that does; makes the folder.

    The file is written whole or not at all: an empty one, which a full disk may leave, would give all away.

    Args:
        root: The settings' folder.

    Raises:
        OSError: It cannot be written.
    """
    ignore = root / ".onetake" / ".gitignore"
    if b"*" in (files.read(ignore) or b"").splitlines():
        return
    from onetake.stores import leftovers  # once for each project

    ignore.parent.mkdir(parents=True, exist_ok=True)
    leftovers.sweep(ignore.parent)
    with files.temporary(ignore.parent, _IGNORE) as temp:
        temp.replace(ignore)


def journal(root: Path, folder: Path, part: str) -> Journal:
    """Return where the promotions into a cassette are noted.

    Args:
        root: The settings' folder.
        folder: The cassette's folder.
        part: Which of its pending stores this session's entries wait in.
    """
    name = sha256(str(aside(root, "pending", folder).relative_to(root)).encode("utf-8", "surrogateescape")).hexdigest()
    from onetake.promoting import Journal  # with all that reads entries: the pytest plugin needs only where things lie

    place = root / ".onetake" / "promoting"
    return Journal(place, name[:16], part, lambda part: AsideStore(root, "pending", folder, part))


def clear(root: Path, kind: str, folder: Path, part: str = "", *, alone: bool) -> None:
    """Remove what an emptied place under `.onetake/` still holds: sidecars that no entry names, empty folders.

    Nothing is removed while an entry is there, readable or not. What cannot be removed stays: it is in nobody's way.

    Args:
        root: The settings' folder.
        kind: `pending`, `rejects`, `trash` or `making`.
        folder: The cassette's folder.
        part: As for `AsideStore`.
        alone: True where no other process writes under `.onetake/`: only then the folders above go too.
    """
    place = aside(root, kind, folder) / part
    with suppress(OSError):
        for name in () if any(place.glob("*.json")) else SIDE_FOLDERS:
            if (place / name).is_dir() and not (place / name).is_symlink():
                for side in (place / name).iterdir():
                    files.remove(side)
                (place / name).rmdir()
        place.rmdir()
        while alone and place.parent != root / ".onetake":
            place = place.parent
            place.rmdir()


def place_of(folder: Path, root: Path) -> str:
    """Return what messages call a folder: its path from the settings' folder where it lies below that."""
    return folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)


def elsewhere(folder: Path, key: str, root: Path, most: int = 3, look_at: int = 2000) -> list[str]:
    """Name other cassettes that hold a key: the folders beside *folder*, and those beside its parent.

    Args:
        folder: The cassette that does not hold it.
        key: 64 lower-case hex digits.
        root: What the named paths are relative to.
        most: How many to name.
        look_at: How many folders to look into at most; a miss must not take for ever.

    Returns:
        Their paths; a folder that cannot be read names nothing, so that the miss itself is still told.
    """
    found: list[str] = []
    parent = folder.parent if folder.parent.parent == root else folder.parent.parent
    for other in _folders(parent)[:look_at]:
        if len(found) == most:
            break
        if other != folder and _holds(other, key):
            found.append(place_of(other, root))
    return found


def _holds(folder: Path, key: str) -> bool:
    try:
        return next(folder.glob(f"*{key[:16]}*.json"), None) is not None
    except OSError:
        return False


def _folders(parent: Path) -> list[Path]:
    """Return the folders under *parent*, two levels deep, sidecar folders left out."""
    first = _children(parent)
    return [*first, *(child for folder in first for child in _children(folder))]


def _children(parent: Path) -> list[Path]:
    """Return a folder's own folders; none of one that is missing or unreadable: to name them is a courtesy."""
    try:
        return sorted(child for child in parent.iterdir() if child.is_dir() and not child.name.startswith(("_", ".")))
    except OSError:
        return []
