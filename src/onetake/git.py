"""The one way to git: what is asked changes nothing, and a repository's own configuration makes it run nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

_SECONDS = 20.0
"""How long git may take to answer; a history on a slow disk is not worth a stuck check."""

_QUIET = (
    "--no-pager",
    "--literal-pathspecs",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "log.showSignature=false"),
    *("-c", "diff.relative=false"),
)
"""No pager, monitor, hook or signature program of the repository is run, and `*` in a file's name is no pattern."""

_NAMES = ("--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty")
"""As names alone, by no program of the configuration; a submodule is not looked into: it has its own."""

_KEPT = ("GIT_CONFIG", "GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "GIT_EXEC_PATH")
"""What counts of git's own variables; the rest, which a hook of git is started with, would aim it elsewhere."""

_NOTHING_FETCHED = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}
"""A partial clone fetches what it lacks, by a command that its configuration may name; here it lacks it."""

_IN_ENGLISH = {"LC_ALL": "C", "LANGUAGE": "C"}


class NoAnswerError(Exception):
    """Git gave no answer; says why, in its own words where it has any, on one line."""

    @property
    def is_no_repository(self) -> bool:
        """Whether there is no repository to ask about: git found none, or none that has files lying about."""
        return any(words in str(self) for words in ("not a git repository (or any", "must be run in a work tree"))


def ask(folder: Path, *words: str, given: bytes = b"", seconds: float = _SECONDS) -> bytes | None:
    """Ask git something.

    Args:
        folder: Where; the repository is the one that it lies in.
        words: The command and its arguments: one that only reads. A revision or a path of a file that others wrote has
            to be checked, or to stand where it cannot be an option.
        given: What git reads from its standard input.
        seconds: How long it may take.

    Returns:
        What it prints; None where there is no git, no repository or no answer, or where it takes too long.
    """
    try:
        return need(folder, *words, given=given, seconds=seconds)
    except NoAnswerError:
        return None


def need(folder: Path, *words: str, given: bytes = b"", seconds: float = _SECONDS) -> bytes:
    """Ask git something that has to be known, as `ask` does.

    Raises:
        NoAnswerError: It gives no answer.
    """
    import subprocess  # dear to load, and most sessions ask nothing

    program = _program(os.environ.get("PATH", os.defpath))
    if program is None:
        raise NoAnswerError("there is no git to ask")
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith(_KEPT)}
    command = [program, "-C", str(folder), *_QUIET, *words]
    try:
        done = subprocess.run(
            command,
            input=given,
            env=own | _NOTHING_FETCHED | _IN_ENGLISH,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:  # ValueError: a NUL in a name
        raise NoAnswerError(f"git cannot be asked: {error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").split()
        raise NoAnswerError(" ".join(said) or f"git says nothing, and ends with exit code {done.returncode}")
    return done.stdout


def line(folder: Path, *words: str) -> str:
    """Ask git for one line of text; empty where there is no answer."""
    return (ask(folder, *words) or b"").decode("utf-8", "replace").strip()


def top(folder: Path) -> Path | None:
    """Return the folder of the repository that a folder lies in; None where it lies in none."""
    said = (ask(folder, "rev-parse", "--show-toplevel") or b"").removesuffix(b"\n")
    return Path(os.fsdecode(said)) if said else None


def changed(folder: Path, commit: str = "") -> list[bytes] | None:
    """Return the tracked files that differ from what is staged, as paths from the top of the repository.

    Where git looks into a file to tell, it takes it as it lies there: the filters that the configuration names are
    programs, and none is run. So a file that one of them would make equal may be among these.

    Args:
        folder: Where the repository is.
        commit: What to compare with instead, by its full name.

    Returns:
        None where git gives no answer.
    """
    quiet = _without_filters(folder)
    said = None if quiet is None else ask(folder, *quiet, "diff", *_NAMES, *([commit] if commit else []))
    return None if said is None else said.split(b"\0")[:-1]


def is_dirty(folder: Path) -> bool:
    """Tell whether tracked files differ from the commit, or that cannot be told; no filter is run, as for `changed`."""
    return changed(folder) != [] or ask(folder, "diff", "--cached", *_NAMES, "HEAD") != b""


def _without_filters(folder: Path) -> list[str] | None:
    """Return the words by which git runs no filter; None where one has a name that no such word can be given for."""
    said = ask(folder, "config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|process|required)$")
    names = {name.rpartition(".")[0] for name in (said or b"").decode("utf-8", "surrogateescape").split("\0")[:-1]}
    if any("=" in name for name in names):
        return None
    settings = (f"{name}.{what}" for name in sorted(names) for what in ("clean=", "process=", "required=false"))
    return [word for setting in settings for word in ("-c", setting)]


def is_installed() -> bool:
    """Tell whether there is a git to ask."""
    return _program(os.environ.get("PATH", os.defpath)) is not None


def blobs(folder: Path, digests: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of files that git has.

    Args:
        folder: Where the repository is.
        digests: What git calls them: 40 or 64 hex digits each.

    Returns:
        By their digests; without those that it does not have.
    """
    wanted = list(dict.fromkeys(digests))
    lines = "".join(f"{one}\n" for one in wanted)
    printed = ask(folder, "cat-file", "--batch", "--buffer", given=lines.encode()) or b""
    found: dict[str, bytes] = {}
    at = 0
    for digest in wanted:
        head, _, _ = printed[at : at + 200].partition(b"\n")
        at += len(head) + 1
        name, kind, size = (*head.decode("ascii", "replace").split(" "), "", "")[:3]
        if name != digest or not size.isdigit():
            continue  # `<digest> missing`, and nothing behind it
        if kind == "blob":
            found[digest] = printed[at : at + int(size)]
        at += int(size) + 1
    return found


@lru_cache(4)
def _program(path: str) -> str | None:
    """Return git as PATH has it: Windows would start a `git.exe` that lies in the current folder before that."""
    names = ("git.exe",) if os.name == "nt" else ("git",)
    folders = [folder for folder in path.split(os.pathsep) if Path(folder).is_absolute()]
    programs = (Path(folder, name) for folder in folders for name in names)
    return next((str(one) for one in programs if one.is_file() and os.access(one, os.X_OK)), None)
