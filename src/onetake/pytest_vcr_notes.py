"""What the summary says of vcrpy's configuration that does not act here, and which plugin serves the marker."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from onetake.printable import counted
from onetake.pytest_vcr_serving import MARKER, acts, is_marked, others_in

_REPORTED = "onetake_vcr"
"""The attribute of a report that names what of the test's configuration does not act here."""

_found = pytest.StashKey["_Notes"]()


def watch(config: pytest.Config) -> None:
    """Begin to take in what tests' reports name.

    Args:
        config: Of the run.
    """
    config.stash[_found] = _Notes(config)
    config.pluginmanager.register(config.stash[_found], "onetake-vcr")


def note(report: pytest.TestReport, item: pytest.Item, *, legacy: bool) -> None:
    """Have a test's last report name what of its configuration does not act here.

    Args:
        report: One of the test's.
        item: The test.
        legacy: True where its settings have imported entries go by vcrpy's rule.
    """
    if report.when != "teardown":
        return
    opened = item.config.stash[_found].opened
    notes = [*dict.fromkeys([*_of(item, legacy=legacy), *opened])]
    opened.clear()
    if notes:
        vars(report)[_REPORTED] = notes


def _of(item: pytest.Item, *, legacy: bool) -> list[str]:
    if not is_marked(item):
        return []
    from onetake import pytest_vcr

    return pytest_vcr.notes(item, legacy=legacy)


def add(config: pytest.Config, notes: Iterable[str]) -> None:
    """Name what does not act of a cassette that the present test opens by vcrpy's own `use_cassette`."""
    config.stash[_found].opened.extend(notes)


def lines(config: pytest.Config) -> list[str]:
    """Return what the summary says of configuration that does not act here, each thing once."""
    tests: dict[str, int] = {}
    for notes in config.stash[_found].tests.values():
        for one in notes:
            tests[one] = tests.get(one, 0) + 1
    return [f"vcr: {one} ({counted(number, 'test')})" for one, number in sorted(tests.items())]


class _Notes:
    """Collects, in every process of a run, what its tests' reports name; and says which plugin acts.

    Args:
        config: Of the run.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.tests: dict[str, list[str]] = {}
        self.opened: list[str] = []
        """What the present test's own `use_cassette` has named so far."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a report names, of this process or of a worker."""
        if _REPORTED in vars(report):
            self.tests[report.nodeid] = vars(report)[_REPORTED]

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Say which plugin serves the `vcr` marker, where two could and this project has settings of ours."""
        served = others_in(self._config)
        if not served or not any(item.get_closest_marker("vcr") for item in items):
            return []
        name, other = served[0], MARKER[served[0]]
        if acts(self._config):
            return [
                f"onetake serves the vcr marker (--onetake-vcr); {other} stands aside: -p no:{name} switches it off"
            ]
        if not _has_settings(items):
            return []
        return [f"{other} serves the vcr marker; --onetake-vcr has onetake do so, -p no:onetake switches that off"]


def _has_settings(items: list[pytest.Item]) -> bool:
    from onetake.settings_files import nearest_file

    return any(nearest_file(folder) is not None for folder in {item.path.parent for item in items})
