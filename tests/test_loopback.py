"""What on loopback is a model's: its own paths and ports, not those that programs have too."""

import pytest

from onetake import loopback
from onetake.traffic import Route, Traffic

APP = "http://127.0.0.1:8000"


def route(method, url, **patterns):
    return Traffic(**patterns).verdict(method, url)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:11434/api/chat",
        "http://localhost:11434/api/generate",
        "http://[::1]:11434/api/embed",
        "http://localhost:11434/api/embeddings",
        "http://localhost:11434/v1/responses",
        f"{APP}/v1/chat/completions",
        f"{APP}/any/prefix/chat/completions",
        f"{APP}/v1/completions",
        f"{APP}/v1/embeddings/",
        f"{APP}/v3/embeddings",
        f"{APP}/v1/moderations",
        f"{APP}/v1/responses",
        f"{APP}/openai/v1/responses",
        f"{APP}/openai/responses?api-version=1",
        f"{APP}/openai/deployments/ada/embeddings",
        f"{APP}/engines/v1/embeddings",
        f"{APP}/engines/llama.cpp/v1/completions",
        f"{APP}/v1/messages",
        f"{APP}/v1/audio/speech",
        f"{APP}/v1/images/generations",
        f"{APP}/v1beta/models/g:generateContent",
        f"{APP}/model/m/converse",
    ],
)
def test_br_081_a_model_server_on_loopback_is_an_interaction(url):
    assert route("POST", url) is Route.INTERACTION


@pytest.mark.parametrize(
    "path",
    [
        "/api/chat",
        "/api/generate",
        "/api/embed",
        "/api/embeddings",
        "/v1/chat",
        "/v2/chat",
        "/v1/generate",
        "/v1/embed",
        "/v1/rerank",
        "/v1/conversations",
        "/v1/conversations/7",
        "/v1/ocr",
        "/responses",
        "/api/v1/responses",
        "/survey/v1/responses",
        "/survey/v1/completions",
        "/admin/moderations",
        "/todo/completions",
        "/x/embeddings",
        "/v1/files",
        "/v1/uploads",
        "/v1/batches",
    ],
)
def test_a_path_that_programs_have_too_is_their_own_unless_hosts_names_the_server(path):
    assert route("POST", APP + path) is Route.LOCAL
    assert route("POST", APP + path, hosts=["127.0.0.1:8000"]) is Route.INTERACTION
    assert route("POST", "https://app.acme.example" + path) is Route.INTERACTION


def test_a_fetched_response_is_a_models_at_the_root():
    assert route("GET", f"{APP}/v1/responses/resp_1") is Route.INTERACTION
    assert route("GET", f"{APP}/survey/responses/resp_1") is Route.LOCAL


@pytest.mark.parametrize(
    ("said", "port"),
    [
        ("127.0.0.1:11500", 11500),
        (":11500", 11500),
        ("http://0.0.0.0:11500/", 11500),
        ("[::1]:11500", 11500),
        ("0.0.0.0", 11434),
        ("", 11434),
    ],
)
def test_br_081_ollama_counts_where_its_variable_says(monkeypatch, said, port):
    monkeypatch.setenv("OLLAMA_HOST", said)
    ports = [8000, 11434, 11500]
    found = [loopback.dialect_of("POST", f"http://localhost:{each}/api/chat") is not None for each in ports]
    assert found == [each in (11434, port) for each in ports]


def test_br_081_ollama_at_a_port_of_its_own_is_told_of():
    traffic = Traffic(ignore=["127.0.0.1:8001"])
    said = traffic.warning("POST", "http://localhost:32768/api/chat")
    assert said.startswith("may be a model call (ollama) and is not recorded: name its server in `hosts`")
    assert traffic.warning("POST", "http://127.0.0.1:8001/api/chat") == ""
    assert traffic.warning("POST", "http://localhost:32768/v1/chat") == ""
    assert Traffic(ignore=["localhost"]).warning("POST", "http://localhost:8000/v1/chat") == ""
    assert Traffic(ignore=["localhost"]).warning("POST", "http://localhost:11434/api/chat").startswith("looks like")


@pytest.mark.parametrize(
    ("host", "here"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.255.199.0", True),
        ("::1", True),
        ("127.0.0.256", False),
        ("127.0.0.999", False),
        ("127.\u0660.\u0660.\u0661", False),
        ("127.0.0.1.example", False),
    ],
)
def test_which_hosts_can_only_be_this_machine(host, here):
    assert loopback.is_here(host) is here
