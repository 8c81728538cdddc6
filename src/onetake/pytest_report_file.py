"""`--onetake-report`: what a run did, as one JSON document, for CI and for other tools."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from onetake import pytest_usage
from onetake.changing import Anew
from onetake.provenance import now, version
from onetake.pytest_summary import Results, results_of

FORMAT = 1
"""The version of the document: it moves when a field goes or means something else, not when one is added."""

_COUNTS = ("replayed", "recorded", "replaced", "moved to the trash", "kept aside", "resumed")
_LISTS = ("rejected", "refusals", "remarks")


def watch(config: pytest.Config, path: str) -> None:
    """Have the report written.

    Args:
        config: Of the run, which is no worker's.
        path: Where it goes, from where pytest was started.
    """
    file = _ReportFile(config, config.invocation_params.dir / path, results_of(config))
    config.pluginmanager.register(file, "onetake-report")


class _ReportFile:
    """Writes the report at a run's end, also of a run that failed or was stopped; a plugin of the controller alone.

    Args:
        config: Of the run.
        path: Where it goes; an earlier one is replaced.
        results: What is known of the run.

    Raises:
        pytest.UsageError: There is no such folder, or a folder has that name.
    """

    def __init__(self, config: pytest.Config, path: Path, results: Results) -> None:
        self._config = config
        self._path = path
        self._results = results
        if path.is_dir() or not path.parent.is_dir():
            why = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            from onetake.scrub import shown  # only here: it is slow to load

            raise pytest.UsageError(shown(f"--onetake-report: {path}: {why}"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Write it when everything else has had its say about the exit status."""
        result = yield
        try:
            _write(self._path, self._document(int(session.exitstatus)))
        except OSError as error:
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            said = f"onetake: {self._path}: the report cannot be written: {error.strerror or error}"
            reporter = self._config.pluginmanager.get_plugin("terminalreporter")
            if reporter is not None:
                reporter.write_line(said, red=True)
        return result

    def _document(self, exit_status: int) -> dict[str, Any]:
        results, usage = self._results, pytest_usage.usage_report(self._config).as_json()
        counts = results.counts(self._config)
        strays = sorted(results.strays.values(), key=lambda stray: str(stray["test"]))
        return {
            "onetake_report": FORMAT,
            "onetake": version(),
            "ended_at": now(),
            "exit_status": exit_status,
            "counts": {name.replace(" ", "_"): number for name, number in counts.items()} | {"unmarked": len(strays)},
            "live": results.spent,
            "tests": [_test(outcome) for outcome in results.outcomes.values()],
            "late_refusals": results.late,
            "unmarked": [{name: stray[name] for name in ("test", "marked", "hosts", "refused")} for stray in strays],
            "unused": usage["unused"],
            "unused_unknown_because": usage.get("why", ""),
            "crashed_workers": results.crashed,
        }


def _test(outcome: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": outcome["test"],
        "kind": outcome.get("kind", "test"),
        "outcome": outcome["outcome"],
        "mode": outcome["mode"],
        "cassette": outcome["cassette"],
        **{name.replace(" ", "_"): outcome[name] for name in _COUNTS},
        **{name: outcome[name] for name in _LISTS},
        "asks_anew": str(Anew(**outcome["anew"])) if outcome["anew"] else "",
        "live": outcome["live"],
        "legacy": bool(outcome["legacy"]),
        "differing": outcome["legacy"].get("differing", []),
    }


def _write(path: Path, document: dict[str, Any]) -> None:
    """Write a document in ASCII, whole or not at all."""
    temp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temp.write_bytes(json.dumps(document, indent=2, ensure_ascii=True).encode("ascii") + b"\n")
        temp.replace(path)
    finally:
        temp.unlink(missing_ok=True)
