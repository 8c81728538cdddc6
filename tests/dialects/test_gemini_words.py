"""Why a candidate ended: the words, and the numbers that stand for them."""

import json

import pytest

from onetake.dialects.gemini import DIALECT
from onetake.model import Choice, Request, Response

HOST = "https://generativelanguage.googleapis.com/v1beta"
URL = f"{HOST}/models/gemini-2.5-flash:generateContent"
VERTEX = (
    "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/"
    "gemini-2.5-pro:generateContent"
)
JSON = (("content-type", "application/json; charset=UTF-8"),)


def asking(url=URL, **more):
    return Request("POST", url, body=json.dumps({"contents": [{"parts": [{"text": "hi"}]}], **more}).encode())


def content(*parts, finish="STOP", **more):
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {}) | more]}


def whole(body):
    return Response(200, JSON, json.dumps(body, ensure_ascii=False, indent=2).encode())


@pytest.mark.parametrize(
    ("url", "number", "finish", "refused"),
    [
        (URL, 1, "STOP", False),
        (URL, 2, "MAX_TOKENS", False),
        (URL, 3, "SAFETY", True),
        (URL, 6, "LANGUAGE", True),
        (VERTEX, 6, "BLOCKLIST", True),
        (URL, 10, "MALFORMED_FUNCTION_CALL", False),
        (VERTEX, 10, "MODEL_ARMOR", True),
        (VERTEX, 15, "UNEXPECTED_TOOL_CALL", False),
        (URL, 99, "99", False),
        (URL, 0, None, False),
        (URL, "FINISH_REASON_UNSPECIFIED", None, False),
        (URL, True, None, False),
    ],
)
def test_finish_reasons_that_are_numbers_are_words_again(url, number, finish, refused):
    """As the generated REST clients get them, whose numbers differ between the two APIs."""
    choice = DIALECT.read(asking(url), whole(content({"text": "a"}, finish=number))).answer.choices[0]
    assert (choice.finish, DIALECT.is_refusal(choice)) == (finish, refused)
    assert DIALECT.is_length(choice) is (finish == "MAX_TOKENS")


def test_a_block_reason_that_is_a_number_is_a_word_again():
    answer = DIALECT.read(asking(), whole({"promptFeedback": {"blockReason": 4}})).answer
    assert answer.choices[0].refusal == "PROHIBITED_CONTENT"
    assert DIALECT.read(asking(), whole({"promptFeedback": {"blockReason": 0}})).answer is None


def test_the_finish_words_of_the_sdk_are_known():
    types = pytest.importorskip("google.genai.types")
    words = [word.value for word in types.FinishReason]
    assert {word for word in words if DIALECT.is_length(Choice(finish=word))} == {"MAX_TOKENS", "CONTINUATION"}
    assert {word for word in words if not DIALECT.is_length(Choice(finish=word))} - {
        word for word in words if DIALECT.is_refusal(Choice(finish=word))
    } == {
        "FINISH_REASON_UNSPECIFIED",
        "STOP",
        "OTHER",
        "MALFORMED_FUNCTION_CALL",
        "IMAGE_OTHER",
        "NO_IMAGE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
    }
