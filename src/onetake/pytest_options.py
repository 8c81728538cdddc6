"""The options of the pytest plugin, each of them only where no other plugin has one of that name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from onetake import pytest_vcr
from onetake.settings import MODE_WORDS


def add_options(parser: pytest.Parser, manager: pytest.PytestPluginManager) -> None:
    """Add our options; of another plugin's `--record-mode` its own is read, and the others have names of ours within.

    Args:
        parser: pytest's.
        manager: Which knows the plugins that are loaded after us.
    """
    _add(
        parser,
        "--unused",
        dest="onetake_unused",
        choices=("ignore", "warn", "fail"),
        default="warn",
        help="what to do about entries that no test of a whole, green run used (default: warn)",
    )
    _add(
        parser,
        "--unmarked",
        dest="onetake_unmarked",
        choices=("ignore", "warn", "fail"),
        default=None,
        help="what to do about tests without a cassette that reach a model: ignore, warn (the default where any"
        " test has a cassette), fail (refuse the call, and fail the test)",
    )
    _add(
        parser,
        "--onetake-report",
        metavar="FILE",
        default=None,
        help="write what the run did, as JSON, to this file",
    )
    if not pytest_vcr.option_comes(manager):
        _add(
            parser,
            "--record-mode",
            choices=MODE_WORDS,
            default=None,
            help="none (replay only, the default), once, new_episodes, all (ask everything again), off (no cassettes)",
        )


def _add(parser: pytest.Parser, name: str, **what: Any) -> None:
    # Looked up first: pytest 8.0 meets a clash only when it reads the command line, where we cannot catch it.
    if name not in _taken(parser):
        parser.getgroup("onetake", "record and replay model calls").addoption(name, **what)


def _taken(parser: pytest.Parser) -> Iterator[str]:
    """Yield the names of the options that there are; pytest has no public way to ask for them."""
    for group in (parser._anonymous, *parser._groups):
        for option in group.options:
            yield from option.names()
