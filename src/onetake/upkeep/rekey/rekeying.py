"""Entries under the rules of today: keyed and scrubbed anew from what is stored of them, and nobody is asked."""

from __future__ import annotations

from pathlib import Path

from onetake import placing
from onetake.cassette_files import Listed, list_folders
from onetake.errors import StoreError, UsageError
from onetake.stores import leftovers
from onetake.upkeep import mends
from onetake.upkeep.entry_checks import Keyers
from onetake.upkeep.holding import Holding, holding_of
from onetake.upkeep.projects import Project, Projects
from onetake.upkeep.rekey.cassette import CassetteRekeying
from onetake.upkeep.rekey.files import carry_out
from onetake.upkeep.rekey.found import Choices, Left, Rekeying
from onetake.upkeep.rekey.grouping import note
from onetake.upkeep.ruling import Ruling


def rekey(start: Path, choices: Choices = Choices(), *, writes: bool = False) -> Rekeying:  # noqa: B008 (frozen)
    """Find the entries in a folder and below it that are others under today's rules, and make them so.

    Each step may be the last, whatever stops it: run again, it comes to the same end.

    Args:
        start: A folder.
        choices: What the user says besides the settings.
        writes: True does it; else nothing is changed.

    Returns:
        What was done, or would be; and what is left as it is, each with the reason.

    Raises:
        StoreError: The folder cannot be listed, or a file not be written: what was done before that stays done.
        UsageError: Settings that count for the folder or for an entry below it are wrong; or of what should come first
            something comes to no key together with others. Then nothing was written.
    """
    if choices.first:
        _check_first(choices, _Run(start, choices, writes=False).run())
    return _Run(start, choices, writes=writes).run()


def _check_first(choices: Choices, planned: Rekeying) -> None:
    for path in choices.first:
        if path not in planned.ordered:
            why = "today's rules give it no key that other entries get, too: there is nothing that it could come before"
            raise UsageError(f"--first {path.as_posix()}: {why}")


class _Run:
    """One way through the cassettes below a folder."""

    def __init__(self, start: Path, choices: Choices, *, writes: bool) -> None:
        self._start = start
        self._choices = choices
        self._writes = writes
        self._projects = Projects(start, importing=False)
        self._keyers = Keyers()
        self._rulings: dict[Path | None, Ruling] = {}
        self._found = Rekeying()

    def run(self) -> Rekeying:
        self._ruling(self._projects.of(self._start.absolute()))
        for listed in list_folders(self._start):
            if listed.why:
                self._found.left.append(_unlisted(listed, self._start))
                continue
            if (holding := holding_of(listed)) and holding.paths:
                self._cassette(holding)
            if self._writes:
                leftovers.sweep(listed.folder)
        return self._found

    def _ruling(self, project: Project) -> Ruling:
        if project.file not in self._rulings:
            self._rulings[project.file] = Ruling(project, self._choices.added, self._choices.dropped)
        return self._rulings[project.file]

    def _cassette(self, holding: Holding) -> None:
        found = self._found
        found.entries += len(holding.paths)
        project = self._projects.of(holding.folder.absolute())
        planned = CassetteRekeying(holding, project, self._ruling(project), self._keyers, self._choices, found)
        if holding.is_one_file and any(planned.rounds):
            why = "today's rules give entries of it other keys, and this changes files"
            found.left.append(Left(holding.folder, why, mends.unpack(holding.folder)))
        elif not self._writes:
            for group in (one for groups in planned.rounds for one in groups):
                note(group, found)
        elif any(planned.rounds) and placing.is_anyone_there(project.settings.root):
            self._leave(project.settings.root)
        else:
            carry_out(planned, found)

    def _leave(self, root: Path) -> None:
        """Say once that a session is at work in a project, which could add to what is looked at."""
        if not any(one.path == root for one in self._found.left):
            why = "a test that records is at work there, so what was not done yet is left"
            self._found.left.append(Left(root, why, "run it again when that has ended"))


def _unlisted(listed: Listed, start: Path) -> Left:
    if listed.folder == start:
        raise StoreError(f"{listed.folder.as_posix()}: {listed.why}")
    return Left(listed.folder, listed.why, "let it be read, or move it away")
