"""The settings page has every setting, keyword of the marker and environment variable, and no other."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from onetake import settings
from onetake.options import Options
from onetake.settings import ContractSettings, Credentials, KeyRules, MaxAge, ScrubRules, Settings, load_settings

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
SRC = ROOT / "src" / "onetake"
PARTS = {"max_age.": MaxAge, "key.": KeyRules, "contracts.NAME.": ContractSettings, "scrub.": ScrubRules}


def rows(heading: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head."""
    section = re.split(r"^## ", PAGE.split(f"## {heading}\n", 1)[1], flags=re.MULTILINE)[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


def names(cell: str) -> list[str]:
    """Return what a cell has in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def declared() -> list[str]:
    """Return the names of all settings, dotted, as the dataclasses have them."""
    found = []
    for field in dataclasses.fields(Settings):
        part = next((part for part in PARTS if part.split(".")[0] == field.name), None)
        if part is not None:
            found += [part + inner.name for inner in dataclasses.fields(PARTS[part]) if inner.name != "name"]
        elif field.name not in ("root", "prefix"):
            found.append(field.name)
    return found


def test_the_table_has_every_setting_in_the_order_of_the_code():
    told = [row[0] for row in rows("Settings") if row[0] != "none"]
    assert sorted(told) == sorted(f"`{name}`" for name in declared())
    assert len(told) == len(set(told))


def test_every_name_that_is_read_is_in_the_table():
    told = {names(row[0])[0].split(".")[0] for row in rows("Settings") if row[0] != "none"}
    assert set(settings._READERS) == told


def test_every_row_says_all_of_it():
    for setting, kind, default, marker, variable, meaning in rows("Settings"):
        assert kind, setting
        assert meaning, setting
        assert default, setting
        assert marker == "none" or names(marker), setting
        assert variable == "none" or names(variable), setting


def test_every_keyword_of_the_marker_is_in_its_column_and_no_other():
    told = {names(row[3])[0] for row in rows("Settings") if row[3] != "none"}
    assert told == {field.name for field in dataclasses.fields(Options)} - {"spared"}


def test_the_defaults_are_those_of_the_code(tmp_path):
    default = load_settings(tmp_path)
    told = {names(row[0])[0]: names(row[2])[:1] for row in rows("Settings") if row[0] != "none"}
    words = {
        (): "[]",
        "raise": '"raise"',
        "fail": '"fail"',
        "whole": '"whole"',
        "text": '"text"',
        "warn": '"warn"',
        1: "1",
        None: '"schemas/NAME.json"',
    }
    for name in ("keep", "hosts", "ignore", "quiet", "on_reject", "refusals", "match"):
        assert told[name] == [words[getattr(default, name)]]
    for part, kind in PARTS.items():
        for field in dataclasses.fields(kind):
            if field.default is not dataclasses.MISSING:
                assert told[part + field.name] == [words[field.default]]
    assert default.credentials == Credentials({}, {})
    assert default.contracts == default.key.origins == {}
    assert told["credentials"] == told["key.origins"] == ["{}"]
    assert default.max_age is None
    assert default.mode is default.repeats is None


def test_every_variable_of_the_source_is_in_the_table_and_no_other():
    told = {name for row in rows("Environment") for name in names(row[0])}
    assert told == set().union(*(variables(path) for path in SRC.rglob("*.py")))
    in_settings = {names(row[4])[0] for row in rows("Settings") if row[4] != "none"}
    assert (
        in_settings
        == {"ONETAKE_MODE", "ONETAKE_CASSETTE"}
        == {n for n in told if n[:8] == "ONETAKE_"} - {"ONETAKE_SESSION", "ONETAKE_USAGE"}
    )


def variables(path: Path) -> set[str]:
    """Return the environment variables that a source file names: ours by their prefix, others by how they are read."""
    found: set[str] = set()
    source = path.read_text(encoding="utf-8")
    if not re.search(r"ONETAKE_|environ|getenv", source):
        return found
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and re.fullmatch(r"ONETAKE_[A-Z_]+", str(node.value)):
            found.add(str(node.value))
        elif isinstance(node, ast.Call) and re.search(r"environ\.|getenv", ast.unparse(node.func)):
            found |= texts(node.args)
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("environ"):
            found |= texts([node.slice])
        elif isinstance(node, ast.Compare) and any(
            ast.unparse(other).endswith("environ") for other in node.comparators
        ):
            found |= texts([node.left])
    return found


def texts(nodes: list[ast.expr]) -> set[str]:
    words = {node.value for node in nodes[:1] if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return {word for word in words if re.fullmatch(r"[A-Z][A-Z_]+", word)}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('os.environ.get("A_B", "x")', {"A_B"}),
        ('os.getenv("A_B")', {"A_B"}),
        ('os.environ["A_B"]', {"A_B"}),
        ('"A_B" in os.environ', {"A_B"}),
        ('NAME = "ONETAKE_X"', {"ONETAKE_X"}),
        ('other.get("A_B")', set()),
    ],
)
def test_how_variables_are_found(line, found, tmp_path):
    (tmp_path / "a.py").write_text(line, encoding="utf-8")
    assert variables(tmp_path / "a.py") == found
