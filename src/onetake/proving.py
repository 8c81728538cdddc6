"""Run a suite under its old recorder and under onetake, and say what the two make of each test.

The project is not touched: what is imported, and all that onetake writes, lies in a temporary folder.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from onetake.errors import UsageError
from onetake.importers.importing import import_all
from onetake.importers.judging import Outcome
from onetake.importers.placing import Choices, File, target_of
from onetake.importers.reading import files_under
from onetake.printable import one_line
from onetake.settings_files import nearest_file
from onetake.settings_values import EVERY_KIND

HOSTS = "hosts.json"
"""The file that names the servers of the project's own, for the run under onetake."""
_LAST = 4000
"""Characters of pytest's own words that are told where it could not run."""
_TOLD_WHY = 400
_RAN = (0, 1)
"""Exit codes of pytest that ran its tests."""


class Found(StrEnum):
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
    found: Found
    before: str
    """Its outcome under the old recorder: `passed`, `failed`, `skipped`; empty where it did not run."""
    now: str
    """The same under onetake."""
    differing: tuple[Mapping[str, Any], ...] = ()
    """The answers that went to other requests, as in `--onetake-report`."""
    why: str = ""
    """Why it fails under onetake."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What two runs say of a suite."""

    tests: tuple[Test, ...]
    imported: Mapping[str, int] = field(default_factory=dict)
    """How many interactions were imported, and what became of the others, by outcome."""
    cassettes: int = 0

    def of(self, found: Found) -> list[Test]:
        """Return the tests of which a thing was found."""
        return [test for test in self.tests if test.found is found]


def prove(arguments: Sequence[str], say: Callable[[str], None]) -> Proof:
    """Run a suite twice, from the current folder.

    Args:
        arguments: pytest's.
        say: Told what is done now, in one line.

    Raises:
        UsageError: vcrpy is not installed, or pytest could not run.
    """
    if importlib.util.find_spec("vcr") is None or importlib.util.find_spec("pytest") is None:
        raise UsageError(f"migrate --check runs the suite as it is: install vcrpy and pytest beside {sys.executable}")
    if any(one.startswith(("--record-mode", "--vcr-record")) for one in arguments):
        raise UsageError("migrate --check records nothing: leave the record mode out")
    with tempfile.TemporaryDirectory(prefix="onetake-migrate-") as name:
        place = Path(name).resolve()
        say("1 of 3: the suite under its own recorder")
        before = _run(arguments, ["-p", "no:onetake", "--onetake-seal-vcrpy"], place / "before.json")
        root = Path(before["root"])
        say("2 of 3: import into a temporary folder")
        entries = place / "entries"
        imported, cassettes = _import(root, entries)
        say("3 of 3: the suite under onetake")
        report = place / "report.json"
        ours = [f"--onetake-vcr-entries={entries}", f"--onetake-report={report}", "--unused=ignore"]
        now = _run(arguments, ours, place / "now.json")
        told = json.loads(report.read_bytes())["tests"]
    tests = _compared(before["tests"], now["tests"], [_from_root(one, root) for one in told])
    return Proof(tuple(tests), imported, cassettes)


def _run(arguments: Sequence[str], ours: Sequence[str], outcomes: Path) -> dict[str, Any]:
    """Run pytest, and return what became of its tests."""
    own = [*ours, "-p", "no:cacheprovider", "-p", "onetake.pytest_outcomes", f"--onetake-outcomes={outcomes}"]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    if "no:onetake" not in ours:
        environment["ONETAKE_MODE"] = "none"
    command = [sys.executable, "-m", "pytest", *own, *arguments]
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode not in _RAN or not outcomes.exists():
        said = (done.stdout + done.stderr)[-_LAST:].strip()
        raise UsageError(f"pytest ended with {done.returncode}, so nothing can be compared:\n{said}")
    found: dict[str, Any] = json.loads(outcomes.read_bytes())
    return found


def _import(root: Path, entries: Path) -> tuple[Counter[str], int]:
    """Import all cassettes of a project into a folder, each at its place; what is imported already is copied."""
    entries.mkdir()
    _settings(root, entries)
    files, copied = [], 0
    for path in files_under([root]):
        there = target_of(path, root, None)
        if there.is_dir() and any(there.glob("*.json")):
            shutil.copytree(there, entries / there.relative_to(root), dirs_exist_ok=True)
            copied += 1
        else:
            files.append(File(path, target_of(path, root, entries), root))
    choices = Choices(entries, keep=EVERY_KIND, keep_bodyless=True)
    found = [one for one in import_all(files, choices) if one.interactions]
    hosts = sorted({host for one in found for host in one.hosts})
    (entries / HOSTS).write_text(json.dumps(hosts), encoding="ascii")
    outcomes = Counter(str(row.outcome) for one in found for row in one.rows if row.outcome is not Outcome.FOREIGN)
    return outcomes, len(found) + copied


def _settings(root: Path, entries: Path) -> None:
    """Have the project's settings hold for the import, too: its key rules, and what it scrubs."""
    found = nearest_file(root)
    if found is None:
        (entries / "onetake.toml").write_bytes(b"")
    else:
        shutil.copyfile(found.path, entries / found.path.name)


def _from_root(told: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Name the files of what differs from the project's folder; a fresh import names them from the folder above."""
    differing = []
    for one in told["differing"]:
        file = one["imported_from"]
        within = file if (root / file).exists() else file.removeprefix(f"{root.name}/")
        differing.append({**one, "imported_from": within})
    return {**told, "differing": differing}


def _compared(
    before: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]], told: Sequence[Mapping[str, Any]]
) -> Iterator[Test]:
    differing: dict[str, list[Mapping[str, Any]]] = {}
    for one in told:
        differing.setdefault(one["id"], []).extend(each for each in one["differing"] if each["counts"])
    for name in dict.fromkeys([*before, *now]):
        was, is_now = before.get(name, {}).get("outcome", ""), now.get(name, {}).get("outcome", "")
        found = differing.get(name, [])
        kind = Found.SAME if was == is_now else Found.OTHERWISE
        kind = Found.BODY if was == "passed" and found else kind
        why = one_line(now.get(name, {}).get("why", ""), _TOLD_WHY) if was != is_now else ""
        yield Test(name, kind, was, is_now, tuple(found), why)
