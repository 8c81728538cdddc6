"""How many vectors there are, and how wide they are."""

import base64

import pytest

from onetake.testing.provider import json_reply

EMBEDDINGS = "https://api.openai.com/v1/embeddings"
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/g:batchEmbedContents"
COHERE = "https://api.cohere.com/v2/embed"
TITAN = "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.titan-embed-text-v2:0/invoke"


def numbers(*widths):
    return [[0.5] * width for width in widths]


def packed(*widths):
    return [base64.b64encode(b"\x00\x01\x02\x03" * width).decode() for width in widths]


def openai(vectors):
    return json_reply({"object": "list", "data": [{"object": "embedding", "embedding": one} for one in vectors]})


def of(path, recorded, live):
    return [("error", "type", path, recorded, live)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (numbers(1536, 1536), numbers(768, 768), ("1,536 numbers", "768 numbers")),
        (numbers(8, 8), numbers(4, 4), ("8 numbers", "4 numbers")),
        (numbers(8, 8), numbers(8, 4), ("8 numbers", "4 numbers or 8 numbers")),
        (numbers(1), numbers(2), ("1 number", "2 numbers")),
        (packed(1536), packed(768), ("6,144 bytes", "3,072 bytes")),
        (numbers(8), packed(8), ("array", "string")),
        (numbers(8, 8), numbers(8), ("2 vectors", "1 vector")),
        (packed(8), packed(8, 8), ("1 vector", "2 vectors")),
        (numbers(8, 8), [[1] * 8, []], ("2 vectors", "1 vector")),
    ],
)
def test_another_width_or_number_is_an_error(beside, found, old, new, told):
    assert found(beside(openai(old), openai(new), url=EMBEDDINGS)) == of("$.data[*].embedding", *told)
    assert found(beside(openai(old), openai(old), url=EMBEDDINGS)) == []


def test_no_vectors_at_all_are_fewer(beside, found):
    assert found(beside(openai(numbers(8)), openai([]), url=EMBEDDINGS)) == of(
        "$.data[*].embedding", "1 vector", "0 vectors"
    )


@pytest.mark.parametrize(
    ("url", "path", "body"),
    [
        (GEMINI, "$.embeddings[*].values", lambda found: {"embeddings": [{"values": one} for one in found]}),
        (COHERE, "$.embeddings.float[*]", lambda found: {"embeddings": {"float": found}, "id": "x"}),
        (TITAN, "$.embedding", lambda found: {"embedding": found[0], "inputTextTokenCount": 3}),
    ],
)
def test_vectors_of_every_api_are_found(beside, found, url, path, body):
    old, new = (json_reply(body(numbers(width))) for width in (8, 4))
    assert found(beside(old, new, url=url, asked={})) == of(path, "8 numbers", "4 numbers")


def test_other_lists_of_numbers_are_no_vectors(beside, found):
    def completion(width):
        return json_reply({"choices": [{"text": "a", "finish_reason": "stop"}], "embedding": [7] * width})

    def image(width):
        return json_reply({"images": ["aGVsbG8gd29ybGQgaGVsbG8="] * width, "seeds": [7] * width})

    assert found(beside(completion(3), completion(4), url="https://api.openai.com/v1/completions")) == []
    url = TITAN.replace("titan-embed-text-v2", "titan-image-generator-v1")
    assert found(beside(image(1), image(2), url=url, asked={})) == []
