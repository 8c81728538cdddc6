import pytest

from onetake.dialects import Promise, Reading, chat_choices
from onetake.model import Answer, Choice, ToolCall
from onetake.picking import document

USAGE = {"prompt_tokens": 9, "completion_tokens": 3}


def completion(*choices):
    return {"object": "chat.completion", "model": "gpt-4o-1", "choices": list(choices)}


def delta(finish=None, **said):
    return {"model": "gpt-4o-1", "choices": [{"index": 0, "delta": said, "finish_reason": finish}]}


def call_delta(**call):
    return delta(tool_calls=[call])


def reading(choice, **more):
    return Reading(Answer((choice,)), model="gpt-4o-1", **more)


@pytest.mark.parametrize(
    "body, said",
    [
        ('{"error": "plain words"}', "plain words"),
        ('{"error": {"code": 5}}', '{"code": 5}'),
        ('{"object": "error", "message": "vllm says no"}', "vllm says no"),
        ('{"error": null}', None),
        ('{"error": {}}', None),
    ],
)
def test_error_objects(body, said):
    assert chat_choices.whole(document(body)).error == said


def test_a_name_that_comes_with_every_piece_is_one_name():
    function = {"name": "add", "arguments": '{"n":'}
    pieces = (
        call_delta(index=0, id="0", function=function),
        call_delta(index=0, id="0", function=function | {"arguments": "1}"}),
    )
    assert chat_choices.streamed(pieces).answer.choices[0].tool_calls == (ToolCall("add", {"n": 1}),)


@pytest.mark.parametrize("finish", ["error", "insufficient_system_resource", "network_error"])
def test_a_choice_that_the_provider_gave_up_is_an_error(finish):
    whole = completion({"message": {"content": "Hel"}, "finish_reason": finish})
    expected = reading(Choice("Hel", finish=finish), error=finish)
    assert chat_choices.whole(whole) == expected
    assert chat_choices.streamed([delta(content="Hel"), delta(finish=finish)]) == expected


def test_azure_notes_on_content_change_nothing():
    filtered = {"hate": {"filtered": False, "severity": "safe"}}
    chunks = (
        {"model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]},
        delta(role="assistant", content=""),
        delta(content="Hello"),
        delta(finish="stop"),
        # With the asynchronous filter, what it found comes behind the end, without a delta.
        {
            "model": "",
            "choices": [
                {"index": 0, "finish_reason": None, "content_filter_offsets": {"start_offset": 44}}
                | {"content_filter_results": filtered}
            ],
        },
        {"choices": [], "usage": USAGE},
    )
    assert chat_choices.streamed(chunks) == reading(Choice("Hello", finish="stop"), input_tokens=9, output_tokens=3)


def test_an_error_beside_a_finish_is_what_it_says():
    failing = delta(finish="error") | {"error": {"code": 502, "message": "Provider disconnected"}}
    assert chat_choices.streamed([delta(content="Hel"), failing]).error == "Provider disconnected"


def test_what_a_voice_said_is_the_text():
    audio = {"id": "a", "data": "AAAA", "transcript": "Hello there"}
    expected = reading(Choice("Hello there", finish="stop"))
    assert chat_choices.whole(completion({"message": {"audio": audio}, "finish_reason": "stop"})) == expected
    pieces = (
        delta(audio={"transcript": "Hello "}),
        delta(audio={"data": "AAAA"}),
        delta(audio={"transcript": "there"}),
    )
    assert chat_choices.streamed([*pieces, delta(finish="stop")]) == expected


def test_promises_are_enforced_where_they_are_strict():
    asked = {
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": True}},
        "tools": [{"function": {"name": "a", "parameters": {}, "strict": True}}, {"function": {"name": "no"}}],
        "functions": [{"name": "b", "parameters": {}}],
    }
    assert [*chat_choices.promises(asked)] == [
        Promise("text", "n", {}, True),
        Promise("tool:a", "a", {}, True),
        Promise("tool:b", "b", {}, False),
    ]


def test_an_error_that_an_event_said_counts_where_no_chunk_says_one():
    assert chat_choices.streamed([delta(content="a")], "gone").error == "gone"
    assert chat_choices.streamed([{"error": {"message": "first"}}], "gone").error == "first"
    assert chat_choices.streamed([], terminal=False) == Reading(terminal=False)
