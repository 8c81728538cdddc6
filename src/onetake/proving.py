"""Run a suite under its old recorder and under onetake, and say what the two make of each test.

What is imported, and what onetake writes for it, lies in a temporary folder.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from onetake.cassette import Cassette
from onetake.errors import UsageError
from onetake.gate import Kind, keeps
from onetake.importers.importing import import_all
from onetake.importers.judging import Outcome
from onetake.importers.placing import Choices, File, target_of
from onetake.importers.reading import files_under
from onetake.model import Entry
from onetake.printable import one_line
from onetake.proving_runs import Telling, run
from onetake.settings import load_settings
from onetake.settings_values import EVERY_KIND
from onetake.stores import open_store

HOSTS = "hosts.json"
"""The file that names the servers of the project's own, for the run under onetake."""
_TOLD_WHY = 400


class Comparison(StrEnum):
    """What two runs say of one test."""

    SAME = "same"
    """The same outcome, and no request that differs."""
    BODY = "body_ignored"
    """It passes with the old recorder on answers to other requests."""
    OTHERWISE = "other_outcome"
    """Its outcome is another one, for another reason."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test."""

    id: str
    found: Comparison
    before: str
    """Its outcome under the old recorder: `passed`, `failed`, `skipped`; empty where it did not run."""
    now: str
    """The same under onetake."""
    differing: tuple[Mapping[str, Any], ...] = ()
    """The answers that went to other requests, as in `--onetake-report`."""
    why: str = ""
    """Why it fails under onetake."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What an import into a temporary folder took over."""

    cassettes: int = 0
    there: int = 0
    """How many of the cassettes were imported before, and are taken as they are."""
    interactions: Mapping[str, int] = field(default_factory=dict)
    """How many were imported, and what became of the others, by outcome; `there`: how many entries were."""
    hosts: tuple[str, ...] = ()
    """Servers of the project's own, which count as if `hosts` in its settings named them."""
    keep: tuple[str, ...] = ()
    """Kinds of bad answers among the entries, which were imported and count as if `keep` in the settings named them."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What two runs say of a suite."""

    tests: tuple[Test, ...]
    brought: Brought = field(default_factory=Brought)

    def of(self, found: Comparison) -> list[Test]:
        """Return the tests of which a thing was found."""
        return [test for test in self.tests if test.found is found]


def prove(arguments: Sequence[str], telling: Telling) -> Proof:
    """Run a suite twice, from the current folder.

    Args:
        arguments: pytest's.
        telling: Told how far it is.

    Raises:
        UsageError: vcrpy is not installed, or pytest could not run, or took too long.
    """
    if importlib.util.find_spec("vcr") is None or importlib.util.find_spec("pytest") is None:
        raise UsageError(f"migrate --check runs the suite as it is: install vcrpy and pytest beside {sys.executable}")
    if any(one.startswith(("--record-mode", "--vcr-record")) for one in arguments):
        raise UsageError("migrate --check records nothing: leave the record mode out")
    with tempfile.TemporaryDirectory(prefix="onetake-migrate-") as name:
        place = Path(name).resolve()
        telling.say("1 of 3: the suite under its own recorder")
        before = run(arguments, ["-p", "no:onetake", "--onetake-seal-vcrpy"], place / "before.json", telling)
        telling.say("2 of 3: import into a temporary folder")
        entries = place / "entries"
        brought = _import(Path(before["root"]), entries)
        telling.say("3 of 3: the suite under onetake")
        report = place / "report.json"
        ours = [f"--onetake-vcr-entries={entries}", f"--onetake-report={report}", "--unused=ignore"]
        now = run(arguments, ours, place / "now.json", telling)
        told = json.loads(report.read_bytes())["tests"]
    return Proof(tuple(_compared(before["tests"], now["tests"], told)), brought)


def _import(root: Path, entries: Path) -> Brought:
    """Import all cassettes of a project into a folder, each at its place; what is imported already is copied."""
    entries.mkdir()
    files, copied, there = [], 0, 0
    keep: set[str] = set()
    for path in files_under([root]):
        own = target_of(path, root, None)
        if own.is_dir() and any(own.glob("*.json")):
            shutil.copytree(own, entries / own.relative_to(root), dirs_exist_ok=True)
            keep.update(_kept_in(own))
            copied, there = copied + 1, there + sum(1 for _ in own.glob("*.json"))
        else:
            files.append(File(path, target_of(path, root, entries), root, start=path))
    choices = Choices(entries, keep=EVERY_KIND, keep_bodyless=True)
    found = [one for one in import_all(files, choices) if one.interactions]
    keep.update(kind for one in found for kind in one.keep)
    hosts = tuple(sorted({host for one in found for host in one.hosts}))
    (entries / HOSTS).write_text(json.dumps(hosts), encoding="ascii")
    outcomes = Counter(str(row.outcome) for one in found for row in one.rows if row.outcome is not Outcome.FOREIGN)
    if there:
        outcomes["there"] = there
    return Brought(len(found) + copied, copied, outcomes, hosts, tuple(sorted(keep)))


def _kept_in(folder: Path) -> set[str]:
    """Name the kinds of bad answers in a cassette that its settings do not keep."""
    held = (entry.verdict for _, _, entry in Cassette(open_store(folder)).all() if isinstance(entry, Entry))
    kinds = (verdict.partition(":")[2] for verdict in held if verdict.startswith(f"{Kind.KEPT}:"))
    keep = load_settings(folder).keep
    return {kind for kind in kinds if not keeps(keep, kind)}


def _compared(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]], told: Sequence[Mapping[str, Any]]
) -> Iterator[Test]:
    differing: dict[str, list[Mapping[str, Any]]] = {}
    for one in told:
        differing.setdefault(one["id"], []).extend(each for each in one["differing"] if each["counts"])
    for name in dict.fromkeys([*before, *now]):
        was, is_now = before.get(name, {}).get("outcome", ""), now.get(name, {}).get("outcome", "")
        found = differing.get(name, [])
        kind = Comparison.SAME if was == is_now else Comparison.OTHERWISE
        kind = Comparison.BODY if was == "passed" and found else kind
        why = one_line(now.get(name, {}).get("why", ""), _TOLD_WHY) if is_now == "failed" else ""
        yield Test(name, kind, was, is_now, tuple(found), why)
