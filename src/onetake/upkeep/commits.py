"""What git tells of the files below a folder: how they were at a commit, and which commits changed them."""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from onetake import git

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_HEAD = "\x01"
_FORMAT = "--format=%x01%H%x00%P%x00%ct%x00%s%x00"
_LOG = (
    "log",
    "--raw",
    "-z",
    "--no-abbrev",
    "--encoding=UTF-8",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    _FORMAT,
)
_FEW = "--max-count=100"
_MANY = "--max-count=10000"
_PATIENCE_S = 10.0
"""How long one folder's history may be asked about in all."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one commit did to one file.

    Args:
        commit: 40 or 64 hex digits.
        is_first: True where no commit is known before it: the whole history begins here, or a shallow clone's.
        time: When it was committed, in seconds since 1970.
        subject: The first line of its message, as it is.
        name: The file's path after it, from the folder.
        before: The path before it, another one where the file was renamed.
        old: What git calls the content before it; zeros where the file is new.
        new: The same after it; zeros where the file is gone.
    """

    commit: str
    is_first: bool
    time: int
    subject: str
    name: str
    before: str
    old: str
    new: str


class Commits:
    """The commits of the repository that a folder lies in; a history too long to be read in time has nothing to tell.

    Args:
        folder: Absolute; names are told from here, with slashes.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._spent = 0.0
        self._contents: dict[str, bytes] = {}

    @cached_property
    def why_none(self) -> str:
        """Why there is nothing to ask; empty where there is a repository."""
        if not git.is_installed():
            return "there is no git here"
        return "" if self._top is not None else "git knows no repository here"

    @cached_property
    def is_shallow(self) -> bool:
        """Whether the clone lacks the commits before some one."""
        return git.line(self._folder, "rev-parse", "--is-shallow-repository") == "true"

    @property
    def is_over(self) -> bool:
        """Whether the time for questions is over: git has been slow."""
        return self._spent >= _PATIENCE_S

    @staticmethod
    def is_name(commit: object) -> bool:
        """Tell whether something is the full name of a commit."""
        return isinstance(commit, str) and _COMMIT.fullmatch(commit) is not None

    def is_inside(self, name: str) -> bool:
        """Tell whether a path from the folder lies in the repository."""
        return self._full(name).split("/")[0] not in ("..", "")

    def files(self, commit: str, bases: Sequence[str]) -> dict[str, str] | None:
        """Return the files of a commit, by their paths from the folder: what git calls their contents.

        Args:
            commit: Its full name, or `HEAD`.
            bases: Paths from the folder, of files, or of folders that they lie below.

        Returns:
            None where the commit is not there.
        """
        full = [self._full(base) for base in bases if self.is_inside(base)]
        below = [] if "." in full else full
        if not full:
            return {}
        printed = self._ask("ls-tree", "-r", "-z", "--full-tree", commit, "--", *below)
        if printed is None:
            return None
        lines = printed.decode("utf-8", "surrogateescape").split("\0")
        split = (line.partition("\t") for line in lines if line.startswith("100"))  # no links, and no submodules
        return {self._name(path): head.split(" ")[2] for head, _, path in split}

    def changes(self, bases: Sequence[str]) -> list[Change]:
        """Return the newest changes of files, newest first.

        Args:
            bases: As for `files`.
        """
        inside = [base for base in bases if self.is_inside(base)]
        return self._log(_FEW, "--", *inside) if inside else []

    def order(self, names: Sequence[str]) -> dict[str, int]:
        """Return the newest commits that changed files, each with its place: none comes behind its parents.

        Moments do not tell: a rebase makes many commits within one second, and clocks differ.

        Args:
            names: As `bases` of `files`; also of files that are there no more.
        """
        inside = [name for name in names if self.is_inside(name)]
        printed = self._ask("log", "--format=%H", _MANY, "--", *inside) if inside else None
        return {commit: place for place, commit in enumerate((printed or b"").decode().split())}

    def renames(self, name: str) -> list[Change]:
        """Return the changes of one file under all its names, newest first; the first may wait to be committed."""
        staged = self._staged.get(name)
        followed = self._log("--follow", _FEW, "--", staged.before if staged else name)
        return [staged, *followed] if staged else followed

    def contents(self, digests: Sequence[str]) -> dict[str, bytes]:
        """Return contents by what git calls them; without those that this clone lacks."""
        wanted = [digest for digest in digests if digest not in self._contents and digest.strip("0")]
        if wanted and not self.is_over:
            self._contents |= git.blobs(self._folder, wanted)
        return {digest: self._contents[digest] for digest in digests if digest in self._contents}

    @cached_property
    def _top(self) -> str | None:
        """The folder's path from the top of its repository; None where there is none."""
        printed = git.ask(self._folder, "rev-parse", "--show-prefix")
        return None if printed is None else printed.decode("utf-8", "surrogateescape").removesuffix("\n").rstrip("/")

    @cached_property
    def _staged(self) -> dict[str, Change]:
        """The renames that wait to be committed, by the new name."""
        printed = self._ask("diff-index", "--cached", "-M", "--raw", "-z", "--no-abbrev", "HEAD") or b""
        fields = iter(printed.decode("utf-8", "surrogateescape").split("\0"))
        found = self._changed(fields, ("", "x", str(int(time.time())), ""))
        return {change.name: change for change in found if change.before != change.name}

    def _log(self, *words: str) -> list[Change]:
        printed = (self._ask(*_LOG, *words) or b"").decode("utf-8", "surrogateescape")
        return list(self._changed(iter(printed.split("\0")), ("", "", "0", "")))

    def _changed(self, fields: Iterator[str], commit: tuple[str, ...]) -> Iterator[Change]:
        """Read what git prints with `--raw -z`: commits as `_FORMAT` says, each with its files behind it."""
        for field in fields:
            if field.startswith(_HEAD):
                commit = (field[1:], next(fields), next(fields), next(fields))
            elif (words := field.lstrip("\n").split(" "))[0].startswith(":") and len(words) == 5:
                before = self._name(next(fields))
                name = self._name(next(fields)) if words[4][0] in "RC" else before
                yield Change(commit[0], not commit[1], int(commit[2]), commit[3], name, before, words[2], words[3])

    def _ask(self, *words: str) -> bytes | None:
        if self.why_none or self.is_over:
            return None
        began = time.monotonic()
        try:
            return git.ask(self._folder, *words, seconds=_PATIENCE_S - self._spent)
        finally:
            self._spent += time.monotonic() - began

    def _full(self, name: str) -> str:
        """Return a path from the top of the repository, of one from the folder."""
        return posixpath.normpath(posixpath.join(self._top or "", name))

    def _name(self, full: str) -> str:
        return posixpath.relpath(full, self._top or ".")
