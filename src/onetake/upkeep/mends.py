"""What to do about a finding, in words that can be run or done: only commands that exist."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from onetake import explain
from onetake.format.sidecar import REMEDY
from onetake.model import Entry, Mode
from onetake.printable import one_line
from onetake.quoting import quoted, quoted_path
from onetake.upkeep.askers import asker
from onetake.usage import has_batches


class Command(str):
    """What to do that is one command, as a shell takes it; any other mend is told in words."""

    __slots__ = ()


class DryRun(Command):
    """A command that only shows what it would do; with `--yes` it does it."""

    __slots__ = ()


def told(mend: str) -> str:
    """Return what to do, for people: behind a command that shows what it would do a line that says how it is done."""
    return f"{mend}\n(it shows what it would do; --yes does it)" if isinstance(mend, DryRun) else mend


_FAILURES = {"length": "truncated", "cut": "truncated", "refusal": "refusal", "status": "refused"}
"""What a batch calls a row whose answer is bad in that way; `invalid` in all others."""
_NAMED = 20
"""Tests that one command names: one of thousands is too long for a shell."""

LOOKED = "what you looked at"
"""What stands for a person's own words in the command that vouches for an entry."""
RESTORE = REMEDY
UPGRADE = "upgrade onetake: a newer one wrote this"


def record_again(entry: Entry, mode: Mode, near: Path) -> str:
    """Say how to record an entry again.

    Args:
        entry: The entry; its provenance says who recorded it.
        mode: `new_episodes` replaces what is stale, `all` everything.
        near: Its file: the test that asks for it today is told by runs on record, and looked for from there upwards.
    """
    test = asker(near, entry.provenance.get("test"))
    return _by_batch(entry, mode) if not test and has_batches(near.parent) else record_by(test, mode, near)


def _by_batch(entry: Entry, mode: Mode) -> str:
    """Say how to ask again what no test asked, in a store of batches."""
    kind, _, bad = entry.verdict.partition(":")
    if kind == "kept":
        failure = _FAILURES.get(bad.partition(":")[0], "invalid")
        return f"ask it again: `onetake batch retry OUT --class {failure}`, OUT being the rows that it is one of"
    if mode is Mode.NEW_EPISODES:
        return "run the batch again that asked it: `onetake batch run`"
    return "see what is said today: `onetake batch drift` asks a sample again"


def record_by(test: object, mode: Mode, near: Path) -> str:
    """Say how to record again what a test asks for, in a command for the current folder.

    Args:
        test: Its id; anything else where no test does.
        mode: As for `record_again`.
        near: A file or folder: the test is looked for from there upwards.
    """
    return _command(_node(test, near), mode)


def _command(node: str, mode: Mode) -> str:
    if node:
        return Command(explain.command(mode, node))
    return f'record it again: `onetake run --mode {mode} -- PROGRAM`, or mode="{mode}" in the code'


def record_all(tests: Iterable[tuple[object, Path]], mode: Mode) -> str:
    """Say how to record again what several tests recorded: one command that names them all, the first 20 of more.

    Args:
        tests: Their ids, each with what is `near` for `record_by`; anything else where it was no test.
        mode: As for `record_again`.
    """
    nodes = list(dict.fromkeys(node for test, near in tests if (node := _node(test, near))))
    first, others, more = _command(next(iter(nodes), ""), mode), nodes[1:_NAMED], len(nodes) - _NAMED
    if not others:
        return first
    every = Command(" ".join([first, *(quoted_path(one_line(node, 400)) for node in others)]))
    return f"`{every}`, then the same for {more} more" if more > 0 else every


def record_missing(entry: Entry, path: Path) -> str:
    """Say how to record an entry again whose file no mode but `all` replaces."""
    return f"delete the file, then {record_again(entry, Mode.NEW_EPISODES, path)}"


def show(path: Path) -> Command:
    """Return the command that shows an entry."""
    return Command(f"onetake show {written(path)}")


