"""Which entries predate the parser: the files that their contract watches are others than when they were recorded."""

from __future__ import annotations

from collections.abc import Iterator

from onetake.contract import names_type
from onetake.contract.watch import REMEDY
from onetake.model import ContractRef, Entry, Mode
from onetake.printable import one_line
from onetake.settings import ContractSettings
from onetake.upkeep import mends
from onetake.upkeep.contract_decision import vouched_under
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.history import History, Since
from onetake.upkeep.holding import Held
from onetake.upkeep.projects import Project


class Predating:
    """Looks into the history of watched files, of each contract once."""

    def __init__(self) -> None:
        self._histories: dict[tuple[Project, str], History] = {}

    def check(self, held: Held, entry: Entry, declared: ContractSettings, project: Project) -> Iterator[Finding]:
        """Say whether an entry predates the parser, where digests do not say that it does not.

        Args:
            held: Its file.
            entry: It; a declared contract judged it.
            declared: The contract, which watches files.
            project: Whose.
        """
        stored, vouched = entry.contract, vouched_under(entry.provenance)
        if stored is None:
            return
        line = held.line_of("contract")
        if gone := project.unwatched(declared):
            why = f"unknown whether {_watched(stored)} have changed since it was recorded: {gone}"
            yield finding(Code.PREDATES_PARSER, held.path, why, REMEDY, line)
            return
        history = self._history(declared, project)
        past = history.since([digest for digest in (stored.watch, vouched) if digest], entry.provenance)
        if past.since is Since.SAME:
            return
        why = _why(stored, past.since, vouched, past.why)
        again = mends.record_again(entry, Mode.ALL, held.path)
        why = f"{why}\nlook at it first: {mends.show(held.path)}; or {again}"
        mend = mends.vouch(held.path, importing=names_type(declared.schema))
        yield finding(Code.PREDATES_PARSER, held.path, why, mend, line)

    def _history(self, declared: ContractSettings, project: Project) -> History:
        known = (project, declared.name)
        if known not in self._histories:
            scrub = project.scrubber(()).begin().text
            self._histories[known] = History(project.settings.root, declared.watch, scrub)
        return self._histories[known]


def _why(stored: ContractRef, since: Since, vouched: str | None, more: str) -> str:
    watched = _watched(stored)
    if since is Since.UNKNOWN:
        then = "not all of them" if stored.watch or vouched else "they"
        verb = "were watched" if stored.watch or vouched else "were not watched"
        return f"unknown whether {watched} have changed since it was recorded: {then} {verb} then, and {more}"
    moment = "somebody vouched for it" if vouched else "it was recorded"
    told = f" ({more})" if more else ""
    if since is Since.CHANGED:
        return f"{watched} have changed since {moment}{told}"
    what = "whether they say something else, or only have other names, is not known"
    return f"{watched} are not those of when {moment}; {what}{told}"


def _watched(stored: ContractRef) -> str:
    return f"the files that {one_line(stored.name, 80)!r} watches"
