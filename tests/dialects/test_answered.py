import pytest

from onetake.dialects.answered import body_error, event_kind, function_call, is_kind, stream_error, usage_counts
from onetake.events import events
from onetake.model import Response, ToolCall


def sse(text):
    return events(Response(200, (("content-type", "text/event-stream"),), text.encode()))


def test_usage_has_two_pairs_of_names():
    assert usage_counts({"prompt_tokens": 1, "completion_tokens": 2}) == (1, 2)
    assert usage_counts({"input_tokens": 0, "prompt_tokens": 1, "output_tokens": 3}) == (0, 3)
    assert usage_counts({"total_tokens": 3}) == (None, None)


def test_a_type_is_the_name_or_else_what_the_data_says():
    (named,) = sse('event: done\ndata: {"type": "other"}\n\n')
    (bare,) = sse('data: {"type": "done"}\n\n')
    (speaking,) = sse('data: {"type": "text", "text": "done"}\n\n')
    assert [event_kind(event) for event in (named, bare, speaking)] == ["done", "done", "text"]
    assert [is_kind(event, "done") for event in (named, bare, speaking)] == [True, True, False]


@pytest.mark.parametrize(
    "text, said",
    [
        ("event: error\ndata:\n\n", "error"),
        ("event: error\ndata: overloaded\n\n", "overloaded"),
        ('event: error\ndata: {"message": "gone"}\n\n', "gone"),
        ('data: {"type": "error", "message": "gone"}\n\n', "gone"),
        ('data: {"a": 1}\n\ndata: {"error": {"message": "gone"}}\n\n', "gone"),
        ('data: {"text": "an error"}\n\n', None),
        ('event: text\ndata: {"type": "error"}\n\n', None),
    ],
)
def test_what_an_error_in_a_stream_says(text, said):
    assert stream_error(sse(text)) == said


def test_what_an_error_under_a_good_status_says():
    assert body_error({"error": "plain words"}) == "plain words"
    assert body_error({"object": "error", "message": "no"}) == "no"
    assert body_error({"object": "chat", "message": "yes"}) is None


def test_arguments_are_the_value_or_the_text_as_it_came():
    assert function_call({"name": "f", "arguments": '{"n": 1}'}) == ToolCall("f", {"n": 1})
    assert function_call({"name": "f", "arguments": '{"n": '}) == ToolCall("f", '{"n": ')
    assert function_call({"name": "f", "arguments": {"n": 1}}) == ToolCall("f", {"n": 1})
    assert function_call({"name": None}) == ToolCall("", None)
