from __future__ import annotations

import json
import sys
from pathlib import Path
from types import MappingProxyType

import pytest
from pydantic import BaseModel, Field

from onetake.contract import (
    Contract,
    as_contracts,
    names_type,
    stored_contract,
    unwatching,
    violations_as_written,
)
from onetake.errors import FormatError, UsageError
from onetake.model import Request, Violation
from onetake.settings import ContractSettings

SCORE = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}
REQUEST = Request("POST", "https://api.example.test/v1/chat/completions")


def score(**more):
    return Contract(SCORE, name="score", **more)


def told(text):
    return [str(violation) for violation in score().judge_text(text)]


def test_br_113_an_answer_that_breaks_its_schema_has_violations_and_the_right_one_none():
    assert told('{"score": "5"}') == ['$.score: expected integer, found "5"']
    assert told('{"score": 5}') == []


@pytest.mark.parametrize("text", ['{"score": NaN}', '{"score": -Infinity}', '[{"a": {"score": NaN}}]'])
def test_br_031_nan_is_no_json(text):
    (violation,) = score().judge_text(text)
    assert (violation.path, violation.expected) == ("$", "JSON")
    assert "is no JSON number" in violation.found


def test_br_032_a_key_twice_is_no_json():
    assert told('{"score":1,"score":5}') == [
        '$: expected JSON, found duplicate key \'score\': "{\\"score\\":1,\\"score\\":5}"'
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('```json\n{"score": 5}\n```', "a Markdown fence"),
        ("", "an empty text"),
        (" \n", "an empty text"),
        ("The score is 5.", 'text that begins "The score is 5."'),
        ("\n  The score is 5.", 'text that begins "The score is 5."'),
        ("Well, " * 100, 'text that begins "Well, Well, '),
        ('{"score": 5} done', 'JSON with more text behind it: "{'),
        ('{"score": }', "Expecting value: line 1 column 11 (char 10): "),
        ('{"score": 5', "Expecting ',' delimiter: "),
        ("[" * 100_000, "nested too deep"),
        ("9" * 5000, "Exceeds the limit"),
        ("\ud800", "text that begins "),
    ],
)
def test_text_that_is_no_json_is_one_violation_and_never_raises(text, why):
    (violation,) = score().judge_text(text)
    assert (violation.path, violation.expected) == ("$", "JSON")
    assert violation.found.startswith(why)
    assert len(violation.found) <= 110


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"score": 1e999}', "$.score: expected a JSON number, found inf"),
        ('{"score": "\\ud800"}', '$.score: expected text without lone surrogates, found "\\ud800"'),
    ],
)
def test_odd_values_are_violations(text, line):
    assert told(text) == [line]


def test_a_mapping_of_any_kind_and_a_file_are_schemas(tmp_path):
    (tmp_path / "score.json").write_text(
        '{"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"]}'
    )
    file = Contract(tmp_path / "score.json")
    assert (file.name, file.digest) == ("score", score().digest)
    assert Contract(MappingProxyType(SCORE), name="score").digest == file.digest
    assert Contract(str(tmp_path / "score.json"), name="other").name == "other"


def test_what_was_given_is_not_changed_and_what_is_handed_out_is_a_copy():
    contract = score()
    contract.schema["properties"].clear()
    assert contract.schema == SCORE | {"unevaluatedProperties": False}
    assert "unevaluatedProperties" not in SCORE


def test_a_mapping_needs_a_name():
    for name in (None, "", 5):
        with pytest.raises(UsageError, match="needs a name"):
            Contract(SCORE, name=name)


def test_errors_say_which_contract():
    with pytest.raises(UsageError, match=r"^contract 'score': unknown keyword 'requird'"):
        Contract({"requird": []}, name="score")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"schema_version": 0}, "schema_version is 0, and must be a whole number, 1 or more"),
        ({"schema_version": -1}, "schema_version is -1"),
        ({"schema_version": True}, "schema_version is True"),
        ({"schema_version": "1"}, "schema_version is '1'"),
        ({"on": "tools"}, "on is 'tools', and must be text, tool:NAME"),
        ({"on": "tool:"}, "on is 'tool:'"),
        ({"on": None}, "on is None"),
    ],
)
def test_wrong_arguments_are_refused(more, message):
    with pytest.raises(UsageError) as refused:
        score(**more)
    assert message in str(refused.value)


