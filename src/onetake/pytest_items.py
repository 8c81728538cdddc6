"""What holds for one collected test: its markers, its own cassette, its settings, and its session while it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from onetake import legacy_book
from onetake.errors import OnetakeError, UsageError
from onetake.model import Mode
from onetake.options import FromOutside, Options, without_secrets
from onetake.pytest_reports import RunningTest, is_worker
from onetake.pytest_vcr_serving import is_marked
from onetake.settings import Settings, load_settings
from onetake.settings_values import nearest

ARGUMENTS = tuple(field for field in Options.__dataclass_fields__ if field not in ("name", "spared"))
"""What the marker takes by keyword, besides the name."""
FOLDER_END = "~fixture"
"""What the name of a fixture's folder ends in, and that of no test's."""
running = pytest.StashKey[RunningTest]()
"""A test's session, in the stash of its item, from its opening to the last report."""
told = pytest.StashKey[list[RunningTest]]()
"""Every session of the run, in the stash of the configuration."""
_settings_of = pytest.StashKey[dict[Path, Settings]]()


def is_ours(item: pytest.Item) -> bool:
    """Tell whether a test has the marker, or vcrpy's where that is free, or asks for the `cassette` fixture."""
    return item.get_closest_marker("cassette") is not None or _asks_for_ours(item) or is_marked(item)


def is_skip(error: BaseException) -> bool:
    """Tell whether an error is a skip, which must not hide a refusal: it is no failure."""
    unittest = sys.modules.get("unittest")
    return isinstance(error, pytest.skip.Exception) or (unittest is not None and isinstance(error, unittest.SkipTest))


def open_session(item: pytest.Item) -> RunningTest:
    """Open a test's session; where that is wrong the test fails with what is wrong."""
    from onetake import pytest_vcr
    from onetake.session_run import SessionRun  # the first session loads what serves it, and no suite without markers

    with failing():
        options, owned = options_of(item)
        settings = settings_of(item.config, item.path)
        options = legacy_book.narrowed(options, settings, _id_of(item))
        preparing = pytest_vcr.preparing_of(item)
        with pytest_vcr.mode_of(item):
            run = SessionRun(
                options, settings, Mode.NONE, _id_of(item), node=node_of(item), owned=owned, preparing=preparing
            )
        scope = run.open(ambient=True)
    test = RunningTest(run.test, run, scope, alone=not is_worker(item.config))
    item.stash[running] = test
    item.config.stash.setdefault(told, []).append(test)
    return test


@contextmanager
def failing() -> Iterator[None]:
    """Fail the test that is about to run with what is wrong with a marker or the settings, not with our own insides."""
    try:
        yield
    except OnetakeError as error:
        from onetake.scrub import shown

        # From none: pytest would print what it came from too, which says the same.
        raise pytest.fail.Exception(f"onetake: {shown(str(error))}", pytrace=False) from None


def options_of(item: pytest.Item) -> tuple[Options, bool]:
    """Return what the markers of a test say, the nearest first, and whether its cassette is its own.

    Raises:
        UsageError: A marker has an argument that is none.
    """
    from onetake import pytest_vcr

    said = said_by(item)
    own = said.get("name") is None
    said["name"] = own_folder(item) if own else said["name"]
    fixed = pytest_vcr.fixed_in(item)
    return (FromOutside(**said, mode_by=fixed) if fixed else Options(**said)), own


def said_by(node: pytest.Item | pytest.Collector) -> dict[str, Any]:
    """Return what the markers of a test, a class or a module say, the nearest first; ours go before vcrpy's.

    Raises:
        UsageError: A marker has an argument that is none.
    """
    from onetake import pytest_vcr

    said: dict[str, Any] = {}
    for marker in node.iter_markers("cassette"):
        said = {**_arguments(marker), **said}
    return {**pytest_vcr.said_by(node), **said}


def settings_of(config: pytest.Config, file: Path) -> Settings:
    """Return the settings that hold for what a file defines: those of the file nearest above it, read once a run.

    Args:
        config: Of the run.
        file: What defines it.
    """
    from onetake import pytest_vcr_places

    known = config.stash.setdefault(_settings_of, {})
    folder = file.parent
    if folder not in known:
        known[folder] = pytest_vcr_places.settings_for(config, load_settings(file))
    return known[folder]


def shown_id(item: pytest.Item) -> str:
    """Return a test's id without the secrets in it."""
    from onetake.scrub import Scrubber

    scrubber = Scrubber()
    with suppress(OnetakeError):  # what is wrong with the settings is said where they count
        scrubber = Scrubber(settings_of(item.config, item.path).scrub)
    return scrubber.begin().text(item.nodeid)


def _id_of(item: pytest.Item) -> str:
    """Return a test's id without the group that pytest-xdist writes behind it."""
    own = f"{item.parent.nodeid}::{item.name}" if item.parent else item.nodeid
    return own if item.nodeid.startswith(own) else str(item.nodeid)


def node_of(item: pytest.Item) -> str:
    """Return a test's id as pytest takes it from the folder where it was started."""
    return node_in(item.config, item.path, _id_of(item))


def node_in(config: pytest.Config, file: Path, test: str) -> str:
    """Return the id of a test in a file as pytest takes it from the folder where it was started."""
    try:
        path = os.path.relpath(file, config.invocation_params.dir)
    except ValueError:  # another drive
        return test
    return Path(path).as_posix() + "".join(test.partition("::")[1:])


def _arguments(marker: pytest.Mark) -> dict[str, Any]:
    for word in marker.kwargs:
        if word not in ("name", *ARGUMENTS):
            names = ("name", *ARGUMENTS)
            hint = nearest(word, names, f"it takes {', '.join(names)}")
            raise UsageError(f"the cassette marker has no argument {word!r}{hint}")
    if len(marker.args) + ("name" in marker.kwargs) > 1:
        raise UsageError("the cassette marker takes one positional argument, the cassette's name, once")
    return {**dict(zip(("name",), marker.args, strict=False)), **marker.kwargs}


def own_folder(item: pytest.Item) -> Path:
    """Return a test's own cassette: `cassettes/<test module>/<Class.test name[params]>/` beside the test."""
    from onetake import pytest_vcr, pytest_vcr_places
    from onetake.scrub import Scrubber

    names = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    default = item.path.parent / "cassettes" / item.path.stem, ".".join([*names, item.name])
    folder, name = pytest_vcr.place_of(item) or default
    own = without_secrets(name, Scrubber(settings_of(item.config, item.path).scrub))
    return folder / pytest_vcr_places.folder_name_in(folder, own)


def _asks_for_ours(item: pytest.Item) -> bool:
    """Tell whether a test asks for our `cassette` fixture, or for one that is built on it, and not for another's."""
    asked: Any = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).get("cassette")
    return bool(asked) and (asked[-1].func.__module__ == "onetake.pytest_plugin" or "cassette" in asked[-1].argnames)
