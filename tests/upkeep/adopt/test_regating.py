"""Old answers, judged as the answers to other requests."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from onetake import dialects
from onetake.contract import Contract
from onetake.format import dump_entry
from onetake.model import Answer, Choice, Response
from onetake.upkeep.adopt.planning import plan


def test_another_schema_version_is_refused(folder, upgraded, direct, answer):
    folder.record(("one", answer))
    folder.settings("schema_version = 2")
    folder.miss(direct.chat("one", store=False))
    (group,) = plan(folder.root).groups
    assert group.refused == "it was recorded under 'items' schema_version 1, which is 2 now"


def test_another_schema_is_refused_although_the_answer_satisfies_it(folder, direct, answer, items):
    folder.record(("one", answer))
    items["properties"]["label"] = {"enum": ["bug", "wish"]}
    folder.schema(items)
    folder.miss(direct.chat("one", store=False))
    (group,) = plan(folder.root).groups
    assert group.refused == "the schema of the contract 'items' that judged it is another one now"


@pytest.mark.parametrize("asked", ["items", None])
def test_the_contract_of_today_counts_whatever_the_miss_knew(folder, direct, answer, items, asked):
    folder.record(("one", answer))
    folder.miss(direct.chat("one", store=False), contract=asked)
    assert plan(folder.root).groups[0].refused == ""
    items["properties"]["tags"]["maxItems"] = 2
    folder.schema(items)
    assert "the schema of the contract 'items'" in plan(folder.root).groups[0].refused
    folder.settings("schema_version = 3")
    assert "schema_version 1, which is 3 now" in plan(folder.root).groups[0].refused


def test_an_answer_that_the_contract_never_judged_is_refused(folder, direct, answer):
    folder.record(("one", answer), contract=None)
    folder.miss(direct.chat("one", store=False))
    assert "without the contract 'items'" in plan(folder.root).groups[0].refused


def test_an_answer_that_was_changed_to_break_the_contract_is_refused(folder, direct, answer):
    (path,) = folder.record(("one", answer))
    folder.edit_answer(path, answer, '{"label": 5, "tags": []}')
    folder.miss(direct.chat("one", store=False))
    assert plan(folder.root).groups[0].refused.startswith("its answer breaks contract 'items' (violation): $.label")


@pytest.fixture
def found_by_tool(direct, answer):
    """A request, and an answer to it that calls the tool `find`."""
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": answer}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {"model": "gpt-5", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    return "find it", Response(200, (("content-type", "application/json"),), json.dumps(body).encode())


@pytest.mark.parametrize("arguments", ['{"label": "bug", "tags": ["a", "b"]}', '{"label": 5, "tags": []}'])
def test_a_contract_of_the_code_alone_judges_by_the_schema_beside(folder, direct, items, found_by_tool, arguments):
    asked, response = found_by_tool
    (path,) = folder.record((asked, response), contract=Contract(items, name="own", on="tool:find"))
    entry = folder.load(path)
    old = json.dumps('{"label": "bug", "tags": ["a", "b"]}').encode()
    body = entry.response.body.replace(old, json.dumps(arguments).encode())
    changed = replace(entry.response, body=body)
    answer = dialects.find(entry.request.method, entry.request.url).read(entry.request, changed).answer
    path.write_bytes(dump_entry(replace(entry, response=changed, answer=answer))[0])
    folder.miss(direct.chat(asked, store=False), contract=Contract(items, name="own", on="tool:find"))
    (group,) = plan(folder.root).groups
    if "5" in arguments:
        assert group.refused.startswith("its answer breaks contract 'own' (violation): $.label")
    else:
        assert (group.refused, len(group.adoptions)) == ("", 1)


def test_an_answer_that_nothing_can_judge_is_refused(folder, direct, answer, items):
    (path,) = folder.record(("one", answer), contract=Contract(items, name="own"))
    for schema in path.parent.glob("_schemas/*"):
        schema.unlink()
    folder.miss(direct.chat("one", store=False), contract=Contract(items, name="own"))
    (group,) = plan(folder.root).groups
    assert group.refused.startswith("nothing judges its answer: 'own' cannot be read")
    assert group.adoptions == []


def test_an_answer_that_is_not_what_its_response_says_is_refused(folder, direct, answer):
    (path,) = folder.record(("one", answer))
    entry = folder.load(path)
    path.write_bytes(dump_entry(replace(entry, answer=Answer((Choice(text="{}"),))))[0])
    folder.miss(direct.chat("one", store=False))
    (group,) = plan(folder.root).groups
    assert group.refused.startswith("its answer is not what openai-chat/1 reads")


@pytest.mark.parametrize("parser", ["x = 1\n", "x = 2\n"], ids=["same parser", "other parser"])
def test_an_answer_that_the_contract_of_today_does_not_select_is_refused(folder, direct, answer, parser):
    (folder.root / "parse.py").write_text("x = 1\n")
    folder.settings('watch = ["parse.py"]')
    folder.record(("one", answer))
    folder.settings('watch = ["parse.py"]\non = "tool:save"')
    (folder.root / "parse.py").write_text(parser)
    folder.miss(direct.chat("one", store=False), contract=None)
    (group,) = plan(folder.root).groups
    assert group.refused.startswith("nothing judges its answer: contract 'items' does not select it today")
    assert group.adoptions == []