@pytest.mark.parametrize("on", ["text", "tool:search", "schema:items"])
def test_a_contract_selects_what_it_is_on(on):
    offered = ["text", "tool:search", "tool:other", "schema:items"]
    assert [one for one in offered if score(on=on).selects(REQUEST, one)] == [on]


def test_a_callable_is_asked_with_the_request():
    contract = score(on=lambda request: request.url.endswith("/completions"))
    assert contract.selects(REQUEST, "text")
    assert contract.selects(REQUEST, "tool:search")
    assert not contract.selects(Request("POST", "https://api.example.test/v1/embeddings"), "text")


def test_the_ref_is_what_an_entry_remembers(tmp_path):
    (tmp_path / "parse.py").write_text("x = 1")
    contract = score(schema_version=3, watch="parse.py")
    ref = contract.ref(tmp_path)
    assert (ref.name, ref.schema_version, ref.schema, len(ref.watch)) == ("score", 3, contract.digest, 64)
    assert score().ref(tmp_path).watch is None


def test_watched_files_are_read_once_for_each_root(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "parse.py").write_text("x = 1")
    contract = score(watch=["parse.py"])
    before = contract.ref(tmp_path / "one")
    for name in ("one", "two"):
        (tmp_path / name / "parse.py").write_text("x = 2")
    assert contract.ref(tmp_path / "one") == before
    assert contract.ref(tmp_path / "two") != before


def test_a_ref_counts_from_the_current_folder_where_no_root_is_given(tmp_path, monkeypatch):
    (tmp_path / "parse.py").write_text("x = 1")
    monkeypatch.chdir(tmp_path)
    assert score(watch=["parse.py"]).ref() == score(watch=["parse.py"]).ref(tmp_path)


def test_annotations_of_a_model_move_no_digest():
    def model(**annotations):
        class Item(BaseModel):
            a: int = Field(**annotations)

        return Contract(Item).digest

    assert model() == model(title="T", description="D", examples=[1])
    assert model() != model(ge=1)


def test_the_digest_of_a_type_is_pinned_over_pydantic_releases():
    class Item(BaseModel):
        """An item."""

        label: str = Field(description="what it is")
        size: int | None = None

    assert Contract(Item).digest == "01111a62845682ff1e15fb6dfad94b16c6cf722db36e16693ddcd15448b47169"


def test_lint_is_about_the_closed_schema():
    assert score().lint() == ()
    assert Contract({"type": "object", "required": ["a"]}, name="n").lint() == ("$.properties.a: any value passes",)


def test_a_type_says_that_it_judges_too():
    assert Contract(dict[str, int]).is_type
    assert not score().is_type


@pytest.mark.parametrize(
    ("value", "is_text", "lines"),
    [
        ('{"score": 1, "extra": 2}', True, []),
        ('{"score": "1"}', True, ['$.score: expected integer, found "1"']),
        ({"score": "1"}, False, ['$.score: expected integer, found "1"']),
        ("no", True, ['$: expected JSON, found text that begins "no"']),
    ],
)
def test_a_request_schema_is_judged_as_written(value, is_text, lines):
    schema = SCORE | {"unheardOf": 1}
    assert [str(one) for one in violations_as_written(schema, value, is_text=is_text)] == lines


@pytest.mark.parametrize(
    "schema", [{"type": "STRING"}, {"$ref": "#/$defs/absent"}, {"pattern": "("}, {"maximum": float("inf")}]
)
def test_a_request_schema_that_cannot_be_checked_says_nothing(schema):
    assert violations_as_written(schema, "1", is_text=True) == ()


# ---- what `contract=` takes ----


@pytest.fixture
def project(tmp_path):
    """A root with a schema file and a module, and its declared contracts."""
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "items.json").write_text('{"type": "array", "items": {"type": "integer"}}')
    (tmp_path / "onetake_test_models.py").write_text("class Holder:\n    Items = list[int]\n")
    yield (
        tmp_path,
        {
            "items": ContractSettings("items", "schemas/items.json", 4, ("schemas",), "schema:items"),
            "typed": ContractSettings("typed", "onetake_test_models:Holder.Items"),
            "absent": ContractSettings("absent", "onetake_test_models:Nothing"),
            "nowhere": ContractSettings("nowhere", "onetake_test_nowhere:Items"),
        },
    )
    sys.modules.pop("onetake_test_models", None)