def check(folder: Path) -> Command:
    """Return the command that says what is wrong with the files of a folder."""
    return Command(f"onetake check {written(folder)}")


def fsck(file: Path, option: str = "") -> Command:
    """Return the command that says what is damaged in a store that is one file; with `--repair` it takes that out."""
    return Command(f"onetake store fsck {written(file)} {option}".rstrip())


def unpack(file: Path, instead: str = "") -> str:
    """Say how a command that takes files of entries works on a store that is one file.

    Args:
        file: The store.
        instead: The command that does the like for such a store; empty where there is none.
    """
    other = f"`{instead} {written(file)}` is for such a store; else " if instead else ""
    return f"{other}`onetake store unpack {written(file)} FOLDER` makes a folder of it, which takes all commands"


def diff(path: Path, other: Path) -> Command:
    """Return the command that says how two entries differ."""
    return Command(f"onetake diff {written(path)} {written(other)}")


def probe(folder: Path) -> Command:
    """Return the command that asks the oldest requests of a folder again, and compares what comes."""
    return Command(f"onetake probe {written(folder)} --oldest")


def vouch(path: Path, *, importing: bool) -> Command:
    """Return the command by which a person says that an entry was reviewed under today's parser.

    Args:
        path: Its file.
        importing: Whether its contract is a type: only that judges what its schema does not say.
    """
    more = " --import" if importing else ""
    return Command(f'onetake vouch {written(path)}{more} --reason "{LOOKED}"')


def rekey(folder: Path) -> DryRun:
    """Return the command that shows what keys the entries in a folder, and below it, have under today's rules."""
    return DryRun(f"onetake rekey {written(folder)}")


def adopt(folder: Path) -> DryRun:
    """Return the command that shows which differences explain what a run asked for in vain."""
    return DryRun(f"onetake adopt {written(folder)}")


def prune(folder: Path, reason: str = "") -> Command:
    """Return the command that shows what of a folder could go to the trash.

    Args:
        folder: It, with all below it.
        reason: An option of the command: `--orphans`, `--stale`; empty for every reason. With `--yes` it is done.
    """
    made = f"onetake prune {written(folder)} {reason}".rstrip()
    return Command(made) if "--yes" in reason else DryRun(made)


def prune_replies(store: Path) -> Command:
    """Return the command that shows which replies of a store no batch needs any more."""
    return Command(f"onetake store prune {written(store)}")


def freeze(name: str) -> Command:
    """Return the command that writes the schema of a contract's type."""
    return Command(f"onetake contract freeze {quoted(name)}")


def written(path: Path) -> str:
    """Return a path as a shell takes it, from the current folder where it lies below."""
    full, here = path.absolute(), Path.cwd()
    return quoted_path((full.relative_to(here) if full.is_relative_to(here) else full).as_posix())


def _node(test: object, near: Path) -> str:
    """Return what pytest is given to run a test; of a fixture that recorded, the file whose tests use it."""
    if not isinstance(test, str) or "::" not in test:
        return ""
    file, _, name = test.partition("::")
    place = _from_here(file, near)
    if "test" in name.lower():
        return f"{place}::{name}"
    folder, _, own = place.rpartition("/")
    return (folder or ".") if own == "conftest.py" else place


def _from_here(file: str, near: Path) -> str:
    """Return a test's file from the current folder: its id counts from where pytest ran, and only works there.

    Args:
        file: As the id has it; where there is none it stays so.
        near: What lies in a folder, or below one, from which the file has that path.
    """
    at = os.path.realpath(near)
    while not os.path.isfile(os.path.join(at, file)):  # noqa: PTH113, PTH118  ten thousand entries ask this
        above = os.path.dirname(at)  # noqa: PTH120
        if above == at:
            return file
        at = above
    found = Path(at, file)
    try:
        return Path(os.path.relpath(found, os.path.realpath(Path.cwd()))).as_posix()
    except ValueError:  # on another drive there is no way from here
        return found.as_posix()
