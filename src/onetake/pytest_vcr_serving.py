"""Whether the `vcr` marker is ours: where none of the plugins of vcrpy is active, or where `--onetake-vcr` says so."""

from __future__ import annotations

import os
import re
from importlib import metadata
from typing import Any

import pytest

MARKER = {"recording": "pytest-recording", "vcr": "pytest-vcr", "cassetter": "cassetter"}
"""Plugins that serve the `vcr` marker, by their entry points, and what they are called."""
HOOK = "pytest_recording_configure"
"""The hook of pytest-recording's by which a suite registers what is its own."""
_OPTION = ("recording", "cassetter")
"""Plugins that define `--record-mode` too: pytest stops when two do, so theirs is read where they are there."""

_acts = pytest.StashKey[bool]()


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
    if not recording_comes(manager) and not hasattr(manager.hook, HOOK):
        manager.add_hookspecs(_Hooks)


def others_in(config: pytest.Config) -> list[str]:
    """Name the plugins in this run, by their entry points, that serve the marker unless we do."""
    return [name for name in MARKER if config.pluginmanager.has_plugin(name)]


def configure(config: pytest.Config) -> None:
    """Serve the `vcr` marker where that is asked for, or where no plugin does and nobody has declared it.

    Raises:
        pytest.UsageError: It is asked for beside a plugin that cannot stand aside.
    """
    served = others_in(config)
    declared = any(re.match(r"vcr\b", line) for line in config.getini("markers"))
    if asked(config) and (others := [name for name in served if name != "recording"]):
        raise pytest.UsageError(f"--onetake-vcr beside {MARKER[others[0]]}: switch that off by -p no:{others[0]}")
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
    return config.stash.get(_acts, False)


def asked(config: pytest.Config) -> bool:
    """Tell whether the command line says that we serve what is vcrpy's."""
    return bool(config.getoption("onetake_vcr", False) or config.getoption("onetake_vcr_entries", None))


def command(config: pytest.Config) -> str:
    """Return how pytest is called so that the same plugin serves what is vcrpy's as in this run.

    Args:
        config: Of the run. What its `addopts` say, holds for other calls too.
    """
    given = getattr(config, "workerinput", {}).get("mainargv", config.invocation_params.args)
    said = [str(word).partition("=")[0] for word in given]
    off = [f"-p no:{name}" for name in MARKER if f"no:{name}" in said or f"-pno:{name}" in said]
    ours = ["--onetake-vcr"] if {"--onetake-vcr", "--onetake-vcr-entries"} & set(said) else []
    return " ".join(["pytest", *off, *ours])


def is_marked(item: pytest.Item) -> bool:
    """Tell whether a test has the `vcr` marker and we serve it."""
    serves = acts(item.config) and not item.config.getoption("--disable-recording", False)
    return serves and item.get_closest_marker("vcr") is not None


def _comes(manager: pytest.PytestPluginManager, name: str) -> bool:
    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return manager.has_plugin(name)
    there = {point.name for point in metadata.entry_points(group="pytest11")}
    return name in there and not manager.is_blocked(name)
