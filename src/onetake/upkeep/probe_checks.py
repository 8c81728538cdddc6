"""Entries that the model may answer otherwise by now: they are old, or another model is served under the name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from onetake.cassette_files import is_one_file
from onetake.model import Entry, Mode
from onetake.printable import one_line
from onetake.upkeep import mends
from onetake.upkeep.findings import Code, Finding, finding
from onetake.upkeep.holding import Held, Holding
from onetake.upkeep.probed import ProbeBook, Probed
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
    probed = project.probes.of(held.data)
    if probed and probed.agreed and now - probed.at <= _days(after):
        return
    yield _doubted(held.path, why, held, probed)


def _doubted(path: Path, why: str, held: Held | None, probed: Probed | None) -> Finding:
    """Say that an entry is doubted: it is asked again first, and recorded again where that has found drift.

    Args:
        path: Its file.
        why: What the doubt is.
        held: The file, where it was read.
        probed: What a probe said of it, if one did.
    """
    line = held.line_of("provenance") if held else 1
    if held and held.entry and probed and not probed.agreed:
        again = mends.record_again(held.entry, Mode.ALL, path)
        return finding(Code.PROBE_FIRST, path, f"{why}; the probe of {probed.at.date()} found drift", again, line)
    return finding(Code.PROBE_FIRST, path, why, mends.probe(path.parent), line)


def _read_again(path: Path) -> Held:
    holding = Holding(path.parent, (), is_one_file=is_one_file(path.parent))
    with closing(holding.store):
        return holding.held(path)


def _days(number: float) -> timedelta:
    return timedelta(days=min(number, timedelta.max.days))


class Served:
    """Which model was served under each name that was asked for, as the entries say."""

    def __init__(self) -> None:
        self._newest: dict[Named, tuple[datetime, str]] = {}
        self._found: dict[tuple[Named, str], list[tuple[datetime, str]]] = defaultdict(list)

    def add(self, path: Path, entry: Entry, root: Path) -> None:
        """Take an entry in, which lies under the settings of a folder."""
        said = entry.provenance
        asked, served, recorded = said.get("model_asked"), said.get("model_served"), moment(said.get("recorded_at"))
        if not (isinstance(asked, str) and isinstance(served, str) and asked and served and recorded):
            return
        named = root, _host(entry.request.url), asked
        self._newest[named] = max(self._newest.get(named, (recorded, served)), (recorded, served))
        self._found[named, served].append((recorded, str(path)))

    def join(self, later: Served) -> None:
        """Take in what others say, whose paths come behind these."""
        for named, newest in later._newest.items():
            self._newest[named] = max(self._newest.get(named, newest), newest)
        for name, found in later._found.items():
            self._found[name] += found

    def check(self) -> Iterator[Finding]:
        """Name the entries that are older than the newest of their model, and got another one served.

        A probe that agreed with one since the other model was met has answered the doubt.
        """
        books: dict[Path, ProbeBook] = {}
        for (named, served), found in self._found.items():
            newest, now = self._newest[named]
            older = [Path(path) for recorded, path in found if recorded < newest] if served != now else []
            root, _, asked = named
            if older and root not in books:
                books[root] = ProbeBook(root)
            for path in older:
                held = None if books[root].is_empty else _read_again(path)
                probed = books[root].of(held.data) if held else None
                if not (probed and probed.agreed and probed.at > newest):
                    name = one_line(asked, 80)
                    why = f"{name!r} was served by {one_line(served, 80)!r}, and by {one_line(now, 80)!r} since"
                    yield _doubted(path, why, held, probed)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""
