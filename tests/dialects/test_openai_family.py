import pytest

from onetake.dialects.openai_family import FAILED_FINISH, failed, finish_word, is_length, is_refusal
from onetake.model import Choice


@pytest.mark.parametrize(
    "finish, length, refusal",
    [
        ("stop", False, False),
        (None, False, False),
        ("length", True, False),
        ("model_length", True, False),
        ("MAX_TOKENS", True, False),
        ("model_context_window_exceeded", True, False),
        ("content_filter", False, True),
        ("content_filter: PROHIBITED_CONTENT", False, True),
        ("SAFETY", False, True),
        ("RECITATION", False, True),
        ("sensitive", False, True),
        ("tool_calls", False, False),
        ("error", False, False),
    ],
)
def test_finish_words_in_every_spelling(finish, length, refusal):
    choice = Choice("a", finish=finish)
    assert (is_length(choice), is_refusal(choice)) == (length, refusal)
    assert failed([Choice("b", finish="stop"), choice]) == (finish if finish == "error" else None)


def test_a_finish_word_is_told_in_lower_case_without_its_reason():
    assert finish_word("Content_Filter: X") == "content_filter"
    assert finish_word(None) == ""


def test_finish_words_are_the_sdks():
    typed = pytest.importorskip("openai.types.chat.chat_completion").Choice
    words = set(typed.model_fields["finish_reason"].annotation.__args__)
    assert {word for word in words if is_length(Choice(finish=word))} == {"length"}
    assert {word for word in words if is_refusal(Choice(finish=word))} == {"content_filter"}
    assert not words & FAILED_FINISH
