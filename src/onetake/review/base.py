"""The commit that a review compares with: which entries it has, and what is in them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha1, sha256
from pathlib import Path, PurePosixPath

from onetake import git
from onetake.cassette_files import is_looked_into
from onetake.errors import UsageError
from onetake.printable import one_line
from onetake.stores.naming import is_side, parse_name

HEAD = "HEAD"


@dataclass(frozen=True)
class Base:
    """A commit, as far as it bears on one folder.

    Args:
        start: The folder.
        name: What the user calls the commit.
        commit: Its full name; empty where there is none.
        why_none: Why there is none: no git, no repository, no commit yet.
        top: The top of the repository; None where there is none.
        files: Its entries in the folder and below it: what git calls the content of each.
        beside: Its sidecars there, likewise.
    """

    start: Path
    name: str
    commit: str = ""
    why_none: str = ""
    top: Path | None = None
    files: dict[Path, str] = field(default_factory=dict)
    beside: dict[Path, str] = field(default_factory=dict)

    def read(self, path: Path) -> bytes | None:
        """Return the bytes that a file below the folder had at the commit; None where it had none, or git is silent."""
        if self.top is None or not self.commit:
            return None
        return git.ask(self.top, "cat-file", "blob", f"{self.commit}:{_from_top(self.top, self.start, path)}")

    @cached_property
    def sides(self) -> dict[Path, tuple[str, ...]]:
        """The sidecars that each folder had at the commit: `_raw/<64 hex>.<ext>`, `_schemas/<64 hex>.json`."""
        found: dict[Path, tuple[str, ...]] = {}
        for path in self.beside:
            folder = path.parent.parent
            found[folder] = (*found.get(folder, ()), path.relative_to(folder).as_posix())
        return found

    def filtered(self, paths: Iterable[Path]) -> frozenset[Path]:
        """Return those of some files below the folder that git has in a form of its own, which a program makes.

        So do Git LFS and git-crypt. No such program is run here.
        """
        named = self._named(paths)
        given = b"".join(name + b"\0" for name in named)
        said = self._asked(named, "check-attr", "-z", "--stdin", "filter", given=given).split(b"\0")
        values = zip(said[::3], said[2::3], strict=False)
        return frozenset(named[name] for name, value in values if value not in (b"unspecified", b"unset"))

    def touched(self, paths: Iterable[Path]) -> frozenset[Path]:
        """Return those of some files below the folder that git does not know to be as they are at the commit.

        Git notes when a file was last written that it has: what was not written since is what it was then.
        """
        named = self._named(paths)
        if self.top is None or not named:
            return frozenset()
        said = git.changed(self.top, self.commit)
        listed = frozenset(named) if said is None else frozenset(said)
        return frozenset(path for name, path in named.items() if name in listed)

    def left_out(self, paths: Iterable[Path]) -> frozenset[Path]:
        """Return those of some files below the folder that a sparse checkout keeps out of the work tree."""
        named = self._named(paths)
        said = self._asked(named, "ls-files", "-t", "-z").split(b"\0")
        names = {line[2:] for line in said if line.startswith(b"S ")}
        return frozenset(path for name, path in named.items() if name in names)

    def ignored(self, paths: Iterable[Path]) -> frozenset[Path]:
        """Return those of some files below the folder that no commit is to hold: a `.gitignore` names them."""
        named = self._named(paths)
        said = self._asked(named, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        known = frozenset(said.split(b"\0"))
        return frozenset(path for name, path in named.items() if name not in known)

    def _named(self, paths: Iterable[Path]) -> dict[bytes, Path]:
        """Return files below the folder by what git calls them."""
        return {os.fsencode(_from_top(self.top, self.start, path)): path for path in paths} if self.top else {}

    def _asked(self, named: Mapping[bytes, Path], *words: str, given: bytes = b"") -> bytes:
        """Ask git about files; nothing where there are none."""
        return _known(self.top, *words, given=given) if self.top and named else b""


def base_of(start: Path, against: str | None) -> Base:
    """Return the commit to compare with.

    Args:
        start: A folder.
        against: A revision, as git takes it; None for HEAD, which need not be there.

    Raises:
        UsageError: A revision was given, and git knows no such commit here; or git does not tell what there is to know.
    """
    name = HEAD if against is None else against
    try:
        said = git.need(start, "rev-parse", "--show-toplevel")
    except git.NoAnswerError as error:
        return _no_base(start, name, error, against)
    top = Path(os.fsdecode(said.removesuffix(b"\n")))
    commit = "" if name.startswith("-") else git.line(top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if commit:
        return _at(start, name, top, commit)
    if against is not None:
        raise UsageError(f"--against {against}: git has no such commit here; a shallow clone has to fetch it first")
    if git.line(top, "rev-parse", "--verify", "--quiet", HEAD):
        raise UsageError("git cannot read the commit that HEAD names: `git fsck` says what is wrong")
    return Base(start, name, "", "nothing is committed yet", top)


def is_same(data: bytes, digest: str) -> bool:
    """Tell whether a file holds what git calls so; line ends count for nothing, in the file and in what git has."""
    unix = data.replace(b"\r\n", b"\n")
    return digest in (_blob(data, digest), _blob(unix, digest)) or digest == _blob(unix.replace(b"\n", b"\r\n"), digest)


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


def _no_base(start: Path, name: str, error: git.NoAnswerError, against: str | None) -> Base:
    """Say that there is no repository; where git refuses to look into the one that there is, nothing is reviewed."""
    if git.is_installed() and not error.is_no_repository:
        raise UsageError(f"git does not look into the repository here: {one_line(str(error), 600)}") from error
    why = "git knows no repository here" if git.is_installed() else "there is no git to ask"
    if against is not None:
        raise UsageError(f"--against {against}: {why}")
    return Base(start, name, why_none=why)


def _known(top: Path, *words: str, given: bytes = b"") -> bytes:
    """Ask git what has to be known: to take no answer for an empty one would make entries new, or gone."""
    try:
        return git.need(top, *words, given=given)
    except git.NoAnswerError as error:
        why = one_line(str(error), 600)
        more = "; run by yourself it fetches what a partial clone lacks" if words[0] == "ls-tree" else ""
        raise UsageError(f"`{shlex.join(['git', *words])}` gives no answer: {why}{more}") from error


def _at(start: Path, name: str, top: Path, commit: str) -> Base:
    """Return a commit with what it has in a folder and below it."""
    below = _from_top(top, start, start)
    words = ("--", below) if below != "." else ()
    found = Base(start, name, commit, "", top)
    for line in _known(top, "ls-tree", "-r", "-z", "--full-tree", commit, *words).split(b"\0")[:-1]:
        head, _, file = line.partition(b"\t")
        mode, _, digest = head.decode("ascii", "replace").split(" ")[:3]
        path = PurePosixPath(os.fsdecode(file)).relative_to(below)
        if not mode.startswith("100"):  # links, and submodules
            continue
        if parse_name(path.name) and all(map(is_looked_into, path.parts[:-1])):
            found.files[start / path] = digest
        elif is_side("/".join(path.parts[-2:])) and all(map(is_looked_into, path.parts[:-2])):
            found.beside[start / path] = digest
    return found


def _from_top(top: Path, start: Path, path: Path) -> str:
    """Return what git calls a path at or below the start: from the top, whatever links lead to the start."""
    real = Path(os.path.realpath(start), path.relative_to(start))
    return real.relative_to(os.path.realpath(top)).as_posix()
