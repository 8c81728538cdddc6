"""A whole interaction: what goes, what stays, and how it is numbered."""

import base64
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from onetake.errors import UsageError
from onetake.model import Cut, Request, Response, header
from onetake.scrub import SCRUBS, Scrubber, scan
from onetake.settings import ScrubRules

KEY = "sk-" + "proj-Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"
OTHER = "sk-" + "proj-Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2"
JSON = ("content-type", "application/json")


def ask(body, *headers, url="https://api.openai.com/v1/chat/completions", kind="application/json"):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request("POST", url, (("content-type", kind), *headers), data)


def answer(body, *headers, kind="application/json", **parts):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Response(200, (("Content-Type", kind), ("Content-Length", str(len(data))), *headers), data, **parts)


def say(text):
    return {"messages": [{"role": "user", "content": text}]}


def test_the_version_of_the_list():
    assert SCRUBS == ("s1",)


def test_what_holds_no_secret_is_the_same_object():
    request = ask(say("nothing to see"), ("accept", "application/json"), ("anthropic-version", "2023-06-01"))
    response = answer({"choices": [{"message": {"content": "hello"}}], "usage": {"total_tokens": 3}})
    scrubbing = Scrubber().begin()
    assert scrubbing.request(request) is request
    assert scrubbing.response(response) is response
    assert scrubbing.spans == ()


def test_request_headers_by_allow_list():
    request = ask(
        say("x"),
        ("Authorization", "Bearer abc"),
        ("User-Agent", "OpenAI/Python 3.57"),
        ("x-stainless-retry-count", "0"),
        ("OpenAI-Organization", "org-x"),
        ("cookie", "a=b"),
        ("anthropic-beta", "b1"),
        ("Anthropic-Beta", "b2"),
        ("X-Amzn-Bedrock-GuardrailIdentifier", "g"),
        ("x-my-tenant", "t"),
    )
    scrubbing = Scrubber(key_headers=("x-my-tenant",)).begin()
    assert scrubbing.request(request).headers[1:] == (
        ("anthropic-beta", "b1"),
        ("Anthropic-Beta", "b2"),
        ("X-Amzn-Bedrock-GuardrailIdentifier", "g"),
        ("x-my-tenant", "t"),
    )
    assert scrubbing.spans == (
        "request.headers.authorization",
        "request.headers.openai-organization",
        "request.headers.cookie",
    )


def test_a_kept_header_is_searched_too():
    request = ask(say("x"), ("anthropic-beta", KEY), ("anthropic-beta", OTHER), ("anthropic-beta", KEY))
    values = [value for name, value in Scrubber().begin().request(request).headers if name == "anthropic-beta"]
    assert values == ["[openai key 1]", "[openai key 2]", "[openai key 1]"]


def test_numbers_go_by_first_appearance_within_a_kind_over_both_sides():
    scrubbing = Scrubber().begin()
    request = scrubbing.request(ask({"api_key": "first", "messages": [{"content": f"{OTHER} {KEY} {OTHER}"}]}))
    response = scrubbing.response(answer({"text": f"{KEY} and first", "access_token": "second"}))
    assert json.loads(request.body) == {
        "api_key": "[secret 1]",
        "messages": [{"content": "[openai key 1] [openai key 2] [openai key 1]"}],
    }
    assert json.loads(response.body) == {"text": "[openai key 2] and first", "access_token": "[secret 2]"}


def test_numbers_go_on_after_placeholders_that_are_there():
    request = ask(say(f"[openai key 4] or {KEY}"))
    assert b"[openai key 4] or [openai key 5]" in Scrubber().begin().request(request).body
    form = ask(f"a=%5Bsecret+2%5D&password={KEY}&api_key=y".encode(), kind="application/x-www-form-urlencoded")
    assert Scrubber().begin().request(form).body == (
        b"a=%5Bsecret+2%5D&password=%5Bopenai+key+1%5D&api_key=%5Bsecret+3%5D"
    )


