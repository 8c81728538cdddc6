"""Stored answers under the contract of today."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest


def test_a_raised_schema_version(folder):
    (path,) = folder.record()
    folder.settings("schema_version = 2")
    (found,) = folder.findings()
    assert (found.code, found.severity, found.line) == ("schema-bumped", "error", folder.line_of(path, '"contract"'))
    assert found.message == "it was recorded under 'items' schema_version 1, which is 2 today"
    assert found.mend == "pytest --record-mode=new_episodes tests/test_a.py::test_b"


def test_a_tightened_schema_names_exactly_the_answers_that_break_it(folder, answer, items):
    """The frozen bug: tags were recorded as one text, under a contract that let anything pass."""
    loose = {"type": "object", "properties": {"label": {"type": "string"}, "tags": {}}, "required": ["label", "tags"]}
    folder.schema(loose)
    paths = folder.record(("good", answer), ("bad", json.dumps({"label": "bug", "tags": "a, b"})))
    assert folder.check() == [
        ("loose-contract", "items.json", "contract 'items' is loose: $.properties.tags: any value passes")
    ]
    folder.schema(items)
    (found,) = folder.findings()
    (bad,) = [path for path in paths if '"bad"' in path.read_text()]
    assert (found.code, found.severity, found.path) == ("breaks-contract", "error", bad)
    assert found.message == ("its answer breaks contract 'items' (violation)\n$.tags: expected array, found \"a, b\"")
    assert found.mend == "pytest --record-mode=new_episodes tests/test_a.py::test_b"


def test_a_watched_file_that_changed(folder):
    parser = folder.root / "parse.py"
    parser.write_text("def parse(text):\n    return text\n")
    folder.settings('watch = ["parse.py"]')
    (path,) = folder.record()
    assert folder.codes() == []
    parser.write_text('"""Parses."""\n\n\ndef parse(text):\n    # As it came.\n    return text\n')
    assert folder.codes() == []
    parser.write_text("def parse(text):\n    return text.strip()\n")
    (found,) = folder.findings()
    assert (found.code, found.severity) == ("predates-parser", "warning")
    assert f"onetake show {path.as_posix()}" in found.message
    assert "--record-mode=all tests/test_a.py::test_b" in found.message


def test_what_predates_the_parser_is_said_not_to_be_judged_as_well(folder):
    parser = folder.root / "parse.py"
    parser.write_text("def parse(text):\n    return text\n")
    folder.settings('watch = ["parse.py"]')
    folder.record()
    folder.settings('watch = ["parse.py"]\non = "tool:save"')
    assert folder.codes() == ["unchecked"]
    parser.write_text("def parse(text):\n    return text.strip()\n")
    assert folder.codes() == ["predates-parser", "unchecked"]
    assert folder.findings()[1].message == (
        "nothing judges its answer: contract 'items' does not select it today (on = 'tool:save')"
    )


def test_a_watched_file_that_is_gone_is_told_once_of_its_contract_and_stops_nothing(folder, answer):
    parser = folder.root / "parse.py"
    parser.write_text("x = 1\n")
    folder.settings('watch = ["parse.py"]')
    paths = folder.record(("one", answer), ("two", answer))
    (torn,) = folder.record(("three", answer), contract=None, folder="cassettes/torn")
    torn.write_text("{")
    parser.unlink()
    gone = f"contract 'items' watches 'parse.py', and there is no such file from {str(folder.root)!r}"
    unknown = f"unknown whether the files that 'items' watches have changed since it was recorded: {gone}"
    found = folder.findings()
    assert [(one.code, one.path, one.severity) for one in found] == [
        *(("predates-parser", path, "warning") for path in paths),
        ("broken", torn, "error"),
        ("broken", folder.root / "onetake.toml", "error"),
    ]
    assert [one.message for one in found[:2]] == [unknown, unknown]
    assert (found[-1].message, found[-1].line) == (gone, 4)
    assert {one.mend for one in (*found[:2], found[-1])} == {
        "put the file back where it can be read, or mend `watch` of the contract"
    }
    parser.write_text("x = 1\n")
    assert [one.path for one in folder.findings()] == [torn]


def test_a_watched_file_that_is_gone_hides_nothing_else_of_the_entry(folder, items):
    (folder.root / "parse.py").write_text("x = 1\n")
    folder.settings('watch = ["parse.py"]')
    folder.record()
    (folder.root / "parse.py").unlink()
    items["properties"]["label"] = {"type": "integer"}
    folder.schema(items)
    assert folder.codes() == ["breaks-contract", "broken"]
    folder.settings('watch = ["parse.py"]\non = "tool:save"')
    assert folder.codes() == ["predates-parser", "unchecked", "broken"]


def test_a_contract_that_is_declared_nowhere_is_the_schema_beside_the_entry(folder, answer):
    (path,) = folder.record()
    (folder.root / "onetake.toml").write_text("")
    assert folder.codes() == []
    (schema,) = (path.parent / "_schemas").iterdir()
    other = json.dumps({"label": "bug", "tags": []})
    folder.edit_answer(path, answer, other)
    assert folder.codes() == []
    folder.edit_answer(path, other, json.dumps({"label": "bug", "tags": [1]}))
    assert folder.codes() == ["breaks-contract"]
    schema.unlink()
    (found,) = folder.findings()
    assert (found.code, found.severity) == ("unchecked", "warning")


def test_tool_calls_under_a_contract_that_is_declared_nowhere(folder, direct):
    calls = [{"id": "c1", "function": {"name": name, "arguments": json.dumps(arguments)}} for name, arguments in
             (("find", {"q": 1}), ("sort", {"label": "bug", "tags": []}))]  # fmt: skip
    folder.settings('on = "tool:sort"')
    folder.record(("x", direct.said(None, "tool_calls", tool_calls=calls)))
    (folder.root / "onetake.toml").write_text("")
    assert folder.codes() == []
    folder.settings('on = "tool:find"')
    assert folder.codes() == ["breaks-contract"]
    folder.settings('on = "tool:drop"')
    assert folder.codes() == ["unchecked"]


def test_a_good_entry_without_a_contract_that_breaks_its_own_request(folder, direct, items):
    strict = {"type": "json_schema", "json_schema": {"name": "items", "strict": True, "schema": items}}
    (path,) = folder.record((direct.chat("x", response_format=strict), '{"label": "bug", "tags": []}'), contract=None)
    assert folder.codes() == []
    folder.edit_answer(path, '{"label": "bug", "tags": []}', '{"label": "bug", "tags": {}}')
    assert folder.codes() == ["breaks-contract"]


MODULE = """
from pydantic import BaseModel, field_validator


