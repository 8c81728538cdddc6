from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from onetake import format as entry_format
from onetake.errors import FormatError
from onetake.format import FORMAT_VERSION, dump_entry, load_entry
from onetake.model import Answer, Choice, ContractRef, Cut, Entry, KeySpec, Request, Response, Violation

JSON = (("Content-Type", "application/json"),)
SMALL = Entry(
    verdict="good",
    request=Request("GET", "https://api.example.com/v1/models"),
    response=Response(200),
    key="ab" * 32,
    ordinal=0,
    key_spec=KeySpec("k1", "s1"),
)
FULL = Entry(
    verdict="kept:violation",
    request=Request("POST", "https://api.example.com/v1/chat/completions", JSON, b'{"model":"m","messages":[]}'),
    response=Response(200, (*JSON, ("Set-Cookie", "a"), ("Set-Cookie", "b")), b'{"id": 1}\n', "gzip", Cut.LEFT),
    key="cd" * 32,
    ordinal=2,
    key_spec=KeySpec("k1", "s1", {"ignore": ["$.user"]}),
    contract=ContractRef("items", 3, "ef" * 32, "01" * 32),
    provenance={"recorded_at": "2026-11-30T10:00:00Z", "dirty": False, "imported": {"from": "vcrpy"}},
    dialect="openai-chat/1",
    answer=Answer((Choice(text='{"label":"bug"}', finish="stop"),)),
    violations=(Violation("$.label", "one of billing, other", '"bug"'),),
    metrics={"latency_ms": 812, "cost_usd": 0.0021},
    scrubbed=("request.headers.authorization",),
    extra={"later": {"$raw": [1]}, "another": None},
)


def dumped(entry):
    data, sides = dump_entry(entry)
    return json.loads(data), sides


def changed(**fields):
    """The file of a small entry with fields replaced; None takes one away."""
    tree = dumped(SMALL)[0] | fields
    return json.dumps({name: value for name, value in tree.items() if value is not None}).encode()


@pytest.mark.parametrize("entry", [SMALL, FULL, replace(SMALL, unjudged=True)])
def test_an_entry_comes_back_and_is_written_the_same_again(entry):
    data, sides = dump_entry(entry)
    again = load_entry(data, sides.get)
    assert again == entry
    assert dump_entry(again) == (data, sides)


def test_the_fields_stand_in_the_order_of_the_review():
    assert list(dumped(FULL)[0]) == [
        *("onetake", "verdict", "contract", "provenance", "dialect", "answer", "violations", "request", "response"),
        *("metrics", "scrubbed", "key_spec", "key", "ordinal", "later", "another"),
    ]
    assert list(dumped(FULL)[0]["response"]) == ["status", "headers", "body", "decoded", "cut"]
    assert list(dumped(FULL)[0]["contract"]) == ["name", "schema_version", "schema", "watch"]


def test_empties_are_left_out():
    assert dumped(SMALL)[0] == {
        "onetake": FORMAT_VERSION,
        "verdict": "good",
        "request": {"method": "GET", "url": "https://api.example.com/v1/models"},
        "response": {"status": 200},
        "key_spec": {"recipe": "k1", "scrub": "s1"},
        "key": "ab" * 32,
        "ordinal": 0,
    }


def test_an_answer_that_no_contract_selected_says_so_with_the_one_null():
    tree, _ = dumped(replace(SMALL, unjudged=True))
    assert tree["contract"] is None
    assert load_entry(json.dumps(tree).encode(), {}.get).unjudged is True
    assert load_entry(dump_entry(SMALL)[0], {}.get).unjudged is False


def test_the_file_is_utf_8_with_lf_and_ends_in_one():
    entry = replace(SMALL, request=Request("POST", "https://api.example.com/", (), "é\r\n\u202e漢".encode()))
    data, _ = dump_entry(entry)
    assert data.endswith(b"}\n") and b"\r" not in data
    assert "é\\r" in data.decode() and "\\u202e漢" in data.decode()


def test_unknown_fields_are_kept_last_also_those_of_known_objects():
    tree, _ = dumped(FULL)
    tree["request"] = {"http": "2"} | tree["request"]
    tree["key_spec"]["salt"] = {"deep": [1]}
    entry = load_entry(json.dumps({"newest": 1} | tree).encode(), {}.get)
    assert entry.extra == {"request": {"http": "2"}, "key_spec": {"salt": {"deep": [1]}}, "newest": 1} | FULL.extra
    again, sides = dump_entry(entry)
    assert list(json.loads(again))[-3:] == ["newest", "later", "another"]
    assert list(json.loads(again)["request"])[-1] == "http"
    assert load_entry(again, sides.get) == entry


def test_a_sidecar_that_is_missing_is_named_with_its_place():
    entry = replace(SMALL, response=Response(200, (("content-type", "text/event-stream"),), b"data: 1\n\n"))
    data, sides = dump_entry(entry)
    assert load_entry(data, sides.get) == entry
    with pytest.raises(FormatError, match=rf"^response: body: the sidecar {re.escape(next(iter(sides)))} is missing"):
        load_entry(data, {}.get)


