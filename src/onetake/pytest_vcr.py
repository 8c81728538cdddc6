"""The `vcr` marker of vcrpy's plugins, served by us where none of them is active, or where `--onetake-vcr` says so."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from onetake import modes
from onetake.errors import UsageError
from onetake.printable import counted
from onetake.pytest_vcr_places import cassette_name, moved, without_ending
from onetake.stores.naming import folder_name

if TYPE_CHECKING:
    from onetake.preparing import Preparing
    from onetake.vcrwords.configuration import Configuration

_OPTION = ("recording", "cassetter")
"""Plugins that define `--record-mode` too: pytest stops when two do, so theirs is read where they are there."""
_MARKER = {"recording": "pytest-recording", "vcr": "pytest-vcr", "cassetter": "cassetter"}
"""Plugins that serve the `vcr` marker, by their entry points, and what they are called."""
_HOOK = "pytest_recording_configure"
_REPORTED = "onetake_vcr"
"""The attribute of a report that names what of the test's configuration does not act here."""
_LONGEST = 255

_acts = pytest.StashKey[bool]()
_given = pytest.StashKey["_Given"]()
_configured = pytest.StashKey["Configuration"]()
_found = pytest.StashKey["_Notes"]()


@dataclass(frozen=True, slots=True)
class _Given:
    """What the fixtures and the hook of a test say."""

    said: Mapping[str, Any]
    matchers: Mapping[str, Any]
    folder: Path | None
    name: str


class _Hooks:
    """What pytest-recording declares, for a suite that goes on using it without that."""

    @staticmethod
    def pytest_recording_configure(config: pytest.Config, vcr: Any) -> None:
        """Register matchers and the like, and set keys of the configuration as attributes."""


def option_comes(manager: pytest.PytestPluginManager) -> bool:
    """Tell whether another plugin defines `--record-mode`, also one that is loaded after us."""
    return any(_comes(manager, name) for name in _OPTION)


def recording_comes(manager: pytest.PytestPluginManager) -> bool:
    """Tell whether pytest-recording is or will be there, with its own options and its hook."""
    return _comes(manager, "recording")


def add_hook(manager: pytest.PytestPluginManager) -> None:
    """Declare pytest-recording's hook, where that does not do so itself."""
    if not recording_comes(manager) and not hasattr(manager.hook, _HOOK):
        manager.add_hookspecs(_Hooks)


def configure(config: pytest.Config) -> None:
    """Serve the `vcr` marker where that is asked for, or where no plugin does and nobody has declared it.

    Raises:
        pytest.UsageError: It is asked for beside a plugin that cannot stand aside.
    """
    config.stash[_found] = _Notes(config)
    config.pluginmanager.register(config.stash[_found], "onetake-vcr")
    served = [name for name in _MARKER if config.pluginmanager.has_plugin(name)]
    declared = any(re.match(r"vcr\b", line) for line in config.getini("markers"))
    if asked(config) and (others := [name for name in served if name != "recording"]):
        raise pytest.UsageError(f"--onetake-vcr beside {_MARKER[others[0]]}: switch that off by -p no:{others[0]}")
    config.stash[_acts] = asked(config) or (not declared and not served)
    if not config.stash[_acts]:
        return
    if not declared:
        config.addinivalue_line("markers", "vcr(*cassettes, **configuration): as `cassette`, said in vcrpy's words")
    if "recording" not in served:
        config.addinivalue_line("markers", "block_network(*, allowed_hosts): let the test reach no other hosts")
        config.addinivalue_line("markers", "default_cassette(name): name the test's cassette")


def acts(config: pytest.Config) -> bool:
    """Tell whether we serve the `vcr` marker in this run."""
    return config.stash[_acts]


def is_marked(item: pytest.Item) -> bool:
    """Tell whether a test has the `vcr` marker and we serve it."""
    config = item.config
    acts = config.stash.get(_acts, False) and not config.getoption("--disable-recording", False)
    return bool(acts) and item.get_closest_marker("vcr") is not None


