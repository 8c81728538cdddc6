"""What a contract, or the request's own schema, lets differ."""

from typing import Any

import pydantic
import pytest

from onetake.contract import Contract
from onetake.probing.allowing import weighed
from onetake.probing.shape_changes import changes
from onetake.probing.shapes import shape_of
from onetake.testing.provider import openai_chat

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": ["string", "integer"]},
        "any": {},
        "note": {"type": ["string", "null"]},
        "items": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}},
    },
}
CONTRACT = Contract(SCHEMA, name="things")


def grades(found, compared):
    return [(one[0], one[1], one[2]) for one in found(compared)]


@pytest.mark.parametrize(
    ("old", "new", "kind", "path"),
    [
        ({"id": "7"}, {"id": 7}, "type", "answer$.id"),
        ({"items": ["a"]}, {"items": [{}]}, "type", "answer$.items[*]"),
        ({"id": "7", "note": "x"}, {"id": "7"}, "removed", "answer$.note"),
        ({"note": "x"}, {"note": None}, "null", "answer$.note"),
    ],
)
def test_what_the_contract_names_is_no_drift_and_without_it_is(beside, found, old, new, kind, path):
    old, new = openai_chat(json=old), openai_chat(json=new)
    assert grades(found, beside(old, new, contracts=[CONTRACT])) == [("info", kind, path)]
    assert grades(found, beside(old, new))[0][0] != "info"


def test_a_schema_that_lets_all_pass_says_nothing_of_a_type(beside, found):
    old, new = openai_chat(json={"any": ["x"]}), openai_chat(json={"any": "x"})
    assert grades(found, beside(old, new, contracts=[CONTRACT])) == [("error", "type", "answer$.any")]


def test_the_requests_own_schema_says_so_too(beside, found):
    schema = {"type": "json_schema", "json_schema": {"name": "things", "schema": SCHEMA}}
    old, new = openai_chat(json={"id": "7"}), openai_chat(json={"id": 7})
    compared = beside(old, new, asked={"model": "m", "messages": [], "response_format": schema})
    assert grades(found, compared) == [("info", "type", "answer$.id")]


def test_the_schema_of_a_tool_says_so_of_its_arguments(beside, found):
    tool = {"type": "function", "function": {"name": "find", "parameters": SCHEMA}}
    old, new = (openai_chat(tool_calls=[("find", {"id": one}), ("other", {"id": one})]) for one in ("7", 7))
    compared = beside(old, new, asked={"model": "m", "messages": [], "tools": [tool]})
    assert grades(found, compared) == [("error", "type", "tools.other$.id"), ("info", "type", "tools.find$.id")]


def test_what_breaks_the_contract_is_not_excused_by_it(beside, found):
    old, new = openai_chat(json={"note": "x"}), openai_chat(json={"note": 1})
    compared = beside(old, new, contracts=[CONTRACT])
    assert grades(found, compared) == [("error", "contract", "answer$.note"), ("error", "type", "answer$.note")]


def test_what_breaks_a_schema_that_nobody_promised_to_keep_is_found_where_the_stored_answer_kept_it(beside, found):
    units = {"type": "object", "properties": {"unit": {"enum": ["C", "F"]}}}
    tool = {"type": "function", "function": {"name": "heat", "parameters": units}}
    asked = {"model": "m", "messages": [], "tools": [tool]}
    celsius, kelvin = (openai_chat(tool_calls=[("heat", {"unit": unit})]) for unit in "CK")
    [error] = found(beside(celsius, kelvin, asked=asked))
    assert error[:3] == ("error", "contract", "tools.heat$.unit") and '"K"' in error[4]
    assert found(beside(kelvin, kelvin, asked=asked)) == [], "it never did"
    assert found(beside(celsius, openai_chat(tool_calls=[("heat", {"unit": "F"})]), asked=asked)) == []


def test_a_schema_that_the_provider_promises_to_keep_is_judged_once(beside, found):
    schema = {"type": "object", "properties": {"n": {"enum": [1, 2]}}}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}
    asked = {"model": "m", "messages": [], "response_format": form}
    [error] = found(beside(openai_chat(json={"n": 1}), openai_chat(json={"n": 3}), asked=asked))
    assert error[:3] == ("error", "contract", "answer$.n")


def test_an_item_without_the_field_stays_as_it_is(beside, found):
    schema = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": ["string", "integer"]}}}}
    old, new = openai_chat(json=[{"id": "7"}]), openai_chat(json=[{}, {"id": 7}])
    compared = beside(old, new, contracts=[Contract(schema, name="ids")])
    assert grades(found, compared) == [("info", "type", "answer$[*].id")]


class Named(pydantic.BaseModel):
    id: Any

    @pydantic.field_validator("id")
    @classmethod
    def short(cls, value):
        if len(str(value + value)) > 9:  # of a type that cannot be added this raises no ValueError
            raise ValueError("too long")
        return value


def test_a_type_whose_validator_breaks_on_another_type_does_not_take_it(beside, found):
    old, new = openai_chat(json={"id": "7"}), openai_chat(json={"id": 7})
    assert grades(found, beside(old, new, contracts=[Contract(Named)])) == [("info", "type", "answer$.id")]


def weigh(recorded, live, refused=None):
    """Return the grades of changes where all but one type pass, and what was judged."""
    judged = []

    def fits(value):
        judged.append(value)
        return not any(isinstance(inner, refused) for inner in value.values()) if refused else True

    found = list(changes(shape_of(*recorded), shape_of(*live)))
    return [str(one.severity) for one in weighed(found, fits, recorded, live)], judged


def test_each_value_is_judged_once_however_much_is_another():
    wide = {f"k{number}": number for number in range(50)}
    assert weigh([wide] * 3, [{}, {}]) == (["info"] * 50, [wide] * 3 + [{}] * 2)
    assert weigh([wide], [wide]) == ([], []), "nothing differs"
    assert weigh([wide], [{}, {"k": "x"}], str)[1] == [wide, {}, {"k": "x"}], "one that does not fit excuses none"


def test_a_type_is_tried_once_for_each_change_where_the_other_stands():
    old, new = {f"k{number}": number for number in range(50)}, {f"k{number}": "x" for number in range(50)}
    grades, judged = weigh([old] * 3, [old, {}, new, new], dict)
    assert grades == ["info"] * 50 and len(judged) < 7 + 50 * 6
    assert all(one in (old, new, {}) or one.keys() == new.keys() for one in judged)


def test_calls_without_the_field_do_not_make_its_type_another(beside, found):
    tool = {"type": "function", "function": {"name": "find", "parameters": SCHEMA}}
    old, new = (openai_chat(tool_calls=[("find", {}), ("find", {"id": one})]) for one in ("7", 7))
    compared = beside(old, new, asked={"model": "m", "messages": [], "tools": [tool]})
    assert grades(found, compared) == [("info", "type", "tools.find$.id")]
