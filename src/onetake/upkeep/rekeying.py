"""Entries under the rules of today: keyed and scrubbed anew from what is stored of them, and nobody is asked."""

from __future__ import annotations

from pathlib import Path

from onetake.cassette_files import Listed, list_folders
from onetake.errors import StoreError
from onetake.upkeep.entry_checks import Keyers
from onetake.upkeep.holding import holding_of
from onetake.upkeep.projects import Project, Projects
from onetake.upkeep.rekeying_cassette import CassetteRekeying
from onetake.upkeep.rekeying_files import carry_out
from onetake.upkeep.rekeying_found import Choices, Left, Rekeying
from onetake.upkeep.ruling import Ruling


def rekey(start: Path, choices: Choices = Choices(), *, writes: bool = False) -> Rekeying:  # noqa: B008 (frozen)
    """Find the entries in a folder and below it that are others under today's rules, and make them so.

    Each step may be the last, whatever stops it: run again, it comes to the same end.

    Args:
        start: A folder.
        choices: What the user says besides the settings.
        writes: True does it; else nothing is changed.

    Raises:
        StoreError: The folder cannot be listed, or a file not be written: what was done before that stays done.
        UsageError: Settings that count for the folder or for an entry below it are wrong.
    """
    projects, keyers, found = Projects(start, importing=False), Keyers(), Rekeying()
    rulings: dict[Path | None, Ruling] = {}

    def ruling(project: Project) -> Ruling:
        if project.file not in rulings:
            rulings[project.file] = Ruling(project, choices.added, choices.dropped)
        return rulings[project.file]

    ruling(projects.of(start.absolute()))
    for listed in list_folders(start):
        if listed.why:
            found.left.append(_unlisted(listed, start))
            continue
        holding = holding_of(listed)
        if holding and holding.paths:
            found.entries += len(holding.paths)
            project = projects.of(listed.folder.absolute())
            planned = CassetteRekeying(holding, project, ruling(project), keyers, choices, found)
            if writes:
                carry_out(planned, found)
            else:
                found.moves += [move for groups in planned.rounds for group in groups for move in group.told()]
    return found


def _unlisted(listed: Listed, start: Path) -> Left:
    if listed.folder == start:
        raise StoreError(f"{listed.folder.as_posix()}: {listed.why}")
    return Left(listed.folder, listed.why, "let it be read, or move it away")
