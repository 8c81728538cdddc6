"""Entries that the model may answer otherwise by now: they are old, or another model is served under the name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from onetake.model import Entry, Mode
from onetake.printable import one_line
from onetake.upkeep import mends
from onetake.upkeep.askers import asker
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held
from onetake.upkeep.projects import Project
from onetake.validity import moment

Named = tuple[Path, str, str]
"""A settings folder, a host, and a model as it was asked for there."""


def check_age(held: Held, entry: Entry, project: Project) -> Iterator[Finding]:
    """Say that an entry is older than the setting `probe_after` allows; one without a date is of any age.

    A probe moves no age. One that agreed less than `probe_after` ago has answered the doubt; one that found drift
    confirms it.

    Args:
        held: The file.
        entry: What is in it.
        project: Its own.
    """
    after = project.settings.probe_after
    recorded, now = moment(entry.provenance.get("recorded_at")), datetime.now(UTC)
    if after is None or recorded is None or now - recorded <= _days(after):
        return
    why = f"it was recorded {(now - recorded).days} days ago, and probe_after allows {after:g}"
    mend: str = mends.probe(held.path.parent)
    if (probed := project.probes.of(held.data)) and not probed.agreed:
        why += f"; the probe of {probed.at.date()} found drift"
        mend = mends.record_again(entry, Mode.ALL, held.path)
    elif probed and now - probed.at <= _days(after):
        return
    yield finding(Code.PROBE_FIRST, held.path, why, mend, held.line_of("provenance"))


def _days(number: float) -> timedelta:
    return timedelta(days=min(number, timedelta.max.days))


class Served:
    """Which model was served under each name that was asked for, as the entries say."""

    def __init__(self) -> None:
        self._newest: dict[Named, tuple[datetime, str]] = {}
        self._found: dict[tuple[Named, str], list[tuple[datetime, str, str]]] = defaultdict(list)

    def add(self, path: Path, entry: Entry, root: Path) -> None:
        """Take an entry in, which lies under the settings of a folder."""
        said = entry.provenance
        asked, served, recorded = said.get("model_asked"), said.get("model_served"), moment(said.get("recorded_at"))
        if not (isinstance(asked, str) and isinstance(served, str) and asked and served and recorded):
            return
        named = root, _host(entry.request.url), asked
        self._newest[named] = max(self._newest.get(named, (recorded, served)), (recorded, served))
        self._found[named, served].append((recorded, str(path), str(said.get("test") or "")))

    def join(self, later: Served) -> None:
        """Take in what others say, whose paths come behind these."""
        for named, newest in later._newest.items():
            self._newest[named] = max(self._newest.get(named, newest), newest)
        for name, found in later._found.items():
            self._found[name] += found

    def check(self) -> Iterator[Finding]:
        """Name the entries that are older than the newest of their model, and got another one served."""
        for (named, served), found in self._found.items():
            newest, now = self._newest[named]
            for recorded, path, test in found if served != now else ():
                if recorded < newest:
                    asked = one_line(named[2], 80)
                    why = f"{asked!r} was served by {one_line(served, 80)!r}, and by {one_line(now, 80)!r} since"
                    yield finding(
                        Code.PROBE_FIRST,
                        Path(path),
                        why,
                        mends.record_by(asker(Path(path), test), Mode.ALL, Path(path)),
                    )


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
