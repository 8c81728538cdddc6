"""Where the cassettes of tests that are marked `vcr` lie: by the names that pytest-recording gives them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from onetake.settings import ContractSettings, Settings
from onetake.settings_values import EVERY_KIND
from onetake.stores.naming import folder_name
from onetake.vcrwords.naming import file_name


def cassette_name(item: pytest.Item) -> str:
    """Return the name that pytest-recording gives a test's cassette."""
    marker = item.get_closest_marker("default_cassette")
    if marker is not None and marker.args:
        return str(marker.args[0])
    owner = getattr(item, "cls", None)
    return file_name(f"{owner.__name__}.{item.name}" if owner else item.name)


def folder_name_in(folder: Path, name: str) -> str:
    """Return what a test's own cassette is called in a folder.

    Args:
        folder: Where the cassettes of its module lie.
        name: The test's, with its classes.

    Returns:
        Our name; where nothing has that, and an import is there under the name that pytest-recording gives, that one.
    """
    ours, theirs = folder_name(name), folder_name(file_name(name))
    if ours == theirs or (folder / ours).is_dir() or not (folder / theirs).is_dir():
        return ours
    from onetake.cassette import Cassette
    from onetake.imported import imported_from
    from onetake.model import Entry
    from onetake.stores.directory import DirectoryStore

    held = (entry for _, _, entry in Cassette(DirectoryStore(folder / theirs)).all() if isinstance(entry, Entry))
    return theirs if any(map(imported_from, held)) else ours


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
        contracts={name: _from(settings.root, one) for name, one in settings.contracts.items()},
    )


def _from(root: Path, contract: ContractSettings) -> ContractSettings:
    """Return a declared contract whose files are found from any folder."""
    from onetake.contract import names_type

    schema = contract.schema if names_type(contract.schema) else str(root / contract.schema)
    return replace(contract, schema=schema, watch=tuple(str(root / file) for file in contract.watch))
