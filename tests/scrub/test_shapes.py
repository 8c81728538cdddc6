"""Every shape finds its secret where it may stand, and leaves alone what only looks like it."""

import base64
import json
import re
from pathlib import Path

import pytest

from onetake.scrub import SCRUBS
from onetake.scrub.finder import Finder
from onetake.scrub.shapes import (
    PRIVATE_KEY,
    REQUEST_HEADERS,
    RESPONSE_HEADERS,
    SECRET_NAMES,
    SHAPES,
    STAND_INS,
    URL_PASSWORD,
    is_credential_header,
    is_secret_name,
    plain,
)

BODY = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3"
UPPER = "IOSFODNN7EXAMPLE"


def b64(text):
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


JWT = (
    f"{b64(json.dumps({'alg': 'HS256', 'typ': 'JWT'}))}.{b64(json.dumps({'sub': 'someone'}))}.{b64('sixteen bytes ok')}"
)
PEM = (
    "-----BEGIN RSA PRIVATE"
    + " KEY-----\n"
    + "\n".join(["MIIEpAIBAAKCAQEA" * 4] * 3)
    + "\n-----END RSA PRIVATE KEY-----"
)

SECRETS = [
    ("anthropic key", "sk-ant-" + "api03-" + BODY),
    ("openrouter key", "sk-or-" + "v1-" + BODY),
    ("openai key", "sk-" + "proj-" + BODY),
    ("openai key", "sk-" + "svcacct-" + BODY),
    ("openai key", "sk-" + BODY),
    ("openai key", "sk-" + "0123456789abcdef" * 2),
    ("openai key", "ek_" + BODY),
    ("google key", "AIza" + BODY[:35]),
    ("google key", "AQ.Ab" + BODY),
    ("google token", "ya29." + BODY),
    ("google secret", "GOCSPX-" + BODY[:28]),
    ("groq key", "gsk_" + BODY),
    ("xai key", "xai-" + BODY * 2),
    ("hugging face token", "hf_" + BODY[:34]),
    ("replicate token", "r8_" + BODY[:37]),
    ("perplexity key", "pplx-" + BODY),
    ("cerebras key", "csk-" + BODY),
    ("nvidia key", "nvapi-" + BODY),
    ("fireworks key", "fw_" + BODY[:24]),
    ("together key", "tgp_v1_" + BODY),
    ("tavily key", "tvly-" + BODY),
    ("langsmith key", "lsv2_" + "pt_" + BODY),
    ("langfuse key", "pk-lf-" + "12345678-1234-1234-1234-123456789abc"),
    ("posthog key", "phc_" + BODY),
    ("aws key", "AKIA" + UPPER),
    ("aws key", "ASIA" + UPPER),
    ("aws key", "ABSK" + BODY * 3),
    ("aws key", "bedrock-api-key-" + BODY * 2),
    ("github token", "ghp_" + BODY[:36]),
    ("github token", "github_pat_" + BODY),
    ("gitlab token", "glpat-" + BODY[:20]),
    ("slack token", "xoxb-" + "1234567890-" + BODY),
    ("sendgrid key", "SG." + BODY[:22] + "." + BODY),
    ("stripe key", "sk_live_" + BODY),
    ("npm token", "npm_" + BODY[:36]),
    ("pypi token", "pypi-AgE" + BODY),
    ("organisation id", "org-" + BODY[:24]),
    ("project id", "proj_" + BODY[:24]),
    ("user id", "user-" + BODY[:24]),
    ("jwt", JWT),
    ("private key", PEM),
]

HARMLESS = [
    "sk-...",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-ant-api03-xxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-YOUR_API_KEY_GOES_RIGHT_HERE",
    "sk-learn-pipeline-classifier-model",
    "task-2024-0123456789abcdef0123456789",
    "risk-assessment-0123456789abcdef",
    "disk-0123456789abcdef0123456789abcdef",
    "max_tokens",
    "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "0be49bf3c1d8a6e7f50123456789abcdef012345",
    "sha256:" + "0123456789abcdef" * 4,
    "chatcmpl-" + BODY,
    "call_" + BODY[:24],
    "toolu_01" + BODY[:22],
    "resp_" + BODY,
    "msg_" + BODY,
    "gpt-4o-mini-2024-07-18",
    "claude-sonnet-4-5-20250929",
    "AKIA is how such keys begin",
    "ASIATICLIONSLIVEINGUJARATFORESTS",
    "the bearer of representative responsibilities",
    "Bearer $OPENAI_API_KEY",
    "Bearer <your token here>",
    "Basic understanding of programming",
    "org-babel-execute-src-block",
    "user-0123456789",
    "-----BEGIN PRIVATE" + " KEY-----\n...\n-----END PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----\n" + "MIIEpAIBAAKCAQEA" * 4,
    "eyJub3QganNvbg.eyJub3QganNvbg.abc",
    "https://example.com/a?sig=short",
    "https://host:8080/path@version/8.1",
    "design=postmodern_architecture&x=1",
    "iVBORw0KGgoAAAANSUhEUgAAsk-antAPIBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
    "AAAA" * 30 + "AIza" + "AAAA" * 30,
]


