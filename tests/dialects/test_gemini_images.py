import json

from onetake.dialects import Reading
from onetake.dialects.gemini_images import DIALECT
from onetake.model import Answer, Request, Response
from onetake.testing.dialects import DialectCase, DialectConformance

URL = "https://generativelanguage.googleapis.com/v1beta/models/imagen-4.0-generate-001:predict"
VERTEX = "https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/l/publishers/google/models"
JSON = (("content-type", "application/json"),)
MADE = {"predictions": [{"mimeType": "image/png", "bytesBase64Encoded": "iVBO"}]}


class TestGeminiImages(DialectConformance):
    dialect = DIALECT
    speaks = (
        ("POST", URL),
        ("POST", URL.replace(":predict", "%3Apredict")),
        ("POST", f"{VERTEX}/imagen-3.0-generate-002:predict"),
        ("POST", f"{VERTEX}/imagegeneration@006:predict"),
    )
    silent = (
        ("GET", URL),
        ("POST", f"{VERTEX}/text-embedding-005:predict"),
        ("POST", f"{VERTEX}/veo-3.0-generate-001:predictLongRunning"),
        ("POST", "https://h/v1/projects/p/locations/l/endpoints/12:predict"),
    )
    cases = (
        DialectCase(
            "made",
            Request("POST", URL, body=b'{"instances": [{"prompt": "a cat"}]}'),
            Reading(Answer()),
            whole=Response(200, JSON, json.dumps(MADE).encode()),
            model_asked="imagen-4.0-generate-001",
        ),
        DialectCase(
            "error under 200",
            Request("POST", URL, body=b"{}"),
            Reading(error="no"),
            whole=Response(200, JSON, b'{"error": {"message": "no"}}'),
            model_asked="imagen-4.0-generate-001",
        ),
    )