def test_scrubbing_twice_changes_nothing():
    request = ask(
        {"api_key": KEY, **say(f"{KEY} {OTHER}")}, ("authorization", "Bearer x"), url=f"https://h/{KEY}?api_key=a"
    )
    response = answer({"text": KEY, "u": "https://b/?sig=abcdEFGH0123%3D"}, ("location", f"/x?token=1&n={KEY}"))
    first, second = Scrubber().begin(), Scrubber().begin()
    request, response = first.request(request), first.response(response)
    assert second.request(request) is request and second.response(response) is response and second.spans == ()


def test_the_path_of_a_url():
    request = ask(say("x"), url=f"https://api.example.com/bot/{KEY}/send?alt=sse&key=EXAMPLE")
    assert Scrubber().begin().request(request).url == "https://api.example.com/bot/%5Bopenai%20key%201%5D/send?alt=sse"


def test_lengths_are_restated():
    request = Scrubber().begin().request(ask(say(KEY), ("Content-Length", "71")))
    assert header(request.headers, "content-length") is None
    body = json.dumps({"text": KEY}).encode()
    cut = Response(200, (JSON, ("content-length", str(len(body) + 40))), body, cut=Cut.PROVIDER)
    scrubbed = Scrubber().begin().response(cut)
    assert header(scrubbed.headers, "content-length") == str(len(scrubbed.body) + 40)


def test_credentials_known_by_value_go_whatever_they_look_like():
    secret = "correct horse battery"
    plain, wrapped = base64.b64encode(secret.encode()).decode(), json.dumps({"k": secret})
    request = ask(say(f"it is {secret}"), ("x-api-key", secret), url="https://h/v1?api_key=queryvalue")
    scrubbing = Scrubber().begin()
    assert b"it is [credential 1]" in scrubbing.request(request).body
    response = scrubbing.response(answer({"text": f"{secret} {plain} {wrapped} queryvalue"}))
    assert json.loads(response.body)["text"] == '[credential 1] [credential 1] {"k": "[credential 1]"} [credential 2]'


def test_declared_paths_and_patterns():
    rules = ScrubRules(paths=("$.metadata.session", "$.ids[*]"), patterns=(r"badge-\d+",), keep_headers=("X-Region",))
    scrubbing = Scrubber(rules).begin()
    body = {"metadata": {"session": "abc"}, "ids": [17, "x"], **say("badge-7 and badge-8")}
    assert json.loads(scrubbing.request(ask(body)).body) == {
        "metadata": {"session": "[secret 1]"},
        "ids": ["[secret 2]", "[secret 3]"],
        **say("[secret 4] and [secret 5]"),
    }
    response = scrubbing.response(answer({}, ("x-region", "eu"), ("x-other", "1")))
    assert response.headers[2:] == (("x-region", "eu"),)


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (ScrubRules(paths=("metadata",)), "scrub.paths: .*must start with"),
        (ScrubRules(paths=("$",)), "scrub.paths: .*whole body"),
        (ScrubRules(patterns=("(",)), r"scrub.patterns: '\(' is no regular expression"),
        (ScrubRules(patterns=("x*",)), "scrub.patterns: .*nothing at all"),
        (ScrubRules(patterns=(r"\b",)), "scrub.patterns: .*nothing at all"),
        (ScrubRules(patterns=("(?=a)",)), "scrub.patterns: .*nothing at all"),
        (ScrubRules(patterns=(".",)), "scrub.patterns: .*any text"),
        (ScrubRules(patterns=(r"[\s\S]+",)), "scrub.patterns: .*any text"),
        (ScrubRules(keep_headers=("Set-Cookie",)), "scrub.keep_headers: 'Set-Cookie' carries credentials"),
    ],
)
def test_wrong_rules_are_named(rules, said):
    with pytest.raises(UsageError, match=said):
        Scrubber(rules)


