"""Where the cassettes of tests that are marked `vcr` lie: by the names that pytest-recording gives them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.settings import Settings
from onetake.settings_values import EVERY_KIND
from onetake.stores.naming import folder_name

_FILE = re.compile(r"[.](?:ya?ml|json)(?:[.]gz)?$", re.IGNORECASE)
_FORBIDDEN = re.compile(r"""[<>?%*:|"'/\\]""")


def cassette_name(item: pytest.Item) -> str:
    """Return the name that pytest-recording gives a test's cassette."""
    marker = item.get_closest_marker("default_cassette")
    if marker is not None and marker.args:
        return str(marker.args[0])
    owner = getattr(item, "cls", None)
    return _FORBIDDEN.sub("-", f"{owner.__name__}.{item.name}" if owner else item.name)


def folder_name_in(folder: Path, name: str) -> str:
    """Return what a test's own cassette is called in a folder.

    Args:
        folder: Where the cassettes of its module lie.
        name: The test's, with its classes.

    Returns:
        Our name; where nothing has that, and an import is there under the name that pytest-recording gives, that one.
    """
    ours, theirs = folder_name(name), folder_name(_FORBIDDEN.sub("-", name))
    if ours == theirs or (folder / ours).is_dir() or not (folder / theirs).is_dir():
        return ours
    from onetake.cassette import Cassette
    from onetake.imported import origin
    from onetake.model import Entry
    from onetake.stores.directory import DirectoryStore

    held = (entry for _, _, entry in Cassette(DirectoryStore(folder / theirs)).all() if isinstance(entry, Entry))
    return theirs if any(map(origin, held)) else ours


def without_ending(name: str) -> str:
    """Return a cassette's name without what tells a file's format."""
    return _FILE.sub("", name)


def moved(config: pytest.Config, folder: Path) -> Path:
    """Return where a folder of cassettes is: under `--onetake-vcr-entries`, at the place that it has in the project."""
    there = config.getoption("onetake_vcr_entries", None)
    if not there or not (whole := Path.cwd() / folder).is_relative_to(config.rootpath):
        return folder
    return Path(there) / whole.relative_to(config.rootpath)


def settings_for(config: pytest.Config, settings: Settings) -> Settings:
    """Return the settings that count: under `--onetake-vcr-entries` the project's, with that folder as theirs."""
    there = config.getoption("onetake_vcr_entries", None)
    if not there:
        return settings
    from onetake.proving import HOSTS  # with all that imports: only for that command

    root = Path(there)
    hosts = json.loads((root / HOSTS).read_bytes()) if (root / HOSTS).exists() else []
    return replace(
        settings,
        root=root,
        match="legacy",
        legacy_differing=None,
        keep=EVERY_KIND,
        hosts=(*settings.hosts, *hosts),
    )