def test_br_132_a_copy_with_crlf_loads_and_bodies_keep_their_line_ends():
    body = b"one\r\ntwo\n" + b"three\r"
    entry = replace(FULL, request=Request("POST", "https://api.example.com/", (), body))
    data, sides = dump_entry(entry)
    again = load_entry(data.replace(b"\n", b"\r\n"), sides.get)
    assert again == entry
    assert again.request.body == body
    assert dump_entry(again) == (data, sides)


def test_br_131_a_spliced_body_is_found():
    data, _ = dump_entry(replace(SMALL, response=Response(200, JSON, b'{"text":"yes"}')))
    spliced = data.replace(b'{"text": "yes"}', b'{"text": "yes", "text": "no"}')
    assert spliced != data
    with pytest.raises(FormatError, match="'text' stands twice"):
        load_entry(spliced, {}.get)


def test_br_131_conflict_markers_are_found():
    data, _ = dump_entry(SMALL)
    with pytest.raises(FormatError, match=r"merge conflict markers \(line 2\)"):
        load_entry(data.replace(b'  "onetake"', b'<<<<<<< HEAD\n  "onetake"'), {}.get)


def test_br_126_what_looks_like_a_type_or_a_call_stays_data():
    hostile = {
        "py/object": "os.system",
        "__reduce__": ["os.system", "true"],
        "!!python/object/apply:os.system": ["true"],
    }
    body = json.dumps(hostile).encode()
    entry = replace(SMALL, response=Response(200, JSON, body), extra={"__class__": hostile})
    data, sides = dump_entry(entry)
    again = load_entry(data, sides.get)
    assert again.extra == {"__class__": hostile}
    assert again.response.body == body


def test_br_029_lone_surrogates_are_kept_and_written_as_escapes():
    body = b'{"prompt":"half \\ud83d"}'
    entry = replace(
        SMALL,
        request=Request("POST", "https://api.example.com/", (), body),
        response=Response(200, (), body),
        answer=Answer((Choice(text="half \ud83d"),)),
        provenance={"test": "bad \udcff name"},
    )
    data, sides = dump_entry(entry)
    assert b"half \\ud83d" in data
    assert load_entry(data, sides.get) == entry


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"onetake": 2}, r"written by a newer onetake \(format 2; this one reads 1\): upgrade"),
        ({"onetake": None}, "no entry of onetake"),
        ({"onetake": "1"}, "no entry of onetake"),
        ({"onetake": True}, "no entry of onetake"),
        ({"onetake": 0}, "no entry of onetake"),
        ({"verdict": None}, "the field verdict is missing"),
        ({"verdict": 1}, "the field verdict must be a string"),
        ({"ordinal": True}, "the field ordinal must be an integer"),
        ({"key": []}, "the field key must be a string"),
        ({"request": []}, "the field request must be an object"),
        ({"request": {"method": "GET"}}, "request: the field url is missing"),
        (
            {"request": {"method": "GET", "url": "u", "headers": [["a"]]}},
            r"request: headers must be a list of \[name, value\]",
        ),
        ({"request": {"method": "GET", "url": "u", "headers": [["a", 1]]}}, "request: headers must be"),
        ({"request": {"method": "GET", "url": "u", "body": "text"}}, "request: body: a body is one of"),
        ({"response": {"status": "200"}}, "response: the field status must be an integer"),
        ({"response": {"status": 200, "cut": "half"}}, "response: cut must be provider or left, not 'half'"),
        ({"contract": 1}, "the field contract must be an object"),
        ({"contract": {"name": "a", "schema_version": 1}}, "contract: the field schema is missing"),
        ({"answer": []}, "answer: choices must be a list"),
        ({"violations": [1]}, "a violation must be an object"),
        ({"violations": [{"path": "$"}]}, "violations: the field expected is missing"),
        ({"metrics": []}, "the field metrics must be an object"),
        ({"scrubbed": [1]}, "scrubbed must be a list of strings"),
        ({"key_spec": {"recipe": "k1"}}, "key_spec: the field scrub is missing"),
    ],
)
def test_a_wrong_field_is_named(fields, why):
    with pytest.raises(FormatError, match=why):
        load_entry(changed(**fields), {}.get)


def test_what_nests_deeper_than_any_entry_is_refused():
    body = {"style": "compact", "$json": 1}
    deep: object = "x"
    for _ in range(450):
        deep = {"$literal": {"a": deep}}
    data = changed(request={"method": "GET", "url": "u", "body": body | {"$json": deep}})
    with pytest.raises(FormatError, match="too deep"):
        load_entry(data, {}.get)


def test_what_could_not_be_read_again_is_not_written(monkeypatch):
    with pytest.raises(FormatError, match="no JSON value"):
        dump_entry(replace(SMALL, metrics={"latency_ms": float("nan")}))
    monkeypatch.setattr(entry_format, "LARGEST", 100)
    with pytest.raises(FormatError, match=r"more than the 100 that can be read again"):
        dump_entry(SMALL)


@pytest.mark.parametrize("name", ["request", "response", "key_spec", "provenance", "answer", "contract"])
@pytest.mark.parametrize("value", [5, "body", [], True])
def test_a_part_of_the_wrong_type_is_damage_and_no_crash(name, value):
    entry = Entry("good", Request("GET", "https://a.example/"), Response(200), "0" * 64, 0, KeySpec("k1", "s1"))
    tree = json.loads(dump_entry(entry)[0]) | {name: value}
    with pytest.raises(FormatError):
        load_entry(json.dumps(tree).encode(), {}.get)
