"""A person's word that entries were reviewed under today's parser, kept in their provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake import git
from onetake.contract import names_type
from onetake.contract.watch import REMEDY
from onetake.errors import UsageError
from onetake.model import Entry
from onetake.printable import block, one_line
from onetake.provenance import now
from onetake.upkeep import mends, secrets
from onetake.upkeep.amending import SecretThereError, amend
from onetake.upkeep.checking import examine
from onetake.upkeep.examining import Examined
from onetake.upkeep.findings import Code, Finding, Severity, finding
from onetake.upkeep.noted import reason_of
from onetake.upkeep.projects import Project
from onetake.writing import SecretLeftError


@dataclass(frozen=True, slots=True)
class Vouched:
    """What became of one entry.

    Args:
        path: Its file.
        entry: What was in it; None where it cannot be read.
        note: What its provenance says under `vouched` now; empty where it was refused.
        refusal: What is against it; None where nothing is.
    """

    path: Path
    entry: Entry | None
    note: Mapping[str, Any]
    refusal: Finding | None = None


def vouch(paths: Sequence[Path], reason: str, *, importing: bool = False) -> Iterator[Vouched]:
    """Note that entries were reviewed under today's parser, each once it has passed today's check.

    Args:
        paths: The files of entries.
        reason: Why they are right, in the words of the person who looked; scrubbed before it is written.
        importing: True imports the types that the settings declare contracts by: the project's own code runs.

    Returns:
        One for each file, in the order of *paths*, a file that is named twice at its first place. All were examined
        before the first is written.

    Raises:
        StoreError: An entry cannot be written.
        UsageError: A file is no entry, the reason is empty or only stands for one, or the settings are wrong.
    """
    said = block(reason).strip()
    if not said:
        raise UsageError("--reason is empty: say what you looked at")
    if said.strip("\"'").casefold() == mends.LOOKED:
        raise UsageError(f"--reason {said!r} only stands for your own words: look, and say what you saw")
    wanted: dict[Path, list[str]] = {}
    for path in paths:
        wanted.setdefault(path.parent, []).append(path.name)
    found = [one for folder, names in wanted.items() for one in _examined(folder, names, importing=importing)]
    by_path = {one.path: one for one in found}
    return (_vouched(by_path[path], reason) for path in dict.fromkeys(paths))


def _examined(folder: Path, names: Sequence[str], *, importing: bool) -> list[Examined]:
    """Examine files of one folder; no other one is read behind the last of them."""
    left, found = set(names), []
    for one in examine(folder, importing=importing):
        if one.folder == folder and one.path.name in left:
            found.append(one)
            left.discard(one.path.name)
        if not left:
            return found
    raise UsageError(f"{(folder / min(left)).as_posix()}: this file is no entry")


def _vouched(one: Examined, reason: str) -> Vouched:
    worst = next(filter(_bars, one.findings), None)
    if worst or one.entry is None:
        return Vouched(one.path, one.entry, {}, worst or _refusal(one, "it cannot be read", mends.RESTORE))
    watch, why, mend = _watch(one.entry, one.path, one.project)
    if watch is None:
        return Vouched(one.path, one.entry, {}, _refusal(one, why, mend))
    note = _note(one.project, reason, watch)
    try:
        if not amend(one.path, one.entry, lambda provenance: {**provenance, "vouched": note}):
            again = f"`{mends.show(one.path)}`, then vouch again"
            return Vouched(one.path, one.entry, {}, _refusal(one, "it was changed while it was looked at", again))
    except SecretThereError:  # the check looked before, and at what lay there then
        why = "the entry itself holds a secret, and is not changed"
        return Vouched(one.path, one.entry, {}, finding(Code.SECRET, one.path, why, secrets.MEND))
    except SecretLeftError:
        why = "the note would hold a secret that cannot be scrubbed"
        return Vouched(one.path, one.entry, {}, _refusal(one, why, "say it in other words"))
    return Vouched(one.path, one.entry, note)


def _bars(found: Finding) -> bool:
    """Tell whether a finding keeps an entry from being vouched for; nobody reviews what could not be checked."""
    return found.severity is Severity.ERROR or found.code is Code.UNCHECKED


def _watch(entry: Entry, path: Path, project: Project) -> tuple[str | None, str, str]:
    """Return the digest that the watched files have today; where there is none, why, and what to do."""
    if entry.verdict != "good" or entry.contract is None:
        why = "no contract judged its answer, so no parser is watched that it could predate"
        return None, why, "nothing: such an entry needs no vouching"
    name = entry.contract.name
    shown = repr(one_line(name, 80))
    declared = project.declared(name)
    if declared and (gone := project.unwatched(declared)):
        return None, gone, REMEDY
    watch = project.watch(declared) if declared else None
    if declared and (broken := project.unparsed(declared)):
        why = one_line(
            f"a file that contract {shown} watches cannot be parsed, so nobody saw it at work: {broken[0]}", 400
        )
        return None, why, "mend that file, and look again"
    if declared and watch and names_type(declared.schema) and not project.importing:
        # Its frozen schema has no validator of it, and may be out of date: only the type itself tells.
        why = (
            f"contract {shown} is the type {one_line(declared.schema, 200)}, which was not imported to judge its answer"
        )
        return None, why, mends.vouch(path, importing=True)
    what = f"contract {shown} watches no file" if declared else f"contract {shown} is declared nowhere"
    return watch, f"{what}, so there is no parser of today", f"name the parser in the settings: `watch` of {shown}"


def _note(project: Project, reason: str, watch: str) -> dict[str, Any]:
    scrub = project.scrubber(()).begin().text
    root = project.settings.root
    found = {
        "at": now(),
        "reason": reason_of(reason, project.scrubber(())),
        "watch": watch,
        "commit": git.line(root, "rev-parse", "HEAD"),
        "by": scrub(one_line(git.line(root, "config", "user.name"))),
    }
    return {name: value for name, value in found.items() if value}


def _refusal(one: Examined, why: str, mend: str) -> Finding:
    return finding(Code.UNCHECKED, one.path, why, mend)
