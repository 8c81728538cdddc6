"""`onetake contract` and `onetake contract freeze`: what they print, write and end with."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import pytest

from onetake import dialects
from onetake.format import dump_entry, load_entry
from onetake.model import ContractRef
from onetake.upkeep.checking import check

MODULE = """
from pydantic import BaseModel, field_validator

print("a module that prints")


class Items(BaseModel):
    label: str
    tags: list[str]

    @field_validator("label")
    @classmethod
    def known(cls, label):
        if label == "odd":
            raise ValueError("no such label")
        return label
"""
SETTINGS = '[contracts.items]\nschema = "frozen_items:Items"\nschema_version = 2\nwatch = ["frozen_items.py"]\n'
FILE = '[contracts.file]\nschema = "file.json"\n'


@pytest.fixture
def forget():
    """Return a function that forgets the project's module, as a new process would; it is forgotten at the end, too."""

    def forget():
        sys.modules.pop("frozen_items", None)

    yield forget
    forget()


@pytest.fixture
def typed(project, monkeypatch, forget):
    """A project with the contract `items`, a type, and the contract `file`, a file."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a changed module of the same second must be read again
    (project / "frozen_items.py").write_text(MODULE)
    (project / "onetake.toml").write_text(SETTINGS + FILE)
    (project / "file.json").write_text('{"type": "object", "properties": {"a": {}}, "required": ["a"]}')
    return project


def told(done):
    code, out, _ = done
    return code, json.loads(out)


def change(project, forget, old, new):
    path = project / "frozen_items.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    forget()


def test_a_type_is_frozen_and_told_with_its_digest(run, typed):
    code, out, err = run("contract", "freeze")
    assert (code, err) == (0, "a module that prints\n")
    first, second, last = out.splitlines()
    assert first == "written: schemas/items.json"
    assert second.startswith("  contract items, of frozen_items:Items, digest ")
    assert last == "validators of a type are in no schema: `onetake check --import` asks them, too"
    schema = json.loads((typed / "schemas/items.json").read_text())
    assert second[-64:] in schema["$comment"]
    assert schema["unevaluatedProperties"] is False
    assert run("contract", "freeze")[1].startswith("unchanged: schemas/items.json\n")


def test_check_says_whether_the_file_is_what_the_type_gives_and_writes_nothing(run, typed, forget):
    code, document = told(run("contract", "freeze", "--check", "--json"))
    (one,) = document["contracts"]
    assert (code, document["failed"], one["state"], one["why"]) == (1, True, "missing", "is not there")
    assert not (typed / "schemas").exists()
    run("contract", "freeze")
    assert told(run("contract", "freeze", "--check", "--json"))[0] == 0
    change(typed, forget, "label: str", 'label: str\n    """Its docstring."""')
    assert told(run("contract", "freeze", "--check", "--json"))[0] == 0
    change(typed, forget, "list[str]", "list[int]")
    before = (typed / "schemas/items.json").read_bytes()
    code, document = told(run("contract", "freeze", "--check", "--json"))
    (one,) = document["contracts"]
    assert (code, one["state"], one["path"], one["name"]) == (1, "outdated", "schemas/items.json", "items")
    assert one["why"].startswith("is out of date: frozen_items:Items gives another schema today")
    assert (typed / "schemas/items.json").read_bytes() == before
    code, out, _ = run("contract", "freeze", "items")
    assert (code, out.splitlines()[0]) == (0, "written: schemas/items.json")
    assert run("contract", "freeze", "--check")[0] == 0


def test_the_place_is_the_settings_to_say(run, typed, forget):
    (typed / "onetake.toml").write_text(SETTINGS + 'frozen = "own/place.json"\n')
    assert run("contract", "freeze")[1].startswith("written: own/place.json\n")
    (typed / "own/place.json").write_text("{}")
    code, out, err = run("contract", "freeze")
    assert (code, out) == (2, "")
    assert "own/place.json is there, and was not written by `onetake contract freeze`" in err
    assert told(run("contract", "freeze", "--check", "--json"))[1]["contracts"][0]["state"] == "outdated"


def test_nothing_is_written_where_one_of_several_cannot_be(run, typed):
    (typed / "schemas").mkdir()
    (typed / "schemas/zoo.json").write_text("{}")
    (typed / "onetake.toml").write_text(SETTINGS + '[contracts.zoo]\nschema = "frozen_items:Items"\n')
    assert run("contract", "freeze")[0] == 2
    assert not (typed / "schemas/items.json").exists()
    code, document = told(run("contract", "freeze", "--check", "--json"))
    assert [one["state"] for one in document["contracts"]] == ["missing", "outdated"]
    assert code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["itms"], "contract 'itms' is not declared in the settings; did you mean 'items'?"),
        (["nope"], "contract 'nope' is not declared in the settings (they declare 'items', 'file')"),
        (["file"], "contract 'file' is the file file.json: only a type can be frozen"),
    ],
)
def test_what_cannot_be_frozen_is_a_wrong_use(run, typed, words, said):
    assert run("contract", "freeze", *words) == (2, "", f"onetake: {said}\n")


def test_a_module_that_ends_the_program_while_it_is_imported(run, typed, forget):
    (typed / "frozen_items.py").write_text("raise SystemExit('no database')")
    code, out, err = run("contract", "freeze")
    assert (code, out) == (2, "")
    assert "frozen_items:Items broke: SystemExit: no database" in err


def test_without_a_type_there_is_nothing_to_freeze(run, project):
    assert run("contract", "freeze") == (0, "no contract is declared by a type: there is nothing to freeze\n", "")
    assert run("contract") == (0, "0 contracts declared\n", "")


def test_the_contracts_are_listed_and_nothing_is_imported(run, typed):
    code, document = told(run("contract", "--json"))
    items, file = document["contracts"]
    assert code == 0
    assert "frozen_items" not in sys.modules
    assert items.pop("watch_digest") is not None
    assert items == {
        "name": "items",
        "schema": "frozen_items:Items",
        "schema_version": 2,
        "on": "text",
        "watch": ["frozen_items.py"],
        "digest": None,
        "frozen": None,
        "lint": [],
        "why": None,
    }
    assert (file["lint"], len(file["digest"]), file["watch_digest"]) == (["$.properties.a: any value passes"], 64, None)
    out = run("contract")[1]
    assert "  digest          not known: `onetake contract --import` imports the type\n" in out
    assert "  loose           $.properties.a: any value passes\n" in out


def test_a_type_is_told_as_it_was_frozen_or_as_it_is_imported(run, typed, forget):
    run("contract", "freeze")
    forget()
    frozen = told(run("contract", "--json"))[1]["contracts"][0]
    assert (frozen["frozen"], len(frozen["digest"])) == ("schemas/items.json", 64)
    assert "frozen_items" not in sys.modules
    change(typed, forget, "list[str]", "list[int]")
    assert told(run("contract", "--json"))[1]["contracts"][0]["digest"] == frozen["digest"]
    code, document = told(run("contract", "--import", "--json"))
    assert (code, document["contracts"][0]["digest"] != frozen["digest"]) == (1, True)
    assert "schemas/items.json is out of date" in document["contracts"][0]["why"]


def test_a_contract_that_is_wrong_does_not_hide_the_others(run, typed):
    (typed / "file.json").write_text('{"typ": "object"}')
    code, out, _ = run("contract")
    assert code == 1
    assert "  wrong           contract 'file': unknown keyword 'typ'" in out
    assert out.startswith("items\n")


def test_options_before_the_word_freeze_are_a_wrong_use(run, typed):
    code, _, err = run("contract", "--json", "freeze")
    assert (code, err) == (2, "onetake: options of `onetake contract freeze` stand behind that word\n")


# What a check makes of it


@pytest.fixture
def recorded(typed, store, make_entry):
    """Record two entries of the type's contract: one as it should be, one that only a validator refuses."""
    (typed / "onetake.toml").write_text(SETTINGS.replace("watch", "# watch"))
    ref = ContractRef("items", 2, "ab" * 32)
    texts = [json.dumps({"label": label, "tags": ["a"]}) for label in ("bug", "odd")]
    return store(*[make_entry(text, said=text, contract=ref) for text in texts])


