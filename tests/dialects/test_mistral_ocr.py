import json

from onetake.dialects import Promise, Reading
from onetake.dialects.mistral_ocr import DIALECT
from onetake.model import Answer, Choice, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://api.mistral.ai/v1/ocr"
JSON = (("content-type", "application/json"),)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "count", "schema": SCHEMA, "strict": True}}


def asking(**more):
    return Request("POST", URL, body=json.dumps({"model": "mistral-ocr-latest", "document": {}, **more}).encode())


def whole(*pages, **more):
    body = {
        "pages": [{"index": i, "markdown": page, "images": []} for i, page in enumerate(pages)],
        "model": "mistral-ocr-2512",
        "usage_info": {"pages_processed": len(pages)},
        **more,
    }
    return Response(200, JSON, json.dumps(body, ensure_ascii=False).encode())


class TestMistralOCR(DialectConformance):
    dialect = DIALECT
    speaks = (("POST", URL), ("POST", "http://127.0.0.1:8080/x/v1/ocr/"))
    silent = (("GET", URL), ("POST", "https://api.mistral.ai/v1/files"))
    cases = (
        DialectCase(
            "pages",
            asking(document_annotation_format=None),
            Reading(Answer((Choice("# Grüße\n\n👋"),)), model="mistral-ocr-2512"),
            whole=whole("# Grüße", "", "👋", document_annotation=None),
            model_asked="mistral-ocr-latest",
        ),
        DialectCase(
            "annotation",
            asking(document_annotation_format=FORMAT),
            Reading(Answer((Choice('{"n": 1}'),)), model="mistral-ocr-2512"),
            whole=whole("# One", document_annotation='{"n": 1}'),
            promises=(Promise("text", "count", SCHEMA, True),),
            model_asked="mistral-ocr-latest",
        ),
        DialectCase(
            "error object under 200",
            asking(),
            Reading(error="Overloaded"),
            whole=Response(200, JSON, b'{"object": "error", "message": "Overloaded"}'),
            model_asked="mistral-ocr-latest",
        ),
    )
