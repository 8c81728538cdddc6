"""boto3's bedrock-runtime, over botocore's urllib3."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.sdk("boto3")

MODEL = "amazon.nova-lite-v1:0"
CLAUDE = "anthropic.claude-3-5-haiku-20241022-v1:0"
MESSAGES = [{"role": "user", "content": [{"text": "name a city"}]}]
CLAUDES = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "name a city"}],
}
TEXT = "answer 1 to: name a city"


def client_of(url):
    import boto3
    from botocore.config import Config

    return boto3.client(
        "bedrock-runtime",
        endpoint_url=url,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"total_max_attempts": 1}),
    )


def test_converse(recorded_once):
    def ask(url):
        return client_of(url).converse(modelId=MODEL, messages=MESSAGES)["output"]

    got = recorded_once("converse", ask, client="urllib3", dialect="bedrock-converse")
    assert got["message"]["content"][0]["text"] == TEXT


def test_converse_stream(recorded_once):
    def ask(url):
        return list(client_of(url).converse_stream(modelId=MODEL, messages=MESSAGES)["stream"])

    got = recorded_once("converse_stream", ask, client="urllib3", dialect="bedrock-converse")
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in got if "contentBlockDelta" in event]
    assert "".join(deltas) == TEXT


def test_invoke_model(recorded_once):
    def ask(url):
        answer = client_of(url).invoke_model(modelId=CLAUDE, body=json.dumps(CLAUDES))
        return json.loads(answer["body"].read())

    got = recorded_once("invoke_model", ask, client="urllib3", dialect="bedrock-invoke")
    assert got["content"][0]["text"] == TEXT


def test_invoke_model_with_response_stream(recorded_once):
    def ask(url):
        answer = client_of(url).invoke_model_with_response_stream(modelId=CLAUDE, body=json.dumps(CLAUDES))
        return [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]

    got = recorded_once("invoke_model_with_response_stream", ask, client="urllib3", dialect="bedrock-invoke")
    assert "".join(event["delta"].get("text", "") for event in got if event["type"] == "content_block_delta") == TEXT
