"""Where credentials go: an entry is a file that anybody may have changed."""

from __future__ import annotations

import pytest

from onetake.dummies import DUMMY
from onetake.probing.credentials import BUILT_IN, Allowed, Barred, Credentials

KEYS = {"OPENAI_API_KEY": "sk-open", "ANTHROPIC_API_KEY": "sk-ant", "GATEWAY_KEY": "gate", "GEMINI_API_KEY": "goo"}


def of(url, dialect="openai-chat", origins=(), environ=KEYS):
    return Credentials(dict(origins), environ).of(url, dialect)


@pytest.mark.parametrize(
    ("url", "dialect", "header"),
    [
        ("https://api.openai.com/v1/chat/completions", "openai-chat", ("authorization", "Bearer sk-open")),
        ("https://API.OpenAI.com:443/v1/responses", "openai-responses", ("authorization", "Bearer sk-open")),
        ("https://api.anthropic.com/v1/messages", "anthropic-messages", ("x-api-key", "sk-ant")),
        ("https://generativelanguage.googleapis.com/v1beta/x", "gemini", ("x-goog-api-key", "goo")),
        # Another API at a provider's own origin: whose credential it is does not change.
        ("https://api.anthropic.com/v1/chat/completions", "openai-chat", ("x-api-key", "sk-ant")),
    ],
)
def test_a_providers_own_origin_gets_its_own_credential(url, dialect, header):
    assert of(url, dialect) == Allowed((header,))


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1/chat/completions",
        "https://api.openai.com.evil.example/v1/chat/completions",
        "https://evil.example/api.openai.com/v1/chat/completions",
        "https://evil.example/https://api.openai.com/v1/chat/completions",
        "https://api.openai.com@evil.example/v1/chat/completions",
        "https://api.openai.com:8443/v1/chat/completions",
        "https://api.openai.com./v1/chat/completions",
        "https://eu.api.openai.com.evil.example\\@api.openai.com/v1/chat/completions",
        "https://evil.openai.azure.com/openai/deployments/x/chat/completions",
        "https://bedrock-runtime.evil.example.amazonaws.com/model/x/converse",
        "https://127.evil.example/v1/chat/completions",
        "http://api.openai.com/v1/chat/completions",
        "http://10.0.0.1/v1/chat/completions",
        "http://127.evil.example/v1/chat/completions",
        "http://localhost.evil.example/v1/chat/completions",
        "ftp://api.openai.com/v1/chat/completions",
        "function:app.label",
        "",
    ],
)
def test_no_other_address_is_asked_whatever_it_looks_like(url):
    barred = of(url)
    assert isinstance(barred, Barred)
    assert not barred.missing
    assert not any(key in barred.why for key in KEYS.values())


def test_the_settings_map_an_origin_exactly_and_say_where_they_are():
    origins = {"https://models.example:8443": "GATEWAY_KEY"}
    url = "https://models.example:8443/openai/v1/chat/completions"
    assert of(url, origins=origins) == Allowed((("authorization", "Bearer gate"),))
    for other in (
        "https://models.example/v1/x",
        "https://a.models.example:8443/v1/x",
        "http://models.example:8443/v1/x",
    ):
        assert isinstance(of(other, origins=origins), Barred)
    assert "[tool.onetake.credentials]" in of("https://models.example/v1/x", origins=origins).why


@pytest.mark.parametrize(
    ("origin", "dialect", "header"),
    [
        ("https://models.example", "anthropic-messages", ("x-api-key", "gate")),
        ("https://models.example", "gemini", ("x-goog-api-key", "gate")),
        ("https://mine.openai.azure.com", "openai-chat", ("api-key", "gate")),
    ],
)
def test_a_mapped_origin_gets_its_credential_where_its_api_looks_for_it(origin, dialect, header):
    assert of(f"{origin}/v1/x", dialect, {origin: "GATEWAY_KEY"}) == Allowed((header,))


def test_the_settings_go_before_what_is_built_in():
    origins = {"https://api.openai.com": "GATEWAY_KEY"}
    assert of("https://api.openai.com/v1/x", origins=origins) == Allowed((("authorization", "Bearer gate"),))
    assert of("https://api.openai.com/v1/x", origins={"https://api.openai.com": ""}) == Allowed()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/v1/x", "http://localhost/v1/x", "http://[::1]:9/v1/x", "https://127.0.0.1/v1/x"]
)
def test_this_machine_is_asked_without_a_credential(url):
    assert of(url) == Allowed()
    assert of(url, origins={"http://127.0.0.1:8080": "GATEWAY_KEY"}).headers in (
        (),
        (("authorization", "Bearer gate"),),
    )


def test_an_origin_that_wants_no_credential_is_asked_without_one():
    assert of("https://open.example/v1/x", origins={"https://open.example": ""}) == Allowed()


@pytest.mark.parametrize("value", [None, "", "  ", DUMMY, "two words", "line\nbreak", "clé"])
def test_what_is_no_credential_is_missing_and_named_by_its_variable_alone(value):
    environ = {} if value is None else {"OPENAI_API_KEY": value}
    barred = of("https://api.openai.com/v1/x", environ=environ)
    assert (type(barred), barred.missing) == (Barred, True)
    assert barred.why.startswith("OPENAI_API_KEY ")
    assert not (value and value.strip() and value in barred.why)


def test_the_first_way_in_that_is_there_counts():
    url = "https://api.anthropic.com/v1/messages"
    assert of(url, environ={"ANTHROPIC_AUTH_TOKEN": "token"}) == Allowed((("authorization", "Bearer token"),))
    assert of(url, environ={"ANTHROPIC_AUTH_TOKEN": "token", "ANTHROPIC_API_KEY": "k"}) == Allowed(
        (("x-api-key", "k"),)
    )
    bedrock = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/converse"
    assert of(bedrock, environ={"AWS_BEARER_TOKEN_BEDROCK": "b"}) == Allowed((("authorization", "Bearer b"),))


def test_every_built_in_origin_is_encrypted_and_its_own():
    assert all(origin.startswith("https://") and origin.count("/") == 2 for origin in BUILT_IN)


def test_values_are_hidden_in_texts():
    environ = {"GATEWAY_KEY": "gate-word", "OPENAI_API_KEY": "plain-word", "AWS_BEARER_TOKEN_BEDROCK": "bedrock-word"}
    found = Credentials({"https://x.example": "GATEWAY_KEY"}, environ | {"MISTRAL_API_KEY": "short"})
    assert found.hidden("gate-word, a plain-word, bedrock-word and short") == "…, a …, … and short"


@pytest.mark.parametrize("host", ["127.0.0.999", "127.0.0.256", "127.\u0660.\u0660.\u0661", "127.0.0.1.2", "127.0.0"])
def test_what_only_looks_like_this_machine_is_not_asked(host):
    assert isinstance(of(f"http://{host}:8080/v1/x"), Barred)
    assert isinstance(of(f"https://{host}:8080/v1/x"), Barred)