@pytest.fixture
def take(project):
    """`as_contracts` in that project."""
    root, declared = project
    return lambda given, **more: as_contracts(given, root=root, declared=declared, **more)


def test_nothing_a_contract_a_type_and_a_list(take):
    contract = score()
    assert take(None) == ()
    assert take(contract) == (contract,)
    (bare,) = take(dict[str, int], schema_version=7)
    assert (bare.name, bare.schema_version) == ("dict[str, int]", 7)
    assert [one.name for one in take([contract, "items", list[int]])] == ["score", "items", "list[int]"]


def test_a_declared_file_counts_from_the_root(take, project):
    (items,) = take("items")
    assert (items.name, items.schema_version, items.watch, items.on) == ("items", 4, ("schemas",), "schema:items")
    assert items.judge_text("[1, true]") == (Violation("$[1]", "integer", "true"),)
    assert items.ref(project[0]).watch is not None


def test_a_path_counts_from_the_root(take):
    assert take(Path("schemas/items.json"))[0].name == "items"


def test_a_declared_type_is_imported_with_the_root_on_the_path(take, project):
    before = list(sys.path)
    (typed,) = take("typed")
    assert (typed.name, typed.is_type, sys.path) == ("typed", True, before)


@pytest.mark.parametrize("name", ["absent", "nowhere"])
def test_a_declared_type_that_cannot_be_imported_is_refused(take, name):
    with pytest.raises(UsageError, match=rf"contract '{name}': onetake_test_\w+:\w+ cannot be imported"):
        take(name)


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        ("itmes", {}, "contract 'itmes' is not declared in the settings; did you mean 'items'?"),
        ("zzz", {}, "contract 'zzz' is not declared in the settings (declare it as [tool.onetake.contracts.zzz])"),
        ("items", {"schema_version": 2}, "schema_version= goes with a bare type"),
        (["items", dict[str, int]], {"schema_version": 2}, "schema_version= goes with a bare type"),
        (["items", "items"], {}, "two contracts are called 'items'"),
        (SCORE, {}, "needs a name"),
        (5, {}, "5 is no contract"),
    ],
)
def test_what_contract_does_not_take(take, given, more, message):
    with pytest.raises(UsageError) as refused:
        take(given, **more)
    assert message in str(refused.value)


class Odd(BaseModel):
    """A type whose schema names a format that only the type knows."""

    secret: str = Field(json_schema_extra={"format": "of-our-own"})


@pytest.mark.parametrize("given", [score(), Contract(Odd)])
def test_a_stored_schema_is_the_same_contract_again(given):
    again = stored_contract(json.dumps(given.schema).encode(), given.digest, given.name)
    assert (again.name, again.digest, again.is_type) == (given.name, given.digest, False)
    assert again.judge_text("{}") == given.judge_text("{}") != ()


def test_one_that_watches_nothing_any_more_judges_the_same_and_leaves_the_other_as_it_was(tmp_path):
    (tmp_path / "parse.py").write_text("x = 1")
    given = score(watch=["parse.py"])
    other = unwatching(given)
    assert other.judge_text('{"score": "5"}') == given.judge_text('{"score": "5"}') != ()
    assert (other.ref(tmp_path).schema, other.ref(tmp_path).watch) == (given.digest, None)
    assert given.ref(tmp_path).watch is not None
    assert given.watch == ("parse.py",)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "it holds no JSON Schema"),
        (b"[]", "it holds no JSON Schema"),
        (b'{"type": "objekt"}', "objekt"),
        (json.dumps({**SCORE, "required": []}).encode(), "it holds another schema than the one it was kept as"),
    ],
)
def test_a_stored_schema_that_was_changed_is_damaged(data, said):
    with pytest.raises(FormatError, match=said):
        stored_contract(data, score().digest, "score")


@pytest.mark.parametrize(
    ("schema", "names"), [("app.models:Items", True), ("schemas/items.json", False), ("C:/items.json", False)]
)
def test_a_declared_schema_names_a_type_or_a_file(schema, names):
    assert names_type(schema) is names
