"""What plugins of vcrpy's kind claim, and their `vcr` marker where none of them does: then it opens a cassette."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from onetake.printable import counted

_OPTION = ("recording", "cassetter")
"""Plugins that define `--record-mode` too: pytest stops when two do, so theirs is read where they are there."""
_MARKER = ("recording", "vcr", "cassetter")
"""Plugins that serve the `vcr` marker: pytest-recording, pytest-vcr and cassetter, by their entry points."""
_REPORTED = "onetake_vcr"
"""The attribute of a report that names the arguments of the marker that its test gave and that mean nothing here."""
_FILE = re.compile(r"[.](?:ya?ml|json)$", re.IGNORECASE)

_free = pytest.StashKey[bool]()
_configured = pytest.StashKey[tuple[dict[str, Any], Path | None]]()
_found = pytest.StashKey["_PassedOver"]()


def option_comes(manager: pytest.PytestPluginManager) -> bool:
    """Tell whether another plugin defines `--record-mode`, also one that is loaded after us."""
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return any(map(manager.has_plugin, _OPTION))
    there = {point.name for point in metadata.entry_points(group="pytest11")}
    return any(name in there and not manager.is_blocked(name) for name in _OPTION)


def configure(config: pytest.Config) -> None:
    """Declare the `vcr` marker, unless another plugin serves it or anyone has declared it."""
    config.stash[_found] = _PassedOver()
    config.pluginmanager.register(config.stash[_found], "onetake-vcr")
    declared = any(re.match(r"vcr\b", line) for line in config.getini("markers"))
    config.stash[_free] = not declared and not any(map(config.pluginmanager.has_plugin, _MARKER))
    if config.stash[_free]:
        config.addinivalue_line("markers", "vcr(name=None, *, record_mode): as `cassette`, said in vcrpy's words")


def is_marked(item: pytest.Item) -> bool:
    """Tell whether a test has the `vcr` marker and that is free."""
    return item.config.stash.get(_free, False) and item.get_closest_marker("vcr") is not None


def read_fixtures(request: pytest.FixtureRequest) -> None:
    """Read the fixtures by which the plugins of vcrpy are configured, `vcr_config` and `vcr_cassette_dir`, for a test.

    Args:
        request: The test's.
    """
    if not is_marked(request.node):
        return
    config = _value(request, "vcr_config")
    folder = _value(request, "vcr_cassette_dir")
    said = dict(config) if isinstance(config, Mapping) else {}
    request.node.stash[_configured] = said, Path(folder) if folder else None


def said_by(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    """Return what the `vcr` markers of a test, a class or a module say in our words, the nearest first."""
    return dict(filter(None, (_in_our_words(word, value) for word, value in _said_in_vcrpys_words(node).items())))


def folder_of(item: pytest.Item) -> Path | None:
    """Return where the cassettes of a `vcr` test lie by its `vcr_cassette_dir`; None where there is none."""
    return item.stash.get(_configured, ({}, None))[1]


def note(report: pytest.TestReport, item: pytest.Item) -> None:
    """Have a test's last report name the arguments that mean nothing here.

    Args:
        report: One of the test's.
        item: The test.
    """
    if report.when == "teardown" and (words := _passed_over(item)):
        vars(report)[_REPORTED] = words


class _PassedOver:
    """Collects, in every process of a run, what its tests' reports name."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a report names, of this process or of a worker."""
        if _REPORTED in vars(report):
            self.tests[report.nodeid] = vars(report)[_REPORTED]


def lines(config: pytest.Config) -> list[str]:
    """Return the summary's one line about arguments of the `vcr` marker that mean nothing here, or none."""
    tests = config.stash[_found].tests
    words = sorted({word for named in tests.values() for word in named})
    if not words:
        return []
    said = f"vcr marker or vcr_config: {', '.join(words)}: without meaning for onetake"
    return [f"{said}, passed over in {counted(len(tests), 'test')}"]


def _said_in_vcrpys_words(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    if not node.config.stash.get(_free, False):
        return {}
    said: dict[str, Any] = dict(node.stash.get(_configured, ({}, None))[0])
    for marker in reversed(list(node.iter_markers("vcr"))):
        said |= {**dict(zip(("name",), marker.args[:1], strict=False)), **marker.kwargs}
    return said


def _passed_over(item: pytest.Item) -> list[str]:
    """Return what the markers of a test say that means nothing here."""
    if not is_marked(item):
        return []
    words = {word for word, value in _said_in_vcrpys_words(item).items() if _in_our_words(word, value) is None}
    several = any(len(marker.args) > 1 for marker in item.iter_markers("vcr"))
    return sorted(words | ({"more than one cassette"} if several else set()))


def _in_our_words(word: str, value: Any) -> tuple[str, Any] | None:
    """Return an argument of vcrpy's as ours; None for one that means nothing here."""
    match word:
        case "name":
            return "name", _FILE.sub("", str(value)) if isinstance(value, str | Path) else value
        case "record_mode":
            return "mode", getattr(value, "value", value)
        case "allow_playback_repeats":
            return "repeats", "same" if value else "sequence"
        case "ignore_hosts":
            return "ignore", list(value or ())
        case _:
            return None


def _value(request: pytest.FixtureRequest, name: str) -> Any:
    try:
        return request.getfixturevalue(name)
    except pytest.FixtureLookupError:
        return None