def test_a_decorated_functions_arguments():
    body = {"function": "app.label", "arguments": {"api_key": "abc", "messages": [{"password": "no"}]}}
    request = Request("CALL", "function:app.label", (JSON,), json.dumps(body).encode())
    assert json.loads(Scrubber().begin().request(request).body)["arguments"] == {
        "api_key": "[secret 1]",
        "messages": [{"password": "no"}],
    }


def test_usage_and_parameters_survive():
    body = {"max_tokens": 5, "max_completion_tokens": 6, **say("password and api_key are words"), "user": "user-7"}
    usage = {
        "usage": {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 2}},
        "token": "x",
        "key": "y",
    }
    scrubbing = Scrubber().begin()
    assert scrubbing.request(ask(body)).body == json.dumps(body).encode()
    assert scrubbing.response(answer(usage)).body == json.dumps(usage).encode()


def test_br_095_one_choke_point():
    """Every mode writes what one `Scrubbing` returned, and the bytes are scanned where they are written."""
    request = ask(say(KEY), ("authorization", f"Bearer {OTHER}"))
    once = Scrubber().begin().request(request)
    again = Scrubber().begin().request(once)
    assert again is once
    assert scan(request.body) and scan(json.dumps({"headers": request.headers}).encode())
    assert not scan(once.body) and not scan(json.dumps({"headers": once.headers}).encode())


@pytest.mark.parametrize("kept", ["location", "Operation-Location", "x-goog-upload-url"])
def test_br_096_a_key_in_the_query_leaves_no_trace_in_any_copy(kept):
    url = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent?key=EXAMPLE&alt=sse"
    scrubbing = Scrubber().begin()
    request = scrubbing.request(ask(say("x"), url=url))
    response = scrubbing.response(Response(307, ((kept, url), (kept, url)), b""))
    assert request.url == url.replace("key=EXAMPLE&", "")
    assert response.headers == ((kept, request.url), (kept, request.url))
    assert scrubbing.spans == ("request.url?key", f"response.headers.{kept.lower()}?key")


def test_br_098_requests_that_differ_only_in_secrets_are_one_request():
    """The rule: both sides are scrubbed, so two different keys in one place give one key; two in one request do not."""

    def body(text):
        return Scrubber().begin().request(ask(say(text), ("authorization", f"Bearer {text.split()[-2]}"))).body

    assert body(f"mail me@example.com, key {KEY} !") == body(f"mail me@example.com, key {OTHER} !")
    assert body(f"is {KEY} or {KEY} valid?") != body(f"is {KEY} or {OTHER} valid?")
    assert b"me@example.com" in body(f"mail me@example.com, key {KEY} !")


def test_br_100_a_token_of_a_nested_mcp_server():
    request = ask({"mcp_servers": [{"url": "u", "headers": {"Authorization": "Bearer abc"}}], **say("x")})
    scrubbing = Scrubber().begin()
    assert b'{"Authorization": "Bearer [secret 1]"}' in scrubbing.request(request).body
    assert scrubbing.spans == ("request.body$.mcp_servers[0].headers.Authorization",)


def test_br_102_account_and_request_ids_of_the_answer():
    gone = [
        "openai-organization",
        "openai-project",
        "set-cookie",
        "Set-Cookie",
        "cf-ray",
        "x-request-id",
        "date",
        "server",
    ]
    kept = (
        ("x-amzn-bedrock-content-type", "application/json"),
        ("Retry-After", "2"),
        ("content-disposition", "inline"),
    )
    scrubbing = Scrubber().begin()
    response = scrubbing.response(answer({}, *((name, "0123456789abc") for name in gone), *kept))
    assert response.headers == (("Content-Type", "application/json"), ("Content-Length", "2"), *kept)
    assert scrubbing.spans == tuple(f"response.headers.{name}" for name in gone[:3])


def test_br_104_a_custom_header_is_safe_without_any_setting():
    scrubbing = Scrubber().begin()
    request = scrubbing.request(
        ask(say("my-own-secret"), ("Api-Key", "my-own-secret"), ("X-Corp-Token", "corp-token-99"))
    )
    assert len(request.headers) == 1 and b"my-own-secret" not in request.body
    assert b"corp-token-99" not in scrubbing.response(answer({"echo": "corp-token-99"})).body


