from __future__ import annotations

import re

import pytest

from onetake.errors import UsageError
from onetake.traffic import Route, Traffic

CHAT = "/v1/chat/completions"


def test_a_call_to_any_other_host_is_an_interaction():
    traffic = Traffic()
    assert traffic.verdict("POST", "https://api.openai.com" + CHAT) is Route.INTERACTION
    assert traffic.verdict("GET", "https://api.weather.example/today?city=Paris") is Route.INTERACTION
    assert traffic.verdict("CALL", "function:app.label") is Route.INTERACTION


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST", "app.localhost", "localhost.", "[::1]", "[::ffff:127.0.0.1]"],
)
def test_br_081_a_model_on_loopback_is_an_interaction_and_the_app_under_test_is_not(host):
    traffic = Traffic()
    assert traffic.verdict("POST", f"http://{host}:11434{CHAT}") is Route.INTERACTION
    assert traffic.verdict("POST", f"http://{host}:11434/v1/messages") is Route.INTERACTION
    assert traffic.verdict("GET", f"http://{host}:8000/tickets") is Route.LOCAL
    assert traffic.verdict("GET", f"http://{host}/") is Route.LOCAL


def test_br_081_rules_are_per_host_and_port():
    traffic = Traffic(hosts=["127.0.0.1:8001"], ignore=["127.0.0.1:8000"])
    assert traffic.verdict("POST", "http://127.0.0.1:8001/embed") is Route.INTERACTION
    assert traffic.verdict("POST", "http://127.0.0.1:8000" + CHAT) is Route.IGNORED
    assert traffic.verdict("POST", "http://127.0.0.1:11434" + CHAT) is Route.INTERACTION
    assert traffic.verdict("POST", "http://127.0.0.1:8002/embed") is Route.LOCAL


def test_br_081_an_ignored_call_that_looks_like_a_model_call_is_warned_about():
    url = f"http://localhost:11434{CHAT}"
    for wide in (Traffic(ignore=["localhost"]), Traffic(quiet=["localhost"]), Traffic(ignore=["localhost", "a:1/x"])):
        assert wide.warning("POST", url).startswith("looks like a model call (openai-chat) and is not recorded")
        assert wide.warning("POST", "http://localhost:11434/tickets") == ""


@pytest.mark.parametrize("pattern", ["localhost:11434", "localhost/v1/*", "*:11434", "*/v1/chat/completions"])
def test_br_081_a_pattern_that_names_a_port_or_a_path_is_meant(pattern):
    url = f"http://localhost:11434{CHAT}"
    for meant in (Traffic(ignore=[pattern]), Traffic(ignore=["localhost", pattern]), Traffic(quiet=[pattern])):
        assert meant.verdict("POST", url) in (Route.IGNORED, Route.QUIET)
        assert meant.warning("POST", url) == ""


def test_a_bracketed_address_alone_names_a_whole_host():
    url = f"http://[::1]:11434{CHAT}"
    assert Traffic(ignore=["[::1]"]).warning("POST", url)
    assert not Traffic(ignore=["[::1]:11434"]).warning("POST", url)


@pytest.mark.parametrize(
    "host", ["127.evil.example", "localhost.evil.example", "notlocalhost", "10.0.0.1", "[::2]", "128.0.0.1"]
)
def test_what_only_looks_like_loopback_is_an_interaction(host):
    assert Traffic().verdict("GET", f"http://{host}/x") is Route.INTERACTION


@pytest.mark.parametrize(
    "url",
    [
        "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json",
        "https://models.dev/api.json",
    ],
)
def test_br_082_a_price_list_is_quiet(url):
    assert Traffic().verdict("GET", url) is Route.QUIET


def test_br_082_other_files_of_the_same_host_are_not():
    assert Traffic().verdict("GET", "https://raw.githubusercontent.com/me/prompts/main/x.txt") is Route.INTERACTION


@pytest.mark.parametrize(
    "url",
    [
        "https://oauth2.googleapis.com/token",
        "https://sts.amazonaws.com/",
        "https://sts.eu-central-1.amazonaws.com/",
        "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
        "http://169.254.170.2/v2/credentials/x",
        "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token",
        "http://[fd00:ec2::254]/latest/api/token",
        "https://login.microsoftonline.com/tenant/oauth2/v2.0/token",
        "https://iam.cloud.ibm.com/identity/token",
        "https://accounts.google.com/o/oauth2/token",
    ],
)
def test_br_110_login_traffic_is_quiet(url):
    traffic = Traffic()
    assert traffic.verdict("POST", url) is Route.QUIET
    model = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/x/converse"
    assert traffic.verdict("POST", model) is Route.INTERACTION


