from onetake.dialects import Reading
from onetake.dialects.openai_moderations import DIALECT
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance
from onetake.testing.provider import openai_moderation

URL = "https://api.openai.com/v1/moderations"
CLASSES = "https://api.mistral.ai/v1/classifications"


class TestOpenAIModerations(DialectConformance):
    dialect = DIALECT
    speaks = (("POST", URL), ("POST", "https://api.mistral.ai/v1/chat/moderations"), ("POST", CLASSES))
    silent = (("GET", URL), ("POST", URL + "/1"), ("POST", "https://h/admin/moderations"))
    cases = (
        DialectCase(
            "flagged",
            Request("POST", URL, body=b'{"model": "omni-moderation-latest", "input": "x"}'),
            Reading(Answer(), model="omni-1"),
            whole=Response(200, (), openai_moderation(True, False, model="omni-1").body),
            model_asked="omni-moderation-latest",
        ),
        DialectCase(
            "Mistral: classified",
            Request("POST", CLASSES, body=b'{"model": "ft:m", "input": ["x"]}'),
            Reading(Answer(), model="ft:m"),
            whole=Response(200, (), b'{"id": "1", "model": "ft:m", "results": [{"topic": {"scores": {"a": 0.5}}}]}'),
            model_asked="ft:m",
        ),
        DialectCase(
            "error object under 200",
            Request("POST", URL, body=b"{}"),
            Reading(error="no"),
            whole=Response(200, (), b'{"error": "no"}'),
        ),
    )
