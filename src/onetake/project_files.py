"""What the files of a project are, as one digest: what a run of tests was of, and whether that still stands.

Under git these are the files that it tracks, of the whole repository, and those that are neither tracked nor ignored
where they end in `.py`; elsewhere the `.py` files in the settings' folder and below it. What lies in cassettes or
under `.onetake/` is never one of them: it is what the tests ask, not who asks.
"""

from __future__ import annotations

import os
import re
import stat
from datetime import datetime
from hashlib import sha1, sha256
from pathlib import Path, PurePosixPath

from onetake import git
from onetake.stores import files
from onetake.stores.naming import SIDE_FOLDERS, parse_name

_MOST = 20_000
"""Folders that are looked into where there is no git."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NOT_OURS = frozenset({"node_modules", "site-packages", "__pycache__"})


def digest(root: Path, then: tuple[str, str] | None = None) -> str:
    """Return a digest that differs where a file of the project does; a commit of what is there moves nothing.

    Args:
        root: The settings' folder.
        then: A commit, empty for the time before the first, and a moment, RFC 3339: what lay there untouched since
            before that moment, and was only put under git since that commit, is left out, as it was then.

    Returns:
        64 hex digits; empty where it cannot be told: git gives no answer, or there are too many folders to look into.
    """
    found = _tracked(root)
    if found is not None and then is not None:
        found = _without_new(found, root, *then)
    try:
        found = _listed(root) if found is None else found
    except (OSError, _TooManyError):
        return ""
    lines = (b"%s %s\n" % (one.encode(), name) for name, one in sorted(found.items()))
    return sha256(b"".join(lines)).hexdigest()


class _TooManyError(Exception):
    """There are too many folders to look into."""


def _tracked(root: Path) -> dict[bytes, str] | None:
    """Return the files by their paths from the top of the repository; None where git knows none below the root."""
    top = git.top(root)
    staged = git.ask(top, "ls-files", "--stage", "-z") if top else None
    changed = git.changed(top) if top else None
    others = git.ask(top, "ls-files", "--others", "--exclude-standard", "-z") if top else None
    if top is None or staged is None or changed is None or others is None:
        return None
    found: dict[bytes, str] = {}
    for line in filter(None, staged.split(b"\0")):
        said, _, name = line.partition(b"\t")
        if _counts(name):
            found[name] = found.get(name, "") + said.split(b" ")[1].decode()  # of a merge there are several
    length = len(next(iter(found.values()), "0" * 40))
    for name in changed:
        found.pop(name, None)
    for name in (*changed, *(name for name in others.split(b"\0") if name.endswith(b".py"))):
        content = _content(top / os.fsdecode(name)) if _counts(name) else None
        if content is not None:
            found[name] = _blob(content, length)
    own = os.fsencode(Path(os.path.relpath(os.path.realpath(root), os.path.realpath(top))).as_posix()) + b"/"
    return found if own == b"./" or any(name.startswith(own) for name in found) else None


def _without_new(found: dict[bytes, str], root: Path, commit: str, at: str) -> dict[bytes, str]:
    """Leave out what is newly tracked, and was there, as it is, at a moment; what is no Python was not counted then."""
    is_commit = _COMMIT.fullmatch(commit) is not None
    said = git.ask(root, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit) if is_commit else b""
    top, known = git.top(root), (said or b"").split(b"\0")
    if top is None or said is None:
        return found
    before = datetime.fromisoformat(at).timestamp()
    new = {name for name in found.keys() - set(known) if not name.endswith(b".py")}
    return {name: one for name, one in found.items() if name not in new or _touched(top / os.fsdecode(name)) > before}


def _touched(path: Path) -> float:
    """Return when a file was last changed, or came to where it is."""
    try:
        seen = path.lstat()
    except OSError:
        return float("inf")
    return max(seen.st_mtime, seen.st_ctime)


def _listed(root: Path) -> dict[bytes, str]:
    found: dict[bytes, str] = {}
    for number, (folder, folders, names) in enumerate(os.walk(root, onerror=_stop)):
        if number == _MOST:
            raise _TooManyError
        folders[:] = [name for name in folders if name not in _NOT_OURS and not name.startswith(".")]
        for path in (Path(folder, name) for name in names if name.endswith(".py")):
            if (content := _content(path)) is not None:
                found[os.fsencode(path.relative_to(root).as_posix())] = _blob(content, 40)
    return found


def _stop(error: OSError) -> None:
    raise error


def _counts(name: bytes) -> bool:
    """Tell whether a file is one of those that ask."""
    path = PurePosixPath(os.fsdecode(name))
    is_stored = parse_name(path.name) is not None or path.parent.name in SIDE_FOLDERS
    return bool(name) and not is_stored and ".onetake" not in path.parts


def _content(path: Path) -> bytes | None:
    """Return what a file holds, of a link where it leads, of a folder nothing; None where there is none."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return os.fsencode(path.readlink())
        return files.read(path) if stat.S_ISREG(mode) else b""
    except FileNotFoundError:
        return None


def _blob(content: bytes, length: int) -> str:
    """Return what git calls a file of this content: what is committed later as it is has the same name then."""
    whole = b"blob %d\0" % len(content) + content
    return (sha256(whole) if length == 64 else sha1(whole, usedforsecurity=False)).hexdigest()