class Items(BaseModel):
    label: str
    tags: list[str]

    @field_validator("label")
    @classmethod
    def known(cls, label):
        if label not in ("bug", "wish"):
            raise ValueError("no such label")
        return label
"""


def test_a_type_is_imported_only_when_asked(folder, monkeypatch, answer):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder.root / "own_items.py").write_text(MODULE)
    folder.settings(top='[contracts.typed]\nschema = "own_items:Items"')
    try:
        (path,) = folder.record(contract="typed")
        sys.modules.pop("own_items")
        folder.edit_answer(path, answer, answer.replace("bug", "odd"))
        (found,) = folder.findings()
        assert "own_items" not in sys.modules
        assert (found.code, found.severity, found.path.name, found.line) == ("not-imported", "info", "onetake.toml", 2)
        assert folder.codes(importing=True) == ["breaks-contract"]
        assert "own_items" in sys.modules
    finally:
        sys.modules.pop("own_items", None)


def test_project_code_that_breaks_on_import_stops_nothing_until_it_is_imported(folder):
    (folder.root / "breaks_items.py").write_text("raise RuntimeError('no database')\n")
    folder.record()
    folder.settings(top='[contracts.typed]\nschema = "breaks_items:Items"')
    assert folder.codes() == ["not-imported"]
    folder.record(contract=None, folder="cassettes/other")
    (found,) = folder.findings(importing=True)
    assert (found.code, found.severity, found.path.name, found.line) == ("broken", "error", "onetake.toml", 2)
    assert found.message == "contract 'typed': breaks_items:Items broke: RuntimeError: no database"


@pytest.mark.parametrize("damage", [Path.unlink, lambda schema: schema.write_text('{"type": "objekt"}')])
def test_a_contract_that_is_wrong_is_told_once_and_stops_nothing(folder, answer, damage):
    paths = folder.record(("one", answer), ("two", answer))
    (torn,) = folder.record(("three", answer), contract=None, folder="cassettes/torn")
    torn.write_text("{")
    damage(folder.root / "items.json")
    found = folder.findings()
    assert [(one.code, one.path, one.severity) for one in found] == [
        *(("unchecked", path, "warning") for path in paths),
        ("broken", torn, "error"),
        ("broken", folder.root / "onetake.toml", "error"),
    ]
    assert found[-1].message.startswith("contract 'items': ")
    assert [one.message for one in found[:2]] == [f"nothing judges its answer: {found[-1].message}"] * 2
    assert found[-1].line == folder.line_of(folder.root / "onetake.toml", "schema =")
    assert {one.mend for one in (*found[:2], found[-1])} == {
        "put that right, or mend `schema` of the contract in the settings"
    }


def test_a_damaged_schema_is_told_once_and_not_for_each_entry(folder, answer):
    path, _ = folder.record(("one", answer), ("two", answer))
    (folder.root / "onetake.toml").write_text("")
    (schema,) = (path.parent / "_schemas").iterdir()
    schema.write_text("{")
    (found,) = folder.findings()
    assert (found.code, found.path) == ("broken", schema)