@pytest.mark.parametrize(
    "url",
    [
        "https://eu.i.posthog.com/batch/",
        "https://o1.ingest.sentry.io/api/1/envelope/",
        "http://collector.internal:4318/v1/traces",
        "https://otel.example.com/v1/traces",
        "https://api.openai.com/v1/traces/ingest",
        "https://api.smith.langchain.com/runs/batch",
        "https://us.cloud.langfuse.com/api/public/ingestion",
        "https://huggingface.co/gpt2/resolve/main/tokenizer.json",
        "https://cas-bridge.xethub.hf.co/x",
        "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    ],
)
def test_telemetry_and_hubs_are_quiet(url):
    assert Traffic().verdict("POST", url) is Route.QUIET


def test_the_quiet_list_never_takes_a_model_call_or_a_prompt():
    traffic = Traffic()
    proxied = f"https://huggingface.co/api/inference-proxy/together{CHAT}"
    assert traffic.verdict("POST", proxied) is Route.INTERACTION
    assert traffic.verdict("POST", f"http://box.internal:4318{CHAT}") is Route.INTERACTION
    for url in (
        f"https://router.huggingface.co{CHAT}",
        "https://cloud.langfuse.com/api/public/v2/prompts/triage",
        "https://api.smith.langchain.com/commits/me/triage/latest",
    ):
        assert traffic.verdict("GET", url) is Route.INTERACTION


def test_a_quiet_host_that_hosts_names_is_an_interaction():
    traffic = Traffic(hosts=["oauth2.googleapis.com", "my.quiet.example"], quiet=["*.quiet.example"])
    assert traffic.verdict("POST", "https://oauth2.googleapis.com/token") is Route.INTERACTION
    assert traffic.verdict("POST", "https://my.quiet.example/") is Route.INTERACTION
    assert traffic.verdict("POST", "https://other.quiet.example/") is Route.QUIET


def test_ignore_wins_over_hosts_and_quiet_and_dialects():
    traffic = Traffic(hosts=["api.openai.com"], ignore=["api.openai.com/v1/chat/*", "*.sentry.io"])
    assert traffic.verdict("POST", "https://api.openai.com" + CHAT) is Route.IGNORED
    assert traffic.verdict("POST", "https://api.openai.com/v1/responses") is Route.INTERACTION
    assert traffic.verdict("POST", "https://o1.ingest.sentry.io/") is Route.IGNORED


def test_a_quiet_pattern_of_the_user_counts_for_every_path():
    assert Traffic(quiet=["gw.example.com"]).verdict("POST", "https://gw.example.com" + CHAT) is Route.QUIET


@pytest.mark.parametrize(
    ("pattern", "url", "matches"),
    [
        ("example.com", "https://example.com/any/path?q=1", True),
        ("example.com", "https://example.com", True),
        ("example.com", "http://example.com:8080/", True),
        ("example.com", "https://example.com./", True),
        ("example.com", "https://EXAMPLE.com/", True),
        ("Example.COM", "https://example.com/", True),
        ("example.com", "https://user:secret@example.com/", True),
        ("example.com", "https://sub.example.com/", False),
        ("example.com", "https://example.com.evil.net/", False),
        ("example.com", "https://evil.net/example.com", False),
        ("example.com", "https://exampleXcom/", False),
        ("*.example.com", "https://a.example.com/", True),
        ("*.example.com", "https://a.b.example.com/", True),
        ("*.example.com", "https://example.com/", False),
        ("*.example.com", "https://evil.net/x.example.com", False),
        ("*.example.com", "https://evil.net:1/.example.com", False),
        ("example.com:443", "https://example.com/", True),
        ("example.com:80", "https://example.com/", False),
        ("example.com:80", "http://example.com/", True),
        ("example.com/v1", "https://example.com/v1", True),
        ("example.com/v1", "https://example.com/v1/x", False),
        ("example.com/v1*", "https://example.com/v1/x", True),
        ("example.com/v1/*/run", "https://example.com/v1/a/b/run", True),
        ("example.com/v1/*", "https://example.com/v2/x", False),
        ("*/health", "https://any.example.org/health", True),
        ("*:9000", "https://any.example.org:9000/x", True),
        ("[::1]:8000", "http://[::1]:8000/x", True),
        ("[::1]:8000", "http://[::1]:8001/x", False),
    ],
)
def test_patterns(pattern, url, matches):
    assert (Traffic(ignore=[pattern]).verdict("GET", url) is Route.IGNORED) is matches


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("https://api.example.com", "'api.example.com'"),
        ("example.com:*", "leave the port out"),
        ("example.com:99999", "port"),
        ("example.com:0", "port"),
        ("*", "every host"),
        ("*.*", "every host"),
        ("", "no pattern"),
        ("a b.example", "no pattern"),
        ("exa*ple.com", "no pattern"),
        ("example.com/x?y=1", "no pattern"),
        ("bücher.example", "no pattern"),
        ("::1", "no pattern"),
    ],
)
@pytest.mark.parametrize("setting", ["hosts", "ignore", "quiet"])
def test_a_wrong_pattern_is_refused_with_its_setting(setting, pattern, said):
    with pytest.raises(UsageError, match=f"^{setting}: .*{re.escape(said)}"):
        Traffic(**{setting: [pattern]})


