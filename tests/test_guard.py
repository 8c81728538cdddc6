"""What a session says of a connection, before any socket is asked."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from onetake import active, guard, model_hosts
from onetake.errors import InteractionNotFound, InteractionNotFoundAsException, NetworkRefusal
from onetake.guard_peers import Peer
from onetake.ledger import softly
from onetake.preparing import Preparing
from onetake.traffic import Traffic


@contextmanager
def opened(talk, *, bound=True):
    scope = active.enter(talk.engine)
    token = active.bind(scope) if bound else None
    try:
        yield talk
    finally:
        if token is not None:
            active.unbind(scope, token)
        active.leave(scope)


LOCAL = Peer("127.0.0.1", 11434)


def said(call, *arguments, **more):
    """Return the class of what a call raises, None where it raises nothing."""
    try:
        call(*arguments, **more)
    except (InteractionNotFound, NetworkRefusal) as error:
        return type(error)
    return None


TRAFFIC = Traffic(
    hosts=["gpu.internal:8000", "127.0.0.1:8001"],
    ignore=["db.example.com:5432", "api.groq.com", "api.example.com/health"],
    quiet=["login.example.com", "127.0.0.1:4318"],
)

# Host, port, and what is said of it in a sealed session and in one that records.
PEERS = [
    ("example.com", 443, NetworkRefusal, None),
    ("192.0.2.7", 25, NetworkRefusal, None),
    ("api.openai.com", 443, InteractionNotFound, InteractionNotFound),
    ("API.OPENAI.COM.", 443, InteractionNotFound, InteractionNotFound),
    ("my.openai.azure.com", 443, InteractionNotFound, InteractionNotFound),
    ("europe-west4-aiplatform.googleapis.com", 443, InteractionNotFound, InteractionNotFound),
    ("bedrock-runtime.eu-central-1.amazonaws.com", 443, InteractionNotFound, InteractionNotFound),
    ("notapi.openai.com.example", 443, NetworkRefusal, None),
    ("gpu.internal", 8000, InteractionNotFound, InteractionNotFound),
    ("gpu.internal", 22, NetworkRefusal, None),
    ("127.0.0.1", 8001, InteractionNotFound, InteractionNotFound),
    ("127.0.0.1", 8002, None, None),
    ("::1", 11434, None, None),
    ("db.example.com", 5432, None, None),
    ("db.example.com", 22, NetworkRefusal, None),
    ("api.groq.com", 443, None, None),
    ("api.example.com", 443, NetworkRefusal, None),
    ("login.example.com", 443, NetworkRefusal, None),
    ("127.0.0.1", 4318, NetworkRefusal, None),
    ("169.254.169.254", 80, NetworkRefusal, None),
]


@pytest.mark.parametrize(("host", "port", "sealed", "recording"), PEERS)
def test_what_is_said_of_a_connection(direct, host, port, sealed, recording):
    with opened(direct(mode="none", traffic=TRAFFIC)):
        assert said(guard.connecting, host, port) is sealed
    for mode in ("once", "new_episodes", "all"):
        with opened(direct(mode=mode, traffic=TRAFFIC)):
            assert said(guard.connecting, host, port) is recording
    with opened(direct(mode="off", traffic=TRAFFIC)):
        assert said(guard.connecting, host, port) is None
    assert said(guard.connecting, host, port) is None


def test_what_nobody_need_be_told_is_in_no_ledger(direct):
    with opened(direct(mode="none", traffic=TRAFFIC)) as talk:
        for host, port in (("login.example.com", 443), ("127.0.0.1", 4318), ("169.254.169.254", 80)):
            assert said(guard.connecting, host, port) is NetworkRefusal
        assert said(guard.sending, Peer("192.0.2.7", 443), b"\x17\x03\x03\x00\x13" + b"x" * 19) is NetworkRefusal
    assert talk.ledger.all == ()


def test_the_rest_is_in_the_ledger_with_who_it_was_and_what_mends_it(direct):
    with opened(direct(mode="none")) as talk:
        said(guard.connecting, "db.example.com", 5432)
        said(guard.connecting, "api.openai.com", 443)
    unknown, model = talk.ledger.open
    assert (unknown.client, unknown.args[0]) == (__name__, "a connection to db.example.com:5432")
    assert "`quiet` refuses it without a word, `ignore` lets it out" in str(unknown)
    assert f"a connection to api.openai.com:443, by {__name__}" in str(model)
    assert "goes round the adapters" in str(model)


@pytest.mark.parametrize("host", [None, "", b"localhost", "127.0.0.1", "10.0.0.1", "::1"])
def test_names_that_nobody_is_asked_for_are_looked_up(direct, host):
    with opened(direct(mode="none", traffic=Traffic(hosts=["localhost:9"]))):
        assert said(guard.resolving, host, None) is None


def test_the_machines_own_name_is_looked_up(direct, monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "Box")
    with opened(direct(mode="none")):
        assert (said(guard.resolving, "box", 80), said(guard.resolving, "box2", 80)) == (None, NetworkRefusal)


def test_a_name_is_looked_up_where_its_connection_may_go(direct):
    with opened(direct(mode="none", traffic=TRAFFIC)):
        assert said(guard.resolving, "db.example.com", None) is None
        assert said(guard.resolving, b"db.example.com", 5432) is None
        assert said(guard.resolving, "db.example.com", 22) is NetworkRefusal
        assert said(guard.resolving, "gpu.internal", "https") is NetworkRefusal
    with opened(direct(traffic=TRAFFIC)):
        assert said(guard.resolving, "gpu.internal", None) is None
        assert said(guard.resolving, "api.anthropic.com", None) is InteractionNotFound


def test_a_name_that_was_looked_up_stands_for_its_address(direct, monkeypatch):
    monkeypatch.setattr("onetake.guard_peers._names", {"192.0.2.1": "db.example.com", "192.0.2.2": "api.openai.com"})
    with opened(direct(mode="none", traffic=TRAFFIC)) as talk:
        assert said(guard.connecting, "192.0.2.1", 5432) is None
        assert said(guard.connecting, "192.0.2.2", 443) is InteractionNotFound
    assert "api.openai.com:443" in str(talk.ledger.all[0])


def test_what_an_adapter_carries_is_let_out_of_a_session_that_records_only(direct):
    with active.inside():
        with opened(direct()):
            assert said(guard.connecting, "api.openai.com", 443) is None
            assert said(guard.sending, Peer("api.openai.com", 443), b"POST /v1/chat/completions HTTP/1.1\r\n") is None
        with opened(direct(mode="none")):
            assert said(guard.connecting, "api.openai.com", 443) is InteractionNotFound
    with opened(direct()):
        assert said(guard.connecting, "api.openai.com", 443) is InteractionNotFound


@pytest.mark.parametrize(
    ("url", "host", "port", "word", "told"),
    [
        ("https://api.example.com/health", "api.example.com", 443, None, 0),
        ("https://api.example.com/health", "other.example.com", 443, NetworkRefusal, 1),
        ("https://api.example.com/health", "api.example.com", 80, NetworkRefusal, 1),
        ("https://api.openai.com/v1/traces/ingest", "api.openai.com", 443, NetworkRefusal, 0),
        ("http://otel.example.com:4318/v1/traces", "otel.example.com", 4318, NetworkRefusal, 0),
        ("http://localhost:8001/app", "127.0.0.1", 8001, None, 0),
    ],
)
def test_a_request_that_was_let_pass_says_what_its_connection_is(direct, url, host, port, word, told):
    with opened(direct(mode="none", traffic=TRAFFIC)) as talk:
        assert active.engine_for("GET", url) is None
        with active.letting_pass("GET", url):
            assert said(guard.connecting, host, port) is word
    assert len(talk.ledger.all) == told


def test_a_request_that_was_let_pass_says_nothing_of_what_comes_after_it(direct):
    with opened(direct(mode="none", traffic=TRAFFIC)):
        for url in ("https://api.example.com/health", "http://127.0.0.1:9/health"):
            with active.letting_pass("GET", url):
                pass
        assert said(guard.connecting, "api.example.com", 443) is NetworkRefusal
        assert said(guard.sending, LOCAL, b"POST /v1/chat/completions HTTP/1.1\r\n") is InteractionNotFound


def test_a_session_that_does_not_let_a_request_pass_stops_its_connection(direct):
    passed = ("GET", "https://api.example.com/health")
    with opened(direct(mode="none")), active.letting_pass(*passed):
        assert said(guard.connecting, "api.example.com", 443) is NetworkRefusal
        assert said(guard.sending, Peer("api.example.com", 443), b"x" * 40, passed=passed) is NetworkRefusal


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"GET /health HTTP/1.1\r\n", None),
        (b"GET https://api.example.com/health HTTP/1.1\r\n", None),
        (b"GET /health/deep HTTP/1.1\r\n", NetworkRefusal),
        (b"POST /v1/chat/completions HTTP/1.1\r\n", NetworkRefusal),
        (b"rest of a body", None),
    ],
)
def test_a_request_that_can_be_read_is_judged_before_the_one_that_its_connection_was_made_for(direct, data, word):
    peer, passed = Peer("192.0.2.7", 443, "api.example.com"), ("get", "https://api.example.com/health")
    with opened(direct(mode="none", traffic=TRAFFIC)):
        assert said(guard.sending, peer, data, secure=True, passed=passed) is word
        with active.letting_pass(*passed):
            assert said(guard.sending, peer, data, secure=True) is word


def test_of_a_connection_with_several_names_each_may_be_ignored(direct):
    with opened(direct(mode="none", traffic=Traffic(ignore=["api.example.com/health"]))):
        for peer in (Peer("192.0.2.7", 80, "api.example.com"), Peer("api.example.com", 80, "other.example.com")):
            assert said(guard.sending, peer, b"GET /health HTTP/1.1\r\n") is None
            assert said(guard.sending, peer, b"GET /other HTTP/1.1\r\n") is NetworkRefusal


def test_hosts_that_a_suite_allows_its_sockets_let_no_call_to_a_model_out_of_a_sealed_session(direct):
    preparing = Preparing(connects=lambda host: True)
    traffic = Traffic(sealed=True).letting(None, preparing.connects)
    with opened(direct(mode="none", traffic=traffic, preparing=preparing)):
        assert said(guard.connecting, "db.internal", 5432) is None
        assert said(guard.sending, LOCAL, b"GET /orders HTTP/1.1\r\n") is None
        assert said(guard.sending, LOCAL, b"POST /v1/chat/completions HTTP/1.1\r\n") is InteractionNotFound
        assert said(guard.sending, Peer("192.0.2.7", 443, "api.openai.com"), b"x") is InteractionNotFound
        with pytest.raises(InteractionNotFound, match=r"; `allowed_hosts` lets no model out$"):
            guard.resolving("api.openai.com", 443)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n", InteractionNotFound),
        (bytearray(b"POST /api/chat?x=1 HTTP/1.0\r\n"), InteractionNotFound),
        (memoryview(b"POST http://127.0.0.1:1/v1/messages HTTP/1.1\r\n"), InteractionNotFound),
        (b"GET /health HTTP/1.1\r\n", None),
        (b"HTTP/1.1 200 OK\r\n", None),
        (b'{"a": "POST /v1/chat/completions HTTP/1.1\r\n"}', None),
        (b"CONNECT api.openai.com:443 HTTP/1.1\r\n", InteractionNotFound),
        (b"CONNECT db.example.com:5432 HTTP/1.1\r\n", NetworkRefusal),
        (b"CONNECT localhost:1 HTTP/1.1\r\n", None),
        (b"", None),
    ],
)
def test_the_first_bytes_of_what_goes_to_loopback_are_read(direct, data, word):
    with opened(direct(mode="none")):
        assert said(guard.sending, LOCAL, data) is word


def test_a_connection_from_before_the_session_carries_nothing_out(direct):
    far = Peer("192.0.2.7", 443)
    with opened(direct(mode="none", traffic=TRAFFIC)) as talk:
        assert said(guard.sending, far, b"x" * 40) is NetworkRefusal
        assert said(guard.sending, Peer("192.0.2.7", 443, "api.openai.com"), b"x" * 40) is InteractionNotFound
        assert said(guard.sending, Peer("192.0.2.7", 443, "api.groq.com"), b"x" * 40) is None
        assert said(guard.sending, far, b"GET /a?key=AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY HTTP/1.1\r\n", secure=True)
    assert "GET https://192.0.2.7:443/a" in str(talk.ledger.all[-1])
    assert "AIzaSyD" not in str(talk.ledger.all[-1])


def test_a_session_that_records_reads_only_the_first_bytes_of_a_request(direct):
    model = Peer("192.0.2.7", 443, "api.openai.com")
    with opened(direct()):
        assert said(guard.sending, model, b"x" * 40) is None
        assert said(guard.sending, model, b"POST /v1/x HTTP/1.1\r\n", secure=True) is InteractionNotFound
        assert said(guard.sending, LOCAL, b"POST /v1/chat/completions HTTP/1.1\r\n") is None


def test_the_name_of_a_tls_connection_tells_a_model(direct):
    for mode in ("none", "once"):
        with opened(direct(mode=mode)):
            assert said(guard.naming, "api.mistral.ai", None) is InteractionNotFound
            assert said(guard.naming, "db.example.com", 443) is None


def test_sessions_side_by_side_are_told_in_each_ledger(direct):
    one, off, other = direct(mode="none"), direct(mode="off"), direct(mode="none")
    with opened(one, bound=False), opened(off, bound=False), opened(other, bound=False):
        assert said(guard.connecting, "db.example.com", 1) is NetworkRefusal
    assert one.ledger.all == other.ledger.all != ()
    assert off.ledger.all == ()


def test_sessions_side_by_side_have_what_is_raised_also_where_that_is_an_exception(direct):
    one, other = direct(mode="none"), direct(mode="none")
    with opened(one, bound=False), opened(other, bound=False), softly():
        with pytest.raises(InteractionNotFoundAsException) as caught:
            guard.connecting("api.openai.com", 443)
        assert one.ledger.all == other.ledger.all == (caught.value,)


def test_a_context_whose_sealed_session_has_ended_stays_sealed(direct):
    talk = direct(mode="none")
    scope = active.enter(talk.engine)
    active.leave(scope)
    token = active.bind(scope)
    try:
        assert said(guard.connecting, "db.example.com", 1) is NetworkRefusal
    finally:
        active._scope.reset(token)
    assert "(ended)" in str(talk.ledger.all[0])


def test_no_known_host_of_models_is_quiet():
    hosts = [host.replace("*", "x") for _, hosts in model_hosts.MODEL_HOSTS for host in hosts]
    assert [host for host in hosts if Traffic().connection(host, 443) is not None] == []
    assert len(hosts) == len(set(hosts))


def test_the_page_lists_the_known_hosts_of_models():
    page = (Path(__file__).parents[1] / "docs/reference/traffic.md").read_text(encoding="utf-8")
    told = "\n".join(f"{provider}: {', '.join(hosts)}" for provider, hosts in model_hosts.MODEL_HOSTS)
    assert f"```\n{told}\n```" in page
