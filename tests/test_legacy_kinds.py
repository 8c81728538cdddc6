import pytest

from onetake.legacy_kinds import COUNTED, Subject, subject_of


@pytest.mark.parametrize(
    ("path", "dialect", "kind"),
    [
        ("body$.messages[3].content", "openai-chat", Subject.PROMPT),
        ("body$.messages[3].tool_calls[0].function.arguments$.city", "openai-chat", Subject.PROMPT),
        ("body$.system", "anthropic-messages", Subject.PROMPT),
        ("body$.contents[0].parts[0].text", "gemini", Subject.PROMPT),
        ("body$.generationConfig.temperature", "gemini", Subject.PARAMETER),
        ("body$.generationConfig.responseSchema.type", "gemini", Subject.SCHEMA),
        ("body$.tools[0].function.parameters.properties.a", "openai-chat", Subject.TOOLS),
        ("body$.tool_choice", "openai-chat", Subject.PARAMETER),
        ("body$.parallel_tool_calls", "openai-chat", Subject.PARAMETER),
        ("body$.model", None, Subject.MODEL),
        ("body$.previous_response_id", "openai-responses", Subject.CONTEXT),
        ('body$["odd $name"]', None, Subject.FIELD),
        ("body$", None, Subject.FIELD),
        ("body.kind", None, Subject.BODY),
        ("body.parts[0]", None, Subject.BODY),
        ("headers.anthropic-beta", None, Subject.HEADER),
        ("url.query.alt", None, Subject.URL),
        ("method", None, Subject.URL),
    ],
)
def test_every_place_has_its_word(path, dialect, kind):
    assert subject_of(path, dialect) is kind


def test_the_same_request_in_other_words_does_not_count():
    assert set(Subject) - COUNTED == {Subject.BYTES, Subject.RULES}
