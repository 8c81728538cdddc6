"""Add to files that people write: what was there stays byte for byte, and each file changes whole or not at all."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from onetake.errors import UsageError
from onetake.settings_files import read
from onetake.stores import files

CREATED, EXTENDED, THERE, BY_HAND = "created", "extended", "already_there", "by_hand"
_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one file.

    Args:
        path: The file.
        action: `created`, `extended`, `already_there` or `by_hand`.
        text: What is added, or what a person should put there.
        why: One line: what the text is, where it is already, or why it is left to a person.
        before: The file's bytes, None where there is none.
        after: Its bytes afterwards, None where it stays as it is.
    """

    path: Path
    action: str
    text: str = ""
    why: str = ""
    before: bytes | None = None
    after: bytes | None = None


def added(path: Path, before: bytes | None, text: str, why: str = "", *, apart: bool = False) -> Change:
    """Plan to put text at the end of a file, in the file's own line ends; without a file it becomes one.

    Args:
        path: The file.
        before: Its bytes, None where there is none.
        text: Lines, each with its line end.
        why: One line about it.
        apart: True leaves an empty line before the text.
    """
    if before is None:
        return Change(path, CREATED, text, why, None, text.encode())
    return Change(path, EXTENDED, text, why, before, before + _glued(before, text, apart=apart))


def is_utf8(content: bytes) -> bool:
    """Tell whether a file is text that ours can be added to: UTF-8, or another that holds ASCII as it is."""
    return b"\0" not in content and not content.startswith((b"\xff\xfe", b"\xfe\xff"))


def check_writable(changes: list[Change]) -> None:
    """Check, before anything is written, that all of it can be.

    Raises:
        UsageError: One file or folder may not be written; names it.
    """
    for change in changes:
        if change.after is None:
            continue
        if change.before is None:
            folder = next(each for each in change.path.parents if each.exists())
            if not folder.is_dir():
                raise UsageError(f"{change.path}: cannot be made: {folder} is no folder")
            if not os.access(folder, os.W_OK):
                raise UsageError(f"{change.path}: cannot be made: {folder} may not be written")
        # Not os.access alone: to the superuser it grants everything, and moving a new file over it asks nobody.
        elif not change.path.stat().st_mode & 0o222 or not os.access(change.path, os.W_OK):
            raise UsageError(f"{change.path}: is read-only; nothing was changed")


def write(change: Change) -> None:
    """Carry a change out: into a file beside it, which then takes its name.

    Raises:
        UsageError: It cannot be written, or is not what it was when the change was planned.
    """
    path = Path(os.path.realpath(change.path))  # a link stays a link; one that leads nowhere fails below
    temp = path.with_name(f".{path.name}.onetake-{os.getpid()}")
    try:
        files.make_folder(path.parent)
        files.write(files.create(temp), change.after or b"")
        try:
            _put(temp, path, change)
        finally:
            files.remove(temp)
        files.sync_folder(path.parent)
    except OSError as error:
        raise UsageError(f"{change.path}: cannot be written: {error.strerror or error}") from error


def _put(temp: Path, path: Path, change: Change) -> None:
    if change.before is None:
        changed = not files.place(temp, path)
    else:
        shutil.copymode(path, temp)
        changed = read(path) != change.before
        if not changed:
            temp.replace(path)
    if changed:
        raise UsageError(f"{change.path}: was changed by someone else meanwhile; run `onetake init` again")


def _glued(before: bytes, text: str, *, apart: bool) -> bytes:
    end = b"\r\n" if before.count(b"\r\n") * 2 > before.count(b"\n") else b"\n"
    content = before.removeprefix(_MARK)
    glue = b"" if not content or content.endswith(b"\n") else end
    if apart and content.strip() and not (content + glue).endswith(end * 2):
        glue += end
    return glue + text.encode().replace(b"\n", end)