@pytest.mark.parametrize("url", ["http://[bad/", "http://127.0.0.1:notaport/", "127.0.0.1:8000/x", "", "http:///x"])
def test_a_url_that_cannot_be_read_never_passes(url):
    assert Traffic(ignore=["127.0.0.1"]).verdict("GET", url) is Route.INTERACTION


@pytest.mark.parametrize(
    ("host", "port", "route"),
    [
        ("db.example.com", 5432, Route.IGNORED),
        ("db.example.com", None, Route.IGNORED),
        ("db.example.com", 22, None),
        ("api.example.com", 443, None),
        ("gpu.internal", 8000, Route.INTERACTION),
        ("gpu.internal", None, None),
        ("::1", 8000, Route.INTERACTION),
        ("::1", 8001, Route.LOCAL),
        ("collector.internal", 4318, None),
        ("auth.example.com", 443, Route.QUIET),
        ("eu.posthog.com", 443, Route.QUIET),
        ("fd00:ec2::254", 80, Route.QUIET),
        ("raw.githubusercontent.com", 443, None),
    ],
)
def test_of_a_connection_only_patterns_without_a_path_count(host, port, route):
    traffic = Traffic(
        hosts=["gpu.internal:8000", "[::1]:8000"],
        ignore=["db.example.com:5432", "api.example.com/health", "*:9999"],
        quiet=["auth.example.com"],
    )
    assert traffic.connection(host, port) is route


@pytest.mark.parametrize("pattern", ["example.com", "example.com/*", "example.com:443/*"])
def test_a_pattern_for_every_path_counts_for_a_connection(pattern):
    assert Traffic(ignore=[pattern]).connection("example.com", 443) is Route.IGNORED
    assert Traffic(ignore=[pattern + "x"]).connection("example.com", 443) is None


def test_a_path_of_every_host_counts_for_no_connection():
    assert Traffic(ignore=["*/*"]).connection("example.com", 443) is None


def _allowing(**said):
    """Return traffic whose suite lets a host's requests, or all connections, pass by its own words."""
    return Traffic(
        hosts=["10.0.0.1:81"], ignore=["api.mistral.ai"], spared=["*.example.com", "127.0.0.1"], **said
    ).letting(lambda method, url: "its_own" * (method == "POST"), lambda host: True)


@pytest.mark.parametrize(
    ("url", "by"),
    [
        ("https://api.openai.com/whatever", "its_own"),
        ("https://a.example.com/v1/chat/completions", "ignore_hosts"),
        ("http://127.0.0.1:8000/v1/chat/completions", "ignore_hosts"),
        ("http://10.0.0.1:81/", "its_own"),
        ("https://a.example.com/orders", ""),
        ("http://127.0.0.1:8000/orders", ""),
        ("https://api.mistral.ai/v1/chat/completions", ""),
    ],
)
def test_no_call_to_a_model_leaves_a_sealed_session_by_a_suites_own_words(url, by):
    assert (_allowing().verdict("POST", url), _allowing().withheld("POST", url)) == (Route.IGNORED, "")
    sealed = _allowing(sealed=True)
    assert (sealed.verdict("POST", url), sealed.withheld("POST", url)) == (
        Route.INTERACTION if by else Route.IGNORED,
        by,
    )


def test_no_connection_to_a_models_host_leaves_a_sealed_session_by_a_suites_own_words():
    sealed = _allowing(sealed=True)
    assert sealed.spares(["10.0.0.9", "db.internal"], 5432)
    for names, port in ((["104.1.1.1", "api.openai.com"], 443), (["api.openai.com"], None), (["10.0.0.1"], 81)):
        assert _allowing().spares(names, port)
        assert not sealed.spares(names, port)
    spared = Traffic(spared=["db.internal", "::1".join("[]")], sealed=True)
    assert spared.spares(["db.internal"], None)
    assert spared.spares(["::1"], 80)
    assert not spared.spares(["other.internal"], 80)


def test_what_only_a_connection_is_allowed_to_is_named_for_a_models_request_round_the_adapters():
    sealed = Traffic(sealed=True).letting(None, lambda host: host == "::1")
    assert sealed.withheld("POST", "http://[::1]:8000/v1/chat/completions") == "allowed_hosts"
    assert sealed.withheld("POST", "http://[::1]:8000/orders") == ""
