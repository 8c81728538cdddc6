"""The API page names everything that can be given and asked for."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import onetake

PAGE = (Path(__file__).parents[1] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return the part of the page under a heading."""
    return re.split(r"^## ", PAGE.split(f"## {title}", 1)[1], flags=re.MULTILINE)[0]


def rows(title: str) -> set[str]:
    """Return the first cells of a section's table."""
    return set(re.findall(r"^\| `(\w+)(?:\(\))?` \|", section(title), re.MULTILINE))


def test_every_argument_of_use_cassette_is_there_and_no_other():
    assert rows("`onetake.use_cassette(name, …)`") == set(inspect.signature(onetake.use_cassette).parameters)


def test_every_argument_of_recorded_is_there_and_no_other():
    assert rows("`onetake.recorded`") == set(inspect.signature(onetake.recorded).parameters) - {"function"}


def test_every_argument_of_a_contract_is_there():
    told = set(re.findall(r"`(\w+)`", section("`onetake.Contract(schema, …)`")))
    assert set(inspect.signature(onetake.Contract).parameters) <= told


def test_every_name_of_a_session_is_there_and_no_other():
    public = {name for name in vars(onetake.Session) if not name.startswith("_")}
    assert rows("Session") == public
