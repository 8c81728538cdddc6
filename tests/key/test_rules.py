from __future__ import annotations

import json
from datetime import date

import pytest

from onetake.errors import UsageError
from onetake.jsonpath import parse
from onetake.key import canonical
from onetake.key.rules import ID_NAME, compile_rules, places
from onetake.settings import KeyRules, Replace


def keyed(rules: KeyRules, body: str) -> object:
    return json.loads(canonical.dumps(compile_rules(rules).json(canonical.loads(body.encode()))))


def test_places_come_in_document_order_once_whatever_the_order_of_paths():
    value = {"b": [{"x": 1, "a": {"x": 2}}, {"x": 3}], "a": 4}
    paths = tuple(map(parse, ["$.b[*].x", "$.b[0]", "$.b[1].x", "$.a", "$.b[0].a.x", "$.b[7]", "$.a.x", "$.b.x"]))
    found = [(holder[name], name) for holder, name in places(value, paths)]
    assert found == [(4, "a"), (value["b"][0], 0), (2, "x"), (1, "x"), (3, "x")]
    assert [(holder[name], name) for holder, name in places(value, paths[::-1])] == found


def test_ignore_leaves_out_exactly_what_the_paths_name():
    rules = KeyRules(ignore=("$.metadata.trace_id", "$.messages[*].id", "$.tags[0]", "$.tags[2]"))
    body = '{"metadata":{"trace_id":1,"k":2},"messages":[{"id":1,"c":{"id":2}}],"id":3,"tags":["a","b","c","d"]}'
    assert keyed(rules, body) == {"metadata": {"k": 2}, "messages": [{"c": {"id": 2}}], "id": 3, "tags": ["b", "d"]}


def test_an_outer_and_an_inner_path_may_both_be_ignored():
    assert keyed(KeyRules(ignore=("$.a.b", "$.a")), '{"a":{"b":1},"c":2}') == {"c": 2}


def test_ids_are_numbered_by_value_over_all_paths_in_document_order():
    rules = KeyRules(ids=("$.z", "$.calls[*].id", "$.a"))
    body = '{"z":"two","calls":[{"id":"one"},{"id":"two"},{"id":1},{"id":"1"},{"id":1.0}],"a":"one","other":"one"}'
    assert keyed(rules, body) == {
        "a": {ID_NAME: 1},
        "calls": [{"id": {ID_NAME: number}} for number in (1, 2, 3, 4, 3)],
        "other": "one",
        "z": {ID_NAME: 2},
    }


def test_the_order_of_fields_does_not_change_the_numbering():
    rules = KeyRules(ids=("$.a", "$.b"))
    assert keyed(rules, '{"a":"x","b":"y"}') == keyed(rules, '{"b":"q","a":"p"}')


def test_null_and_containers_are_no_ids():
    assert keyed(KeyRules(ids=("$.a", "$.b", "$.b.c", "$.d")), '{"a":null,"b":{"c":"x"},"d":true}') == {
        "a": None,
        "b": {"c": {ID_NAME: 1}},
        "d": True,
    }


def test_replace_works_on_string_values_at_any_depth_and_never_on_names():
    rules = KeyRules(replace=(Replace("run-[0-9]+", "run-N"), Replace("N$", "M"), Replace("(a)(b)", r"\2\1")))
    assert keyed(rules, '{"run-1":["run-12",{"t":"x run-3 y"}],"n":1e50,"s":"ab"}') == {
        "run-1": ["run-M", {"t": "x run-N y"}],
        "n": 1e50,
        "s": "ba",
    }
    assert keyed(rules, '"run-7"') == "run-M"


def test_volatile_goes_before_replace_and_ignore_before_ids():
    from dataclasses import replace

    rules = compile_rules(KeyRules(volatile=("today",), replace=(Replace("2026", "YEAR"),)))
    dated = replace(rules, days=(date(2026, 11, 29),))
    assert dated.text("2026-11-29 and 2026-11-28") == "[onetake:today] and YEAR-11-28"
    assert keyed(KeyRules(ignore=("$.a",), ids=("$.a", "$.b")), '{"a":"x","b":"y"}') == {"b": {ID_NAME: 1}}


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (KeyRules(ignore=("messages",)), r"key\.ignore: JSON path 'messages' must start with \$"),
        (KeyRules(ids=("$.a..b",)), r"key\.ids: JSON path '\$\.a\.\.b' is wrong at '\.\.b'"),
        (KeyRules(ignore=("$",)), r"key\.ignore: \$ names the whole body"),
        (KeyRules(volatile=("toady",)), r"key\.volatile: 'toady' is unknown; did you mean 'today'"),
        (KeyRules(replace=(Replace("run-[", "x"),)), r"key\.replace: pattern 'run-\[' with 'x': unterminated"),
        (KeyRules(replace=(Replace("a", r"\1"),)), r"key\.replace: pattern 'a' .*invalid group reference"),
        (KeyRules(replace=(Replace("a", r"\g<n>"),)), r"key\.replace: pattern 'a' .*unknown group name"),
        (KeyRules(replace=(Replace("[0-9]*", "x"),)), r"key\.replace: .*matches the empty text"),
    ],
)
def test_a_wrong_rule_is_named_with_the_reason(rules, message):
    with pytest.raises(UsageError, match=message):
        compile_rules(rules)