@pytest.mark.parametrize(("kind", "secret"), SECRETS, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(SECRETS)])
@pytest.mark.parametrize("around", ["{}", 'say "{}" twice', "KEY={}", "line\n{}\n", "({}),", "key: {}."])
def test_a_shape_is_found_with_its_kind_and_nothing_else(kind, secret, around):
    text = around.format(secret)
    found = [(hit.kind, hit.secret) for hit in Finder().find(text)]
    assert [kind for kind, _ in found] == [kind]
    assert secret.startswith(found[0][1].rstrip(".")) and len(found[0][1]) >= len(secret)


@pytest.mark.parametrize("text", HARMLESS)
@pytest.mark.parametrize("around", ["{}", 'say "{}" twice', "see {}, please"])
def test_what_only_looks_like_a_secret_is_left(text, around):
    assert Finder().find(around.format(text)) == []


@pytest.mark.parametrize(
    "kind", sorted({shape.kind for shape in SHAPES} - {"bearer token", "basic credentials", "signed url", "secret"})
)
def test_every_kind_has_an_example(kind):
    assert kind in [name for name, _ in SECRETS]


def found_in(text):
    return [(hit.kind, text[hit.start : hit.end]) for hit in Finder().find(text)]


def test_only_the_token_of_a_bearer_header_is_the_secret():
    assert found_in("authorization: Bearer abcdefgh01234567") == [("bearer token", "abcdefgh01234567")]


def test_a_bearer_token_of_a_known_shape_has_that_kind():
    assert found_in("Bearer " + JWT) == [("jwt", JWT)]


def test_basic_credentials_must_decode_to_user_and_password():
    secret = base64.b64encode(b"user:pass word").decode()
    assert found_in(f"Basic {secret}") == [("basic credentials", secret)]
    assert found_in("Basic " + base64.b64encode(b"no colon here").decode()) == []


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("https://x.blob.core.windows.net/a?se=1&sig=abcdEFGH0123%2Fabcd%3D&sp=r", "abcdEFGH0123%2Fabcd%3D"),
        ("https://b.s3.amazonaws.com/k?X-Amz-Signature=" + "0123456789abcdef" * 4, "0123456789abcdef" * 4),
        (
            "https://b.s3.amazonaws.com/k?X-Amz-Security-Token=IQoJb3JpZ2luX2VjEXAMPLE01&y=1",
            "IQoJb3JpZ2luX2VjEXAMPLE01",
        ),
        ("https://storage.googleapis.com/b?X-Goog-Signature=" + "0a" * 32, "0a" * 32),
        ("https://cdn.example.com/v?Expires=1&amp;Signature=abcd~EFGH-0123_x&z", "abcd~EFGH-0123_x"),
    ],
)
def test_the_signature_of_a_signed_url(url, secret):
    assert found_in(f"see {url} now") == [("signed url", secret)]


def test_a_credential_in_the_query_of_a_url_in_a_text():
    assert found_in("GET https://x.example/v1?api_key=abc-def-01234&n=1") == [("secret", "abc-def-01234")]


def test_the_password_of_a_url():
    assert found_in("postgres://me:hunter2hunter2@db/x") == [("password", "hunter2hunter2")]
    assert found_in("postgres://user:password@localhost/db") == []


def test_a_private_key_that_was_cut_off_reaches_to_the_end():
    assert found_in("a " + PEM[:150]) == [("private key", PEM[:150])]


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "API-KEY", "access_token", "client_secret", "Authorization", "password"]
)
def test_names_count_in_any_spelling(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "token", "tokens", "prompt_tokens", "key", "keys", "secretary", "passwords", "author"]
)
def test_names_never_count_by_substring(name):
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["Authorization", "X-Acme-Token", "x-api-key", "Ocp-Apim-Subscription-Key", "Cookie", "X_SECRET"]
)
def test_credential_headers(name):
    assert is_credential_header(name)


@pytest.mark.parametrize(
    "name",
    ["x-ratelimit-remaining-tokens", "idempotency-key", "x-amzn-bedrock-input-token-count", "author", "keep-alive"],
)
def test_harmless_headers(name):
    assert not is_credential_header(name)


def test_each_shape_names_a_literal_that_its_secret_holds():
    for shape in (*SHAPES, PRIVATE_KEY, URL_PASSWORD):
        assert shape.literals and all(literal == literal.lower() for literal in shape.literals)


def test_the_reference_lists_every_kind_and_every_name():
    page = (Path(__file__).parents[2] / "docs/reference/scrub.md").read_text(encoding="utf-8")
    shapes = page.split("<!-- shapes -->")[1].split("<!-- /shapes -->")[0]
    assert sorted(re.findall(r"^\| `([^`]+)` \|", shapes, re.MULTILINE)) == sorted(
        {shape.kind for shape in (*SHAPES, PRIVATE_KEY, URL_PASSWORD)}
    )
    names = page.split("<!-- names -->")[1].split("<!-- /names -->")[0]
    assert sorted(map(plain, re.findall("`([^`]+)`", names))) == sorted(SECRET_NAMES)
    for name in (*STAND_INS, *RESPONSE_HEADERS, *REQUEST_HEADERS):
        assert f"`{name}`" in page
    assert f"List version: `{SCRUBS[0]}`" in page