def read_fixtures(request: pytest.FixtureRequest) -> None:
    """Read the fixtures and the hook by which a test's cassette is configured.

    Args:
        request: The test's.
    """
    item = request.node
    if not is_marked(item):
        return
    from onetake.vcrwords.configuration import Registry

    registry = Registry()
    if hook := getattr(item.config.hook, _HOOK, None):
        hook(config=item.config, vcr=registry)
    config, folder = _value(request, "vcr_config"), _value(request, "vcr_cassette_dir")
    said = {**registry.said, **(config if isinstance(config, Mapping) else {})}
    if allowed := _value(request, "allowed_hosts"):
        said["allowed_hosts"] = allowed
    name = str(_value(request, "default_cassette_name") or cassette_name(item))
    item.stash[_given] = _Given(said, registry.matchers, Path(folder) if folder else None, name)


def configuration_of(item: pytest.Item) -> Configuration:
    """Return a marked test's configuration.

    Raises:
        UsageError: Something in it has no equal here.
    """
    if _configured not in item.stash:
        from onetake.vcrwords.configuration import Configuration

        given = item.stash.get(_given, None)
        item.stash[_configured] = Configuration(_said_in_vcrpys_words(item), given.matchers if given else {})
    return item.stash[_configured]


def preparing_of(item: pytest.Item) -> Preparing | None:
    """Return what a marked test's configuration does to requests and answers; None for any other test.

    Raises:
        UsageError: Something in it has no equal here.
    """
    return configuration_of(item).preparing if is_marked(item) else None


@contextmanager
def mode_of(item: pytest.Item) -> Iterator[None]:
    """Have a `record_mode` of the configuration go before the option in the block, as in pytest-recording."""
    if not is_marked(item) or "record_mode" not in _said_in_vcrpys_words(item):
        yield
        return
    before = modes.set_flag(None)
    try:
        yield
    finally:
        modes.set_flag(before)


