"""What the summary says of vcrpy's configuration that does not act here, and which plugin serves the marker."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from onetake.printable import counted
from onetake.pytest_vcr_serving import MARKER, acts, asked, is_marked, others_in

_REPORTED = "onetake_vcr"
"""The attribute of a report that names what of the test's configuration does not act here."""

_PLAYED = (
    "replayed by vcrpy, from its own files, although these are imported: `pytest --onetake-vcr` has onetake replay"
    " them; put that option into addopts"
)

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


def watch_vcrpy(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Have the summary name the tests whose cassettes vcrpy plays although they are imported; once all is collected.

    Args:
        config: Of the run.
        items: Its tests.
    """
    will_load = "recording" in others_in(config) and any(item.get_closest_marker("vcr") for item in items)
    is_there = "vcr.cassette" in sys.modules or (will_load and importlib.util.find_spec("vcr") is not None)
    if asked(config) or not is_there:
        return
    decorator = import_module("vcr.cassette").CassetteContextDecorator
    before = decorator.__enter__

    @functools.wraps(before)
    def enter(self: Any) -> Any:
        __tracebackhide__ = True
        opened = before(self)
        if _is_imported(Path(opened._path)):
            add(config, [_PLAYED])
        return opened

    def put_back() -> None:
        decorator.__enter__ = before

    decorator.__enter__ = enter  # no hook of ours: it is still another tool that starts, and a session must know it
    config.add_cleanup(put_back)


def _is_imported(file: Path) -> bool:
    """Tell whether entries of an import lie beside a file of vcrpy's."""
    from onetake.stores.naming import folder_name, parse_name
    from onetake.vcrwords.naming import without_ending

    folder = file.parent / folder_name(without_ending(file.name))
    return folder.is_dir() and any(parse_name(one.name) for one in folder.iterdir())


def first(config: pytest.Config) -> list[str]:
    """Return what the summary says before all else: that the entries are not what was replayed."""
    number = sum(_PLAYED in notes for notes in config.stash[_found].tests.values())
    return [f"{counted(number, 'test')} {_PLAYED}"] if number else []


def lines(config: pytest.Config) -> list[str]:
    """Return what the summary says of configuration that does not act here, each thing once."""
    tests: dict[str, int] = {}
    for notes in config.stash[_found].tests.values():
        for one in notes:
            tests[one] = tests.get(one, 0) + 1
    return [f"vcr: {one} ({counted(number, 'test')})" for one, number in sorted(tests.items()) if one != _PLAYED]


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
