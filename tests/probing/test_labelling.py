"""Labels of two or three answers."""

import pytest

from onetake.contract import Contract
from onetake.probing.findings import Label
from onetake.testing.provider import openai_chat

CONTRACT = Contract({"type": "object", "properties": {"label": {"type": "string"}}}, name="call", on="tool:sort")


def test_a_label_that_differs_is_a_warning(beside, found):
    old, new = openai_chat(json={"label": "bug", "why": "x"}), openai_chat(json={"label": "wish", "why": "y"})
    compared = beside(old, new, label_paths=["$.label", "$.why", "$.nowhere"])
    assert compared.labels == (Label("$.label", True), Label("$.why", True)), "what neither has is no label"
    assert found(compared) == [
        ("warning", "label", "$.label", "bug", "wish"),
        ("warning", "label", "$.why", "x", "y"),
    ]


def test_a_label_that_is_spelled_otherwise_does_not_differ(beside, found):
    old, new = openai_chat('{"n": 1, "label": "bug"}'), openai_chat('{"label": " bug\\n", "n": 1.0}')
    compared = beside(old, new, label_paths=["$.label", "$.n"])
    assert compared.labels == (Label("$.label", False), Label("$.n", False)) and found(compared) == []


@pytest.mark.parametrize(("again", "noise", "grade"), [("wish", False, "warning"), ("bug", True, "info")])
def test_the_second_answer_tells_noise_from_drift(beside, found, again, noise, grade):
    old, new, then = (openai_chat(json={"label": label}) for label in ("bug", "wish", again))
    compared = beside(old, new, again=then, label_paths=["$.label"])
    assert compared.labels == (Label("$.label", True, noise),)
    assert found(compared) == [(grade, "label", "$.label", "bug", "wish")]


def test_a_label_that_is_gone_differs(beside, found):
    old, new = openai_chat(json={"label": "bug"}), openai_chat(json={"label": None})
    assert beside(old, new, label_paths=["$.label"]).labels == (Label("$.label", True),)
    prose = beside(old, openai_chat("A bug, I think."), label_paths=["$.label"])
    assert prose.labels == (Label("$.label", True),)
    assert ("warning", "label", "$.label", "bug", None) in found(prose)


def test_labels_are_looked_for_where_the_contract_judges(beside, found):
    old, new = (openai_chat("Well", tool_calls=[("sort", {"label": one}), ("x", {"label": "z"})]) for one in "ab")
    compared = beside(old, new, contracts=[CONTRACT], label_paths=["$.label"])
    assert found(compared) == [("warning", "label", "$.label", "a", "b")]
    assert beside(old, new, label_paths=["$.label"]).labels == (), "without one they are in texts"


def test_the_whole_text_may_be_the_label(beside):
    assert beside(openai_chat("bug"), openai_chat("bug "), label_paths=["$"]).labels == (Label("$", False),)
    assert beside(openai_chat("bug"), openai_chat("wish"), label_paths=["$"]).labels == (Label("$", True),)


def test_a_label_of_a_list_belongs_to_its_item(beside, found):
    old, new = (openai_chat(json=[{"l": one}, {"l": other}, {}]) for one, other in ("ab", "ba"))
    moved = openai_chat(json=[{"l": "a"}, {}, {"l": "b"}])
    assert found(beside(old, new, label_paths=["$[*].l"])) == [
        ("warning", "label", "$[*].l", '["a", "b"]', '["b", "a"]')
    ]
    assert found(beside(old, moved, label_paths=["$[*].l"])) == [
        ("warning", "label", "$[*].l", '["a", "b"]', '["a", null, "b"]')
    ]
    assert beside(old, old, label_paths=["$[*].l"]).labels == (Label("$[*].l", False),)


@pytest.mark.parametrize("calls", [(), [("t", {})]])
def test_labels_are_found_in_json_in_a_fence_and_beside_a_tool_call(beside, calls):
    old, same, other = (
        openai_chat(f'```json\n{{"label": "{label}"{more}}}\n```', tool_calls=calls)
        for label, more in (("bug", ""), ("bug", ', "n": 1'), ("wish", ""))
    )
    assert beside(old, same, label_paths=["$.label"]).labels == (Label("$.label", False),)
    assert beside(old, other, label_paths=["$.label"]).labels == (Label("$.label", True),)


def test_a_label_that_cannot_be_looked_up_is_told(beside, found):
    prose, data = openai_chat('Here: {"label": "bug"}'), openai_chat(json={"n": 1})
    compared = beside(prose, prose, label_paths=["$.label"])
    assert compared.labels == ()
    assert found(compared) == [("warning", "label", "$.label", "no JSON to look in", "no JSON to look in")]
    assert ("warning", "label", "$.label", "no JSON to look in", None) in found(
        beside(prose, data, label_paths=["$.label"])
    )
    assert found(beside(data, data, label_paths=["$.label"])) == [], "it may be absent"
    assert found(beside(prose, prose, label_paths=["$"])) == [], "the text itself is the label"