def said_by(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    """Return what the `vcr` markers of a test, a class or a module say in our words, the nearest first.

    Raises:
        UsageError: A test's markers name several cassettes that are there.
    """
    if not node.config.stash.get(_acts, False):
        return {}
    said = dict(filter(None, (_in_our_words(word, value) for word, value in _said_in_vcrpys_words(node).items())))
    if isinstance(node, pytest.Item) and (shared := _shared(node)) is not None:
        said["name"] = shared
    return said


def place_of(item: pytest.Item) -> tuple[Path, str] | None:
    """Return the folder that a marked test's own cassette lies in, and its name; None for any other test."""
    given = item.stash.get(_given, None)
    if given is None:
        return None
    said = _said_in_vcrpys_words(item)
    folder = Path(said.get("cassette_library_dir") or given.folder or item.path.parent / "cassettes" / item.path.stem)
    name, suffix = given.name, str(said.get("serializer") or ".yaml")
    if len(name) + len(suffix) > _LONGEST:
        digest = hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()
        name = f"{name[: _LONGEST - len(suffix) - len(digest) - 3]}...{digest}"
    if transform := said.get("path_transformer"):
        path = Path(transform(str(folder / name)))
        folder, name = path.parent, path.name
    return moved(item.config, folder), without_ending(name)


def asked(config: pytest.Config) -> bool:
    """Tell whether the command line says that we serve what is vcrpy's."""
    return bool(config.getoption("onetake_vcr", False) or config.getoption("onetake_vcr_entries", None))


def note(report: pytest.TestReport, item: pytest.Item, *, legacy: bool) -> None:
    """Have a test's last report name what of its configuration does not act here.

    Args:
        report: One of the test's.
        item: The test.
        legacy: True where its settings have imported entries go by vcrpy's rule.
    """
    if report.when != "teardown" or not is_marked(item) or _configured not in item.stash:
        return
    notes = item.stash[_configured].notes(legacy=legacy)
    said, option = _said_in_vcrpys_words(item).get("record_mode"), item.config.getoption("--record-mode", None)
    if said and option and getattr(said, "value", said) != option:
        notes.append(f"record_mode = {getattr(said, 'value', said)} goes before --record-mode={option}")
    if notes:
        vars(report)[_REPORTED] = notes


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

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take in what a report names, of this process or of a worker."""
        if _REPORTED in vars(report):
            self.tests[report.nodeid] = vars(report)[_REPORTED]

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> list[str]:
        """Say which plugin serves the `vcr` marker, where two could and this project has settings of ours."""
        served = [name for name in _MARKER if self._config.pluginmanager.has_plugin(name)]
        if not served or not any(item.get_closest_marker("vcr") for item in items):
            return []
        name, other = served[0], _MARKER[served[0]]
        if self._config.stash[_acts]:
            return [
                f"onetake serves the vcr marker (--onetake-vcr); {other} stands aside: -p no:{name} switches it off"
            ]
        if not _has_settings(items):
            return []
        return [f"{other} serves the vcr marker; --onetake-vcr has onetake do so, -p no:onetake switches that off"]


def _has_settings(items: list[pytest.Item]) -> bool:
    from onetake.settings_files import nearest_file

    return any(nearest_file(folder) is not None for folder in {item.path.parent for item in items})


def _said_in_vcrpys_words(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    given = node.stash.get(_given, None)
    said = dict(given.said) if given else {}
    for marker in reversed(list(node.iter_markers("vcr"))):
        said |= marker.kwargs
    return said


def _shared(item: pytest.Item) -> Path | None:
    """Return a cassette that is not the test's own: what `default_cassette` names, or the one of its markers'.

    As in pytest-recording those of the markers are read besides its own and never written, so they count where they
    are there. A session has one cassette.
    """
    place = place_of(item)
    if place is None:
        return None
    own = place[0] / folder_name(place[1])
    named = [_named(path, place[0], item) for marker in item.iter_markers("vcr") for path in marker.args]
    there = [path for path in dict.fromkeys([own, *named]) if path.is_dir()]
    if len(there) > 1:
        merge = f"move the files of {there[1].name} into {there[0]}: entries of several cassettes may lie in one"
        raise UsageError(f"{len(there)} cassettes for one test, and a session has one: {merge}")
    if there and there[0] != own:
        return there[0]
    return own if item.get_closest_marker("default_cassette") is not None else None


def _named(path: str | Path, folder: Path, item: pytest.Item) -> Path:
    """Return the folder that a marker's path means, from the folder of the test's own cassette."""
    if Path(path).is_absolute():
        file = Path(path)
        return moved(item.config, file.parent) / folder_name(without_ending(file.name))
    file = Path(os.path.normpath(folder / path))
    return file.parent / folder_name(without_ending(file.name))


def _in_our_words(word: str, value: Any) -> tuple[str, Any] | None:
    """Return an argument of vcrpy's as ours; None for one that a session does not take."""
    match word:
        case "record_mode":
            return "mode", getattr(value, "value", value)
        case "allow_playback_repeats":
            return "repeats", "same" if value else "sequence"
        case "ignore_hosts":
            hosts = [value] if isinstance(value, str) else list(value or ())
            return "ignore", [f"[{host}]" if ":" in host else host for host in hosts if isinstance(host, str)]
        case _:
            return None


def _comes(manager: pytest.PytestPluginManager, name: str) -> bool:
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return manager.has_plugin(name)
    there = {point.name for point in metadata.entry_points(group="pytest11")}
    return name in there and not manager.is_blocked(name)


def _value(request: pytest.FixtureRequest, name: str) -> Any:
    try:
        return request.getfixturevalue(name)
    except pytest.FixtureLookupError:
        return None