def codes(root, **options):
    return [one.code.value for one in check(root, **options).findings]


def test_a_check_without_import_judges_by_the_frozen_schema(run, typed, forget, recorded):
    assert codes(typed) == ["unchecked", "unchecked", "not-imported"]
    run("contract", "freeze")
    forget()
    (found,) = check(typed).findings
    assert (found.code, found.severity, found.path.name, found.line) == ("frozen-schema", "info", "onetake.toml", 2)
    assert "judged by its frozen schema; validators of the type are in no schema" in found.message
    good, odd = recorded
    entry = load_entry(good.read_bytes(), lambda name: None)
    said = entry.response.body.replace(b'[\\"a\\"]', b"[7]")
    assert said != entry.response.body
    response = replace(entry.response, body=said)
    answer = dialects.find(entry.request.method, entry.request.url).read(entry.request, response).answer
    good.write_bytes(dump_entry(replace(entry, response=response, answer=answer))[0])
    assert next((one.code, one.path) for one in check(typed).findings) == ("breaks-contract", good)
    assert "frozen_items" not in sys.modules
    broken = [one.path for one in check(typed, importing=True).findings]
    assert sorted(broken) == sorted([good, odd])


def test_a_check_with_import_finds_a_frozen_schema_that_is_out_of_date(run, typed, forget, recorded):
    run("contract", "freeze")
    change(typed, forget, "tags: list[str]", "tags: list[str] | None")
    assert codes(typed) == ["frozen-schema"]
    (found, validator) = sorted(check(typed, importing=True).findings, key=lambda one: one.code.value, reverse=True)
    assert (found.code, found.severity) == ("outdated-schema", "error")
    assert found.path == typed / "schemas/items.json"
    assert found.mend == "onetake contract freeze items"
    assert (validator.code, validator.path) == ("breaks-contract", recorded[1])


def test_a_frozen_schema_that_was_changed_by_hand_judges_nothing(run, typed, forget, recorded):
    run("contract", "freeze")
    forget()
    path = typed / "schemas/items.json"
    path.write_text(path.read_text().replace('"string"', '"integer"'))
    assert codes(typed) == ["unchecked", "unchecked", "outdated-schema", "not-imported"]


def test_a_schema_of_the_users_own_at_the_usual_place_is_let_be(typed, recorded):
    (typed / "schemas").mkdir()
    (typed / "schemas/items.json").write_text("{}")
    assert codes(typed) == ["unchecked", "unchecked", "not-imported"]
