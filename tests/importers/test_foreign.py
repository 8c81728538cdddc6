"""Files of other recorders are told by name."""

from __future__ import annotations

import pytest

from onetake.importers.foreign import recorder_of, recorder_of_item

GO_ITEM = {"request": {"body": "", "url": "u", "method": "GET"}, "response": {"code": 200, "duration": "1ms"}}
GRPC_ITEM = {"request_sample": {}, "response_sample": {}}
OURS = {"request": {"method": "GET", "uri": "u"}, "response": {"status": {"code": 200}}}


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ({"http_interactions": [], "recorded_with": "VCR 6.0"}, "Ruby VCR"),
        ({"http_interactions": [], "recorded_with": "betamax/0.8"}, "betamax"),
        ({"version": 2, "interactions": []}, "go-vcr"),
        ({"version": 1, "interactions": [GO_ITEM]}, "go-vcr"),
        ({"replay_id": "x", "interactions": []}, "google-genai replay"),
        ({"version": 1, "interactions": [GRPC_ITEM]}, "gRPC calls (pydantic-ai's xAI)"),
        ({"when": {}, "then": {}}, "httpmock (Rust)"),
        ({"request": {"method": "POST", "url": "u"}, "response": {}}, "Datadog test agent"),
        ({"log": {"_recordingName": "x", "creator": {}, "entries": []}}, "Polly.js"),
        ({"log": {"version": "1.2", "entries": []}}, "HAR"),
        ([{"request": {"method": "GET", "url": "u"}, "response": {}}], "PHP-VCR"),
        ([{"scope": "s", "method": "GET", "path": "/"}], "nock"),
        ({"responses": [{"response": {"method": "GET"}}]}, "responses"),
        ({"mappings": []}, "WireMock"),
        ({"onetake": 1, "verdict": "good", "key": "0"}, "onetake"),
    ],
)
def test_each_is_told_by_what_only_it_writes(document, name):
    assert recorder_of(document) == name


@pytest.mark.parametrize(
    "document",
    [
        {"version": 1, "interactions": [OURS]},
        {"interactions": []},
        [OURS],
        {"requests": [], "responses": []},
        {"version": 1, "interactions": [OURS, GRPC_ITEM]},
        None,
        7,
        {"services": {}},
    ],
)
def test_what_may_be_vcrpys_is_nobody_elses(document):
    assert recorder_of(document) == ""


def test_an_item_of_another_in_the_midst_is_told():
    assert recorder_of_item(GRPC_ITEM).startswith("gRPC")
    assert recorder_of_item(GO_ITEM) == "go-vcr"
    assert recorder_of_item({"request": {"body_segments": []}, "response": {}}) == "google-genai replay"
    assert recorder_of_item(OURS) == recorder_of_item({}) == ""


def test_every_foreign_file_of_the_corpora_is_told(corpora):
    from onetake.importers.reading import files_under, read

    found = {
        path.relative_to(corpora / "foreign").as_posix(): read(path).kind for path in files_under([corpora / "foreign"])
    }
    assert found == {
        "betamax/replay_interactions.json": "betamax",
        "cagent/TestA2AServer_AgentCard.yaml": "go-vcr",
        "cagent/TestExec_Anthropic.yaml": "go-vcr",
        "dd-trace-py/openai_chat_completions_post_930afee9.json": "Datadog test agent",
        "pal-mcp-server/mldev.json": "google-genai replay",
        "pydantic-ai/test_xai_system_prompt.xai.yaml": "gRPC calls (pydantic-ai's xAI)",
        "rig/text_turn_parity.yaml": "httpmock (Rust)",
        "ruby_llm/chat_error_handling_with_openai_gpt-5-nano_raises_appropriate_auth_error.yml": "Ruby VCR",
    }
