import pytest

from onetake.dialects.gemini_calls import Calls
from onetake.model import ToolCall


def gathered(*parts):
    calls = Calls()
    for part in parts:
        calls.add(part)
    return calls.done()


def piece(path, going_on=True, **value):
    return {"partialArgs": [{"jsonPath": path, **value}], "willContinue": going_on}


def test_whole_calls_stand_beside_each_other():
    assert gathered({"name": "add", "args": {"n": 1}}, {"name": "now"}, {"name": "add", "args": {}}) == (
        ToolCall("add", {"n": 1}),
        ToolCall("now", {}),
        ToolCall("add", {}),
    )


def test_arguments_that_stream_come_together():
    assert gathered(
        {"name": "book", "willContinue": True},
        piece("$.place.city", stringValue="New ", willContinue=True),
        piece("$.place.city", stringValue="Delhi"),
        piece("$.nights", numberValue=2),
        piece("$.guests[1]", stringValue="B"),
        piece("$.guests[0]", stringValue="A"),
        piece("$.late", boolValue=False),
        piece("$.note", nullValue="NULL_VALUE"),
        {},
        {"name": "now", "args": {}},
    ) == (
        ToolCall(
            "book",
            {"place": {"city": "New Delhi"}, "nights": 2, "guests": ["A", "B"], "late": False, "note": None},
        ),
        ToolCall("now", {}),
    )


@pytest.mark.parametrize(
    "path", ["", "nonsense", "$[", None, "$.a[*]", "$.a[99999999999]", "$.a.b.c", "$[0]", "$['a']"]
)
def test_odd_paths_raise_nothing(path):
    found = gathered({"name": "f", "willContinue": True}, piece(path, stringValue="x"), {})
    assert [call.name for call in found] == ["f"]