STOCK_RULES = {
    "aws": r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    "jwt": r"\bey[a-zA-Z0-9]{17,}\.ey[a-zA-Z0-9/_-]{17,}\.(?:[a-zA-Z0-9/_-]{10,}={0,2})?",
    "openai": r"\bsk-(?:proj|svcacct|admin)?-?[A-Za-z0-9_-]{20,}",
    "generic": r"(?i)(?:key|token|secret|authorization)['\"]?\s*[:=]\s*['\"]?(?:bearer\s+)?[a-z0-9/+=_.-]{16,}",
    "private-key": r"-----BEGIN[ A-Z]{0,20}PRIVATE KEY",
    "curl-auth": r"(?i)(?:bearer|basic)\s+[a-z0-9._~+/-]{16,}",
}


def test_br_106_a_stock_scanner_finds_nothing():
    part = [
        base64.urlsafe_b64encode(json.dumps({"alg": "RS256", "n": n, "iss": "someone"}).encode()).decode()
        for n in (1, 2)
    ]
    jwt = ".".join([part[0].rstrip("="), part[1].rstrip("="), "c2lnbmF0dXJlIG9mIDMyIGJ5dGVz"])
    key_id = "ASIA" + "IOSFODNN7EXAMPLE"
    signed = f"AWS4-HMAC-SHA256 Credential={key_id}/20250101/us-east-1/bedrock/aws4_request, Signature={'0a' * 32}"
    request = ask(
        {**say(f"{key_id} {jwt} Bearer {jwt} {KEY}"), "api_key": "0123456789abcdef0123"},
        ("Authorization", signed),
        ("X-Amz-Security-Token", "IQoJb3JpZ2luX2VjEJr0123456789"),
        ("Authorization", f"Bearer {jwt}"),
    )

    def findings(request):
        text = "\n".join([request.url, *(": ".join(pair) for pair in request.headers), request.body.decode()])
        return {name for name, rule in STOCK_RULES.items() if re.search(rule, text)}

    assert findings(request) == {"aws", "jwt", "openai", "generic", "curl-auth"}
    assert findings(Scrubber().begin().request(request)) == set()


def test_br_107_tokens_and_echoes_in_the_answer():
    scrubbing = Scrubber().begin()
    scrubbing.request(ask(say("x"), ("authorization", "Bearer 0123456789-own-format")))
    body = {"access_token": "abc", "choices": [{"message": {"content": 'your key "0123456789-own-format"\n'}}]}
    response = scrubbing.response(answer(body, ("set-cookie", "session=cookie-value-1")))
    assert json.loads(response.body) == {
        "access_token": "[secret 1]",
        "choices": [{"message": {"content": 'your key "[credential 1]"\n'}}],
    }
    assert header(response.headers, "content-length") == str(len(response.body))
    assert scrubbing.spans[1:] == (
        "response.headers.set-cookie",
        "response.body$.access_token",
        "response.body$.choices[0].message.content",
    )


def test_br_107_a_session_that_the_answer_repeats():
    response = answer({"note": "session cookie-value-1"}, ("set-cookie", "session=cookie-value-1; Path=/"))
    assert json.loads(Scrubber().begin().response(response).body) == {"note": "session [credential 1]"}


def test_br_110_token_exchanges_are_scrubbed_where_they_are_recorded_at_all():
    """Whether login traffic is an interaction is not for scrub to say; by name its secrets go all the same."""
    form = b"grant_type=refresh_token&refresh_token=abc&client_id=app&client_secret=def&assertion=ghi"
    scrubbing = Scrubber().begin()
    request = scrubbing.request(
        ask(form, kind="application/x-www-form-urlencoded", url="https://oauth2.example.com/token")
    )
    assert request.body == (
        b"grant_type=refresh_token&refresh_token=%5Bsecret+1%5D&client_id=app"
        b"&client_secret=%5Bsecret+2%5D&assertion=%5Bsecret+3%5D"
    )
    response = scrubbing.response(answer({"access_token": "a1", "id_token": "i1", "expires_in": 3599}))
    assert json.loads(response.body) == {
        "access_token": "[secret 4]",
        "id_token": "[secret 5]",
        "expires_in": 3599,
    }


