"""`.onetake/`: where what is not part of a cassette lies, one folder each for pending, rejects and making."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path


def aside(root: Path, kind: str, folder: Path) -> Path:
    """Return the place under `.onetake/` that belongs to a cassette.

    Args:
        root: The settings' folder.
        kind: `pending`, `rejects` or `making`.
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
            found.append(other.relative_to(root).as_posix() if other.is_relative_to(root) else str(other))
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
