"""Fixtures of a wider scope: what one asks while it is set up and torn down is its own, whichever test came first."""

from __future__ import annotations

import functools
import inspect
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from onetake import pytest_making
from onetake.errors import OnetakeError
from onetake.pytest_items import is_ours
from onetake.pytest_reports import untold
from onetake.tracebacks import is_installed

FIXTURES = "onetake_fixtures"
"""The attribute of a report that holds the outcomes of the fixtures that were set up or torn down for it."""

OF_PYTEST = {
    "_unittest_setUpClass_fixture_": "setUpClass",
    "_xunit_setup_class_fixture_": "setup_class",
    "_xunit_setup_module_fixture_": "setup_module",
}
"""The fixtures that pytest makes of a test module's own functions."""

_users = pytest.StashKey[dict[Any, list[pytest.Item]]]()
"""The marked tests that use each fixture of a wider scope, in the stash of the configuration."""


def look_at(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Note which fixtures of a wider scope the marked tests use: all that were collected, also those left out later.

    Args:
        config: Of the run.
        items: What was collected.
    """
    users: dict[Any, list[pytest.Item]] = config.stash.setdefault(_users, defaultdict(list))
    for item in filter(is_ours, items):
        for definitions in getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).values():
            for definition in definitions:
                if definition.scope != "function":
                    users[definition].append(item)


@contextmanager
def session_of(definition: Any, request: Any) -> Iterator[None]:
    """Set a fixture up under a session of its own where it is of a wider scope and a marked test uses it.

    Args:
        definition: The fixture's.
        request: What it is set up for.
    """
    home = None if definition.scope == "function" else _home(definition, request)
    if home is None or not _is_for_ours(definition, request):
        yield
        return
    from onetake.pytest_fixture_sessions import set_up  # a suite without markers never comes here

    with set_up(definition, request, *home):
        yield


@contextmanager
def kept_error(definition: Any, request: Any) -> Iterator[None]:
    """Have pytest keep what a fixture's setup raised, as it keeps every `Exception`, also where it is a refusal.

    Args:
        definition: The fixture's.
        request: What it is set up for.

    Source: `_pytest.fixtures.FixtureDef` takes one that raised anything else for one that was never set up: it is not
        torn down, and its next setup stops at an assertion.
    """
    try:
        yield
    except (OnetakeError, BaseExceptionGroup, pytest.fail.Exception) as error:
        definition.cached_result = (None, definition.cache_key(request), (error, error.__traceback__))
        raise


def tell(config: pytest.Config, report: pytest.TestReport) -> None:
    """Add to a report what became of the fixtures that were set up or torn down since the last one.

    Args:
        config: Of the run.
        report: The report.
    """
    fixtures = config.stash.get(untold, [])
    for fixture in fixtures:
        vars(report).setdefault(FIXTURES, []).append(fixture.outcome())
        pytest_making.note(report, fixture.run, passed=fixture.passed)
    fixtures.clear()


def _is_for_ours(definition: Any, request: Any) -> bool:
    """Tell whether a marked test uses a fixture in this place of its scope: the one that comes first, or another."""
    item = request._pyfuncitem
    if is_ours(item):
        return True
    return any(
        request.node in user.listchain() and _uses(user, definition, request)
        for user in item.config.stash.get(_users, {}).get(definition, ())
    )


def _uses(user: pytest.Item, definition: Any, request: Any) -> bool:
    """Tell whether a test uses a fixture under the parameter that it is set up for now."""
    indices = getattr(getattr(user, "callspec", None), "indices", {})
    return bool(indices.get(definition.argname, request.param_index) == request.param_index)


def _home(definition: Any, request: Any) -> tuple[Path, str] | None:
    """Return the file that defines a fixture, and its name there; None for one of an installed plugin."""
    for start, name in OF_PYTEST.items():
        if definition.argname.startswith(start):
            classes = [node.name for node in request.node.listchain() if isinstance(node, pytest.Class)]
            return request.node.path, ".".join([*classes, name])
    function = inspect.unwrap(definition.func)
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    if code is None or is_installed(code.co_filename):
        return None
    classes = getattr(function, "__qualname__", "").split(".")[:-1]
    name = ".".join([*classes, definition.argname])
    return Path(code.co_filename), name + (f"[{_parameter(definition, request)}]" if hasattr(request, "param") else "")


def _parameter(definition: Any, request: Any) -> str:
    """Return how a fixture's parameter is called: as it says itself, by its value where that is plain, or by number."""
    index, ids = request.param_index, definition.ids
    own = ids(request.param) if callable(ids) else ids[index] if ids else None
    declared = definition.params[index] if definition.params else None
    own = own if own is not None else getattr(declared, "id", None)
    if isinstance(own, str | int | float | bool):
        return str(own)
    if isinstance(request.param, str | int | float | bool | None):
        return str(request.param)
    return f"{definition.argname}{index}"