def test_br_112_texts_hold_no_piece_of_a_secret():
    scrubbing = Scrubber().begin()
    own = "own-format-0123456789"
    scrubbing.request(ask(say("x"), ("authorization", f"Bearer {own}")))
    text = scrubbing.text(f"POST https://h/?api_key={OTHER} with {own} and {KEY!r} failed")
    assert text == "POST https://h/?api_key=[openai key 1] with [credential 1] and '[openai key 2]' failed"
    for secret in (own, OTHER, KEY):
        assert not any(secret[at : at + 10] in text for at in range(len(secret) - 9))
    assert scrubbing.text("nothing here") == "nothing here"


def test_br_112_spans_hold_no_piece_of_a_secret():
    scrubbing = Scrubber().begin()
    scrubbing.request(ask({"users": {KEY: {"password": "x"}}}))
    assert scrubbing.spans and KEY[:12] not in " ".join(scrubbing.spans)


def test_a_secret_split_across_two_stream_deltas():
    def event(text):
        return b'data: {"choices": [{"index": 0, "delta": {"content": "' + text.encode() + b'"}}]}\n\n'

    body = event("key: " + KEY[:14]) + event(KEY[14:] + " ok") + b"data: [DONE]\n\n"
    response = Scrubber().begin().response(answer(body, kind="text/event-stream"))
    assert response.body == event("key: [openai key 1]") + event(" ok") + b"data: [DONE]\n\n"
    assert scan(body) and not scan(response.body)


def test_gemini_thought_signatures_are_sent_back_unchanged():
    part = {"text": "t", "thoughtSignature": "CsQB" + base64.b64encode(bytes(range(200))).decode() + KEY}
    body = {"contents": [{"role": "model", "parts": [part]}]}
    scrubbing = Scrubber().begin()
    request, response = ask(body, ("x-goog-api-key", KEY)), answer({"candidates": [{"content": {"parts": [part]}}]})
    assert scrubbing.request(request).body == request.body
    assert scrubbing.response(response) is response
    assert scan(request.body) == scan(response.body) == []


class _Echo(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Location", self.path)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("path", ["/v1?key=EXAMPLE&n=1", "/v1?n=1&api_key=EXAMPLE"])
def test_br_096_through_a_real_client(path):
    import httpx

    with HTTPServer(("127.0.0.1", 0), _Echo) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        got = httpx.get(f"http://127.0.0.1:{server.server_port}{path}")
    scrubbing = Scrubber().begin()
    request = scrubbing.request(Request("GET", str(got.request.url), tuple(got.request.headers.items())))
    response = scrubbing.response(Response(got.status_code, tuple(got.headers.items()), got.content))
    assert header(response.headers, "location") == "/v1?n=1"
    assert "EXAMPLE" not in repr((request, response, scrubbing.spans))


def test_data_is_scrubbed_wherever_it_lies_and_else_stays_the_same_object():
    scrubbing = Scrubber(ScrubRules(patterns=("CUST-[0-9]+",), paths=("$.note",))).begin()
    clean = {"note": "nothing", "more": [1, None, {"a": "CUSTOM"}]}
    assert scrubbing.data(clean, "extra") is clean
    found = scrubbing.data({"a": [{"b": "for CUST-1 and CUST-2"}], "c": "CUST-1", "d": 1.5}, "provenance")
    assert found == {"a": [{"b": "for [secret 1] and [secret 2]"}], "c": "[secret 1]", "d": 1.5}
    assert scrubbing.spans == ("provenance$.a[0].b", "provenance$.c")
