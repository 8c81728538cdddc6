import pytest

from onetake import dialects
from onetake.dialects.openai_family import failed, finish_word, is_length, is_refusal, model_asked, usage_counts
from onetake.model import Choice, Request

AZURE = "https://x.openai.azure.com/openai/deployments/my%20own/{}?api-version=2024-06-01"
FORM = (("Content-Type", "multipart/form-data; boundary=b"),)


def form(*fields):
    parts = [
        f'--b\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{text}\r\n' for name, more, text in fields
    ]
    return "".join(parts).encode() + b"--b--\r\n"


@pytest.mark.parametrize(
    "path, dialect",
    [
        ("chat/completions", "openai-chat"),
        ("completions", "openai-completions"),
        ("embeddings", "openai-embeddings"),
        ("images/generations", "openai-images"),
        ("images/edits", "openai-images"),
        ("audio/speech", "openai-speech"),
        ("audio/transcriptions", "openai-transcriptions"),
        ("audio/translations", "openai-transcriptions"),
    ],
)
def test_a_deployment_in_the_path_is_the_model(path, dialect):
    url = AZURE.format(path)
    found = dialects.find("POST", url)
    assert found.name == dialect
    assert found.model_asked(Request("POST", url, body=b"{}")) == "my own"
    assert found.model_asked(Request("POST", url, body=b'{"model": "gpt-5"}')) == "gpt-5"


def test_a_forms_model_is_a_field_not_a_file():
    url = "https://api.openai.com/v1/audio/transcriptions"
    body = form(
        ("file", '; filename="a.txt"', "model"), ("model", '; filename="m.bin"', "no"), ("model", "", "whisper-1")
    )
    assert model_asked(Request("POST", url, FORM, body)) == "whisper-1"
    assert model_asked(Request("POST", url, FORM, form(("language", "", "de")))) is None
    assert model_asked(Request("POST", url, FORM, body[:-4])) is None
    assert model_asked(Request("POST", url, (("content-type", "multipart/form-data"),), body)) is None
    assert model_asked(Request("POST", AZURE.format("audio/transcriptions"), FORM, form())) == "my own"


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


def test_usage_has_two_pairs_of_names():
    assert usage_counts({"prompt_tokens": 1, "completion_tokens": 2}) == (1, 2)
    assert usage_counts({"input_tokens": 0, "prompt_tokens": 1, "output_tokens": 3}) == (0, 3)
    assert usage_counts({"total_tokens": 3}) == (None, None)


def test_every_dialect_has_a_name_of_its_own():
    names = [dialect.name for dialect in dialects.known()]
    assert sorted(set(names)) == sorted(names)
