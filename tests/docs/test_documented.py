"""Everything that a user can give, get or see is on its reference page, and no more: the build fails otherwise.

The settings and the environment have a test of their own, `tests/test_settings_page.py`.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest
from _pytest.config.argparsing import Parser

import onetake
from onetake import errors, exits, model, pytest_items, pytest_plugin
from onetake.cli import commands
from onetake.dialects import Dialect
from onetake.stores import Store

REFERENCE = Path(__file__).parents[2] / "docs/reference"
HOW_TO = REFERENCE.parent / "how-to"
API, CLI, ERRORS, GATE, GLOSSARY, MODES, PYTEST = (
    (REFERENCE / f"{name}.md").read_text(encoding="utf-8")
    for name in ("api", "cli", "errors", "gate", "glossary", "modes", "pytest")
)


def section(page: str, title: str) -> str:
    """Return the part of a page under a heading of the second level."""
    return re.split(r"^## ", page.split(f"\n## {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(part: str) -> set[str]:
    """Return the names in the first cells of a table."""
    return set(re.findall(r"^\| `(\w+)(?:\(\))?` \|", part, re.MULTILINE))


# The command line


def all_commands(group=commands, path=()):
    """Every command with its words, groups in groups too."""
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        yield (*path, name), command
        if hasattr(command, "commands"):
            yield from all_commands(command, (*path, name))


COMMANDS = {" ".join(words): command for words, command in all_commands()}


def words_of(parameter) -> list[str]:
    """Return how a parameter is written in the table of its command."""
    long = [option for option in parameter.opts if option.startswith("--")]
    return long or [parameter.human_readable_name.strip("[].")]


def test_every_command_has_its_section_and_no_other_has():
    assert set(re.findall(r"^## `onetake ([a-z ]+)`$", CLI, re.MULTILINE)) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_argument_and_option_is_in_the_table_of_its_command(name):
    tables = re.findall(r"^\|.*?\n(?!\|)", section(CLI, f"`onetake {name}`"), re.MULTILINE | re.DOTALL)
    told = set(re.findall(r"^\| `([^` ]+)", tables[0] if tables else "", re.MULTILINE))
    assert told == {word for parameter in COMMANDS[name].params for word in words_of(parameter)}


@pytest.mark.parametrize("name", sorted(name for name, command in COMMANDS.items() if not hasattr(command, "commands")))
def test_every_command_has_json(name):
    assert "--json" in [option for parameter in COMMANDS[name].params for option in parameter.opts]


def test_every_option_of_onetake_itself_is_there():
    assert [option for parameter in commands.params for option in parameter.opts if f"`{option}`" not in CLI] == []


def exit_codes(page: str) -> set[int]:
    """Return the codes of a table whose first cells are codes."""
    cells = re.findall(r"^\| ([\d, ]+) \|", section(page, "Exit codes"), re.MULTILINE)
    return {int(code) for cell in cells for code in cell.split(",")}


def test_every_exit_code_is_in_both_tables():
    assert {int(code) for code in exits.Exit} == exit_codes(CLI)
    assert exit_codes(CLI) == exit_codes(ERRORS)


GENERAL = {exits.Exit.OK, exits.Exit.USAGE, exits.Exit.DAMAGE, exits.Exit.INTERRUPTED, exits.Exit.UNREAD}
"""What any command may end with, by an error or a key; of these the table need name no command."""

BY_WHAT_CAME = {
    "batch retry": {4, 7, 75, 143},
    "batch run": {4, 6, 7, 75, 143},
    "demo": {6},
    "probe": {3, 4},
    "run": {1, 5, 6, 143},
}
"""Codes that a command names nowhere: its report, its batch or its session says them, or an error that it lets pass."""


def named_codes(command) -> set[int]:
    """Return the exit codes that a command names, and the functions of its module that it calls."""
    function = inspect.unwrap(command.callback)
    module = ast.parse(inspect.getsource(inspect.getmodule(function)))
    bodies = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    ahead, seen, codes = [function.__name__], set(), set()
    while ahead:
        seen.add(name := ahead.pop())
        nodes = list(ast.walk(bodies[name]))
        codes |= {exits.Exit[n.attr] for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "Exit"}
        ahead += {n.id for n in nodes if isinstance(n, ast.Name)} & bodies.keys() - seen
    return {int(code) for code in codes}


def test_what_each_command_ends_with_is_in_the_table_and_no_more():
    told = defaultdict(set)
    for code, text in re.findall(r"^\| (\d+) \| (.*) \|$", section(CLI, "Exit codes"), re.MULTILINE):
        for name in re.findall(r"`([a-z ]+)`(?=:|, `)", text):
            told[name].add(int(code))
    assert told.keys() <= COMMANDS.keys()
    for name, command in COMMANDS.items():
        given = named_codes(command) | BY_WHAT_CAME.get(name, set())
        assert given - GENERAL <= told[name] <= given, name


# pytest


def plugin_options() -> list[str]:
    """Return the options that the plugin gives to pytest."""
    parser = Parser(_ispytest=True)
    pytest_plugin.pytest_addoption(parser, pytest.PytestPluginManager())
    return [name for group in parser._groups for option in group.options for name in option.names()]


def test_every_option_of_the_plugin_is_there():
    options = plugin_options()
    assert "--record-mode" in options
    assert [option for option in options if not re.search(rf"`{option}\b", PYTEST)] == []


def test_the_marker_is_written_down_with_all_its_arguments():
    assert f"`cassette(name=None, *, {', '.join(pytest_items.ARGUMENTS)})`" in PYTEST


def test_the_fixture_names_what_a_session_has():
    told = set(re.findall(r"`(\w+)(?:\(\))?`", section(PYTEST, "`cassette`")))
    assert {name for name in vars(onetake.Session) if not name.startswith("_")} <= told


# Python


def test_every_public_name_is_on_its_page():
    kinds = {name for name in onetake.__all__ if hasattr(errors, name)}
    assert kinds == rows(ERRORS) | {"OnetakeError", "Refusal"}
    headings = " ".join(re.findall(r"^## .*", API, re.MULTILINE))
    assert [name for name in set(onetake.__all__) - kinds if not re.search(rf"\b{name}\b", headings)] == []


@pytest.mark.parametrize(
    ("title", "function", "without"),
    [
        ("`onetake.use_cassette(name, …)`", onetake.use_cassette, set()),
        ("`onetake.recorded`", onetake.recorded, {"function"}),
        ("`onetake.probe(path=None, …)`", onetake.probe, set()),
    ],
)
def test_every_argument_of_a_function_is_in_its_table_and_no_other(title, function, without):
    assert rows(section(API, title)) == set(inspect.signature(function).parameters) - without


@pytest.mark.parametrize("name", ["Contract", "install", "Batch"])
def test_every_argument_is_named(name):
    (title,) = re.findall(rf"^## (`onetake\.{name}\(.*)", API, re.MULTILINE)
    told = set(re.findall(r"`(\w+)`", section(API, title)))
    assert set(inspect.signature(getattr(onetake, name)).parameters) <= told


def test_every_name_of_a_session_is_there_and_no_other():
    assert rows(section(API, "Session")) == {name for name in vars(onetake.Session) if not name.startswith("_")}


ERROR_CLASSES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.OnetakeError) and not kind.__name__.endswith("AsException")
]


@pytest.mark.parametrize("kind", ERROR_CLASSES)
def test_every_error_has_its_place_in_the_tree_and_its_row(kind):
    tree = ERRORS.split("```")[1]
    (line,) = re.findall(rf"^.*\b{kind.__name__}\b.*$", tree, re.MULTILINE)
    if kind is not errors.OnetakeError:
        assert issubclass(kind, Exception) == ("also Exception" in line)
    assert kind in (errors.OnetakeError, errors.Refusal) or f"| `{kind.__name__}` |" in ERRORS


# Words


def test_every_mode_is_explained():
    assert {mode.value for mode in model.Mode} <= rows(MODES)


def test_every_kind_of_reject_is_a_row_of_the_gate():
    kinds = re.findall(r"`(\w+)`", inspect.getdoc(errors.ContractError.kind))
    assert kinds
    assert [kind for kind in kinds if f"a reject `{kind}`" not in GATE] == []


WORDS = """interaction, cassette, entry, request key, key spec, ordinal, mode, hit, miss, stale, unreadable, exhausted,
live, dialect, answer, contract, violation, verdict, advice, reject, scrub, provenance, adapter, store, refusal, ledger,
pending, loose, pinned, probe, drift, unused, prune, vouch"""


def test_every_word_of_ours_is_in_the_glossary_once():
    told = terms(GLOSSARY)
    assert len(told) == len(set(told))
    assert set(re.split(r",\s", WORDS)) <= set(told)
    for part in GLOSSARY.split("\n## "):
        assert terms(part) == sorted(terms(part))


def terms(part: str) -> list[str]:
    """Return the first cells of the glossary's tables, without their heads."""
    return re.findall(r"^\| (?!word \|)(\w[\w ]*) \| ", part, re.MULTILINE)


# What others build on


@pytest.mark.parametrize(("protocol", "page"), [(Store, "add-a-store.md"), (Dialect, "add-a-dialect.md")])
def test_every_member_that_an_extension_needs_is_on_its_page(protocol, page):
    text = (HOW_TO / page).read_text(encoding="utf-8")
    members = {name for name in dir(protocol) if not name.startswith("_")} | set(protocol.__annotations__)
    assert members
    assert [name for name in sorted(members) if not re.search(rf"\b{name}\b", text)] == []
