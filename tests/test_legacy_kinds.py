import pytest

from onetake.legacy_kinds import COUNTED, Kind, kind_of


@pytest.mark.parametrize(
    ("path", "dialect", "kind"),
    [
        ("body$.messages[3].content", "openai-chat", Kind.PROMPT),
        ("body$.messages[3].tool_calls[0].function.arguments$.city", "openai-chat", Kind.PROMPT),
        ("body$.system", "anthropic-messages", Kind.PROMPT),
        ("body$.contents[0].parts[0].text", "gemini", Kind.PROMPT),
        ("body$.generationConfig.temperature", "gemini", Kind.PARAMETER),
        ("body$.generationConfig.responseSchema.type", "gemini", Kind.SCHEMA),
        ("body$.tools[0].function.parameters.properties.a", "openai-chat", Kind.TOOLS),
        ("body$.tool_choice", "openai-chat", Kind.PARAMETER),
        ("body$.parallel_tool_calls", "openai-chat", Kind.PARAMETER),
        ("body$.model", None, Kind.MODEL),
        ("body$.previous_response_id", "openai-responses", Kind.CONTEXT),
        ('body$["odd $name"]', None, Kind.FIELD),
        ("body$", None, Kind.FIELD),
        ("body.kind", None, Kind.BODY),
        ("body.parts[0]", None, Kind.BODY),
        ("headers.anthropic-beta", None, Kind.HEADER),
        ("url.query.alt", None, Kind.URL),
        ("method", None, Kind.URL),
    ],
)
def test_every_place_has_its_word(path, dialect, kind):
    assert kind_of(path, dialect) is kind


def test_the_same_request_in_other_words_does_not_count():
    assert set(Kind) - COUNTED == {Kind.BYTES, Kind.RULES}
