"""The commit that a review compares with: which entries it has, and what is in them."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from pathlib import Path, PurePosixPath

from onetake import git
from onetake.cassette_files import is_looked_into
from onetake.errors import UsageError
from onetake.stores.naming import SIDE_FOLDERS, is_side, parse_name

HEAD = "HEAD"


@dataclass(frozen=True, slots=True)
class Base:
    """A commit, as far as it bears on one folder.

    Args:
        start: The folder.
        name: What the user calls the commit.
        commit: Its full name; empty where there is none.
        why_none: Why there is none: no git, no repository, no commit yet.
        top: The top of the repository; None where there is none.
        files: Its entries in the folder and below it: what git calls the content of each.
    """

    start: Path
    name: str
    commit: str = ""
    why_none: str = ""
    top: Path | None = None
    files: dict[Path, str] = field(default_factory=dict)

    def read(self, path: Path) -> bytes | None:
        """Return the bytes that a file below the folder had at the commit; None where it had none, or git is silent."""
        if self.top is None or not self.commit:
            return None
        return git.ask(self.top, "cat-file", "blob", f"{self.commit}:{_from_top(self.top, self.start, path)}")

    def sides(self, folder: Path) -> list[str]:
        """Return the sidecars that a folder had at the commit: `_raw/<64 hex>.<ext>`, `_schemas/<64 hex>.json`."""
        if self.top is None or not self.commit:
            return []
        place = _from_top(self.top, self.start, folder)
        words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", self.commit)
        below = [posixpath.join(place, name) for name in SIDE_FOLDERS]
        names = (git.ask(self.top, *words, "--", *below) or b"").split(b"\0")[:-1]
        found = (posixpath.relpath(os.fsdecode(name), place) for name in names)
        return [name for name in found if is_side(name)]

    def in_lfs(self, paths: Iterable[Path]) -> frozenset[Path]:
        """Return those of some files below the folder that git keeps as pointers of Git LFS."""
        named = self._named(paths)
        given = b"".join(name + b"\0" for name in named)
        said = (self._asked(named, "check-attr", "-z", "--stdin", "filter", given=given) or b"").split(b"\0")
        return frozenset(named[name] for name, value in zip(said[::3], said[2::3], strict=False) if value == b"lfs")

    def ignored(self, paths: Iterable[Path]) -> frozenset[Path]:
        """Return those of some files below the folder that no commit is to hold: a `.gitignore` names them."""
        named = self._named(paths)
        said = self._asked(named, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        known = None if said is None else frozenset(said.split(b"\0"))
        return frozenset(path for name, path in named.items() if known is not None and name not in known)

    def _named(self, paths: Iterable[Path]) -> dict[bytes, Path]:
        """Return files below the folder by what git calls them."""
        return {os.fsencode(_from_top(self.top, self.start, path)): path for path in paths} if self.top else {}

    def _asked(self, named: Mapping[bytes, Path], *words: str, given: bytes = b"") -> bytes | None:
        """Ask git about files; None where there are none, or git is silent."""
        return git.ask(self.top, *words, given=given) if self.top and named else None


def base_of(start: Path, against: str | None) -> Base:
    """Return the commit to compare with.

    Args:
        start: A folder.
        against: A revision, as git takes it; None for HEAD, which need not be there.

    Raises:
        UsageError: A revision was given, and git knows no such commit here.
    """
    name = HEAD if against is None else against
    top = git.top(start)
    if top is None:
        why = "git knows no repository here" if git.is_installed() else "there is no git to ask"
        if against is not None:
            raise UsageError(f"--against {against}: {why}")
        return Base(start, name, why_none=why)
    commit = "" if name.startswith("-") else git.line(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if commit:
        return Base(start, name, commit, "", top, _files(start, top, commit))
    if against is not None:
        raise UsageError(f"--against {against}: git has no such commit here; a shallow clone has to fetch it first")
    return Base(start, name, "", "nothing is committed yet", top)


def is_same(data: bytes, digest: str) -> bool:
    """Tell whether a file holds what git calls so; line ends that git turned into CRLF count for nothing."""
    return any(_blob(version, digest) == digest for version in dict.fromkeys((data, data.replace(b"\r\n", b"\n"))))


def is_pointer_to(digest: str, stored: bytes) -> bool:
    """Tell whether git has a pointer of Git LFS in the place of a file.

    Args:
        digest: SHA-256 of what the file holds, as hex digits.
        stored: What git has.

    Source: the specification of Git LFS: `version`, then `oid sha256:` and the digest of the content.
    """
    is_pointer = stored.startswith(b"version https://git-lfs.github.com/spec/") and len(stored) < 1024
    return is_pointer and b"oid sha256:" + digest.encode() in stored


def _blob(data: bytes, like: str) -> str:
    """Return what git calls a content, in the hash that the repository has."""
    framed = b"blob %d\0" % len(data) + data
    return sha256(framed).hexdigest() if len(like) == 64 else sha1(framed, usedforsecurity=False).hexdigest()


def _files(start: Path, top: Path, commit: str) -> dict[Path, str]:
    below = _from_top(top, start, start)
    words = ("--", below) if below != "." else ()
    printed = git.ask(top, "ls-tree", "-r", "-z", "--full-tree", commit, *words) or b""
    found: dict[Path, str] = {}
    for line in printed.split(b"\0")[:-1]:
        head, _, name = line.partition(b"\t")
        mode, _, digest = head.decode("ascii", "replace").split(" ")[:3]
        path = PurePosixPath(os.fsdecode(name)).relative_to(below)
        is_reached = all(map(is_looked_into, path.parts[:-1]))
        if mode.startswith("100") and is_reached and parse_name(path.name):  # no links, and no submodules
            found[start / path] = digest
    return found


def _from_top(top: Path, start: Path, path: Path) -> str:
    """Return what git calls a path at or below the start: from the top, whatever links lead to the start."""
    real = Path(os.path.realpath(start), path.relative_to(start))
    return real.relative_to(os.path.realpath(top)).as_posix()
