"""Where an output goes: its own name, its manifest's, and what both are called until they are whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from onetake.batch.manifest import SUFFIX, manifest_path
from onetake.errors import UsageError
from onetake.stores import files

PARTIAL = ".partial"
"""What the name of an output has behind it until it is whole."""
_BOOKS = ".onetake"
_OF_SQLITE = ("-wal", "-shm", "-journal")


def beside(path: Path) -> Path:
    """Return what a file is called until it is whole."""
    return path.with_name(path.name + PARTIAL)


def anew(path: Path) -> BinaryIO:
    """Open a new file for writing; what had its name loses it, and a link there is not followed.

    Raises:
        OSError: It cannot be made.
    """
    files.remove(path)
    return os.fdopen(files.create(path), "wb")


def check_output(out: Path) -> None:
    """See that an output may be put somewhere, its manifest beside it, and both on their way.

    Raises:
        UsageError: Its folder is not there, it has a name that another output's files have, or in one of the four
            places is something that is no file: a folder, a link, a device.
    """
    if out.name.endswith((PARTIAL, SUFFIX)):
        raise UsageError(f"{out}: is a name for what lies beside an output: name another file")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out}: there is no such folder: {out.parent.as_posix()}")
    for place in _places(out):
        try:
            found = place.lstat()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UsageError(f"{place}: is no place for an output: {error.strerror or error}") from None
        if not stat.S_ISREG(found.st_mode):
            raise UsageError(f"{place}: is no file, and an output takes the place of what is there: name another file")


def check_spared(out: Path, made_from: Mapping[str, Path | None]) -> None:
    """See that an output, its manifest and both on their way take the place of nothing that a batch needs.

    Args:
        out: The output.
        made_from: What the batch reads or keeps, by what it is; a `store` is a file or a folder.

    Raises:
        UsageError: They would.
    """
    if _BOOKS in out.resolve().parts:
        raise UsageError(f"{out}: is in {_BOOKS}, where batches keep their books: name another file for the output")
    for place in _places(out):
        for what, path in _needed(made_from):
            if _is_same(place, path) or (what == "store" and path.is_dir() and _is_in(place, path)):
                raise UsageError(f"{place}: is the {what} of this batch: name another file for the output")


def _places(out: Path) -> Iterator[Path]:
    for path in (out, manifest_path(out)):
        yield path
        yield beside(path)


def _needed(made_from: Mapping[str, Path | None]) -> Iterator[tuple[str, Path]]:
    for what, path in made_from.items():
        if path is not None:
            yield what, path
        if path is not None and what == "store":
            real = path.resolve()
            yield from ((what, real.with_name(real.name + end)) for end in _OF_SQLITE)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there yet
        return os.path.normcase(one.resolve()) == os.path.normcase(other.resolve())


def _is_in(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())
