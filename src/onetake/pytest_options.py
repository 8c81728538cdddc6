"""The options of the pytest plugin, each of them only where no other plugin has one of that name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from onetake import pytest_vcr_serving
from onetake.settings import MODE_WORDS

_OURS: Mapping[str, Mapping[str, Any]] = {
    "--unused": {
        "dest": "onetake_unused",
        "choices": ("ignore", "warn", "fail"),
        "default": "warn",
        "help": "what to do about entries that no test of a whole, green run used (default: warn)",
    },
    "--unmarked": {
        "dest": "onetake_unmarked",
        "choices": ("ignore", "warn", "fail"),
        "help": "what to do about tests without a cassette that reach a model: ignore, warn (the default where any"
        " test has a cassette), fail (refuse the call, and fail the test)",
    },
    "--onetake-report": {"metavar": "FILE", "help": "write what the run did, as JSON, to this file"},
    "--onetake-vcr": {
        "action": "store_true",
        "help": "serve the vcr marker and the fixtures of pytest-recording, also where that is active",
    },
    "--onetake-vcr-entries": {
        "metavar": "DIR",
        "help": "as --onetake-vcr, with cassettes, settings and all that is written under DIR (for onetake migrate)",
    },
}
_RECORD_MODE = {
    "choices": MODE_WORDS,
    "help": "none (replay only, the default), once, new_episodes, all (ask everything again), off (no cassettes)",
}


def add_options(parser: pytest.Parser, manager: pytest.PytestPluginManager) -> None:
    """Add our options; of another plugin's `--record-mode` its own is read, and the others have names of ours within.

    Args:
        parser: pytest's.
        manager: Which knows the plugins that are loaded after us.
    """
    for name, what in _OURS.items():
        _add(parser, name, **what)
    if not pytest_vcr_serving.recording_comes(manager):
        _add_recordings(parser)
    if not pytest_vcr_serving.option_comes(manager):
        _add(parser, "--record-mode", **_RECORD_MODE)


def _add_recordings(parser: pytest.Parser) -> None:
    """Add the options of pytest-recording, for command lines and `addopts` that go on saying them."""
    for name, what in {
        "--block-network": "let no test without a recording cassette reach the network",
        "--disable-recording": "give no test that is marked vcr a cassette",
    }.items():
        _add(parser, name, action="store_true", help=what)
    _add(parser, "--allowed-hosts", help="hosts that --block-network lets through: regexes, by commas")


def _add(parser: pytest.Parser, name: str, **what: Any) -> None:
    # Looked up first: pytest 8.0 meets a clash only when it reads the command line, where we cannot catch it.
    if name not in _taken(parser):
        parser.getgroup("onetake", "record and replay model calls").addoption(name, **what)


def _taken(parser: pytest.Parser) -> Iterator[str]:
    """Yield the names of the options that there are; pytest has no public way to ask for them."""
    for group in (parser._anonymous, *parser._groups):
        for option in group.options:
            yield from option.names()
