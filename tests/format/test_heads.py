"""The head of an entry: what it says without its bodies."""

from __future__ import annotations

import json

import pytest

from onetake.format import dump_entry, load_entry
from onetake.format.heads import read_head
from onetake.model import Answer, Choice, ContractRef, Entry, KeySpec, Request, Response

ENTRY = Entry(
    verdict="good",
    request=Request("POST", "http://h/v1/chat/completions", (), b'{"a": "\\n  \\"request\\": {"}'),
    response=Response(200, (), b'{"b": 1}'),
    key="0" * 64,
    ordinal=0,
    key_spec=KeySpec("k1", "s1", {"ignore": ["$.user"]}),
    contract=ContractRef("label", 2, "1" * 64),
    provenance={"client": "x", "key_spec": {"a": [1, "y" * 100]}, "request": {"b": "z" * 100}},
    dialect="openai-chat/1",
    answer=Answer((Choice('{"label": "a"}', finish="stop"),)),
)
DATA = dump_entry(ENTRY)[0]


def no_side(name):
    raise AssertionError(name)


def test_a_head_says_what_the_entry_says():
    head = read_head(DATA)
    assert (head.verdict, head.key, head.ordinal) == ("good", "0" * 64, 0)
    assert (head.recipe, head.scrub, head.rules) == ("k1", "s1", {"ignore": ["$.user"]})
    assert (head.contract["schema"], head.contract["schema_version"]) == ("1" * 64, 2)
    assert head.value(no_side) == {"label": "a"}
    assert read_head(DATA.replace(b"\n", b"\r\n")) == read_head(DATA)
    assert read_head(DATA).said(no_side) == ENTRY.answer == load_entry(DATA, no_side).answer


def test_what_is_laid_out_otherwise_has_no_head():
    for data in (
        json.dumps(json.loads(DATA)).encode(),
        json.dumps(json.loads(DATA), indent=4).encode(),
        DATA.replace(b'"onetake": 1', b'"onetake": 2'),
        DATA.replace(b'  "key_spec": {', b'  "key_speck": {'),
        b"",
    ):
        assert read_head(data) is None


@pytest.mark.parametrize("cut", range(0, len(DATA), 7))
def test_a_file_that_was_cut_has_no_head(cut):
    assert read_head(DATA[:cut]) is None
