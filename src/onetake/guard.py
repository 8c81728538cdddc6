"""The guard of a sealed session: what no adapter carries does not leave, and is told.

Here is decided; `guard_sockets` hooks the sockets that ask. Sealed is a session that never goes live (mode `none`). In
it nothing goes out but what is ignored or local. In one that records, only calls to models are stopped that no adapter
carries: they would be live, and not recorded.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from enum import Enum
from typing import Any

from onetake import active, guard_callers
from onetake.decide import reads_nothing, records
from onetake.engine import Engine
from onetake.errors import InteractionNotFound, NetworkRefusal, Refusal
from onetake.guard_peers import Peer, canonical_host, is_address, is_loopback, text_of
from onetake.misses import line_of
from onetake.model import Request
from onetake.traffic import Route

MODEL_HOSTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("OpenAI", ("api.openai.com", "*.api.openai.com", "*.openai.azure.com", "*.cognitiveservices.azure.com")),
    ("Azure AI Foundry", ("*.services.ai.azure.com", "*.models.ai.azure.com", "models.inference.ai.azure.com")),
    ("Anthropic", ("api.anthropic.com",)),
    ("Google", ("generativelanguage.googleapis.com", "aiplatform.googleapis.com", "*-aiplatform.googleapis.com")),
    ("Amazon Bedrock", ("bedrock-runtime.*.amazonaws.com", "bedrock-runtime-fips.*.amazonaws.com")),
    ("Mistral", ("api.mistral.ai", "codestral.mistral.ai")),
    ("Cohere", ("api.cohere.com", "api.cohere.ai")),
    ("xAI", ("api.x.ai", "*.api.x.ai")),
    ("DeepSeek", ("api.deepseek.com",)),
    ("Groq, Cerebras, SambaNova", ("api.groq.com", "api.cerebras.ai", "api.sambanova.ai")),
    ("OpenRouter", ("openrouter.ai",)),
    ("Together", ("api.together.xyz", "api.together.ai")),
    ("Fireworks, DeepInfra, Replicate", ("api.fireworks.ai", "api.deepinfra.com", "api.replicate.com")),
    ("Hugging Face", ("router.huggingface.co", "api-inference.huggingface.co", "*.endpoints.huggingface.cloud")),
    ("Perplexity, AI21, Voyage, Jina", ("api.perplexity.ai", "api.ai21.com", "api.voyageai.com", "api.jina.ai")),
    ("GitHub Models, NVIDIA", ("models.github.ai", "integrate.api.nvidia.com")),
    ("Alibaba, Moonshot", ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "api.moonshot.ai")),
    ("Ollama", ("ollama.com",)),
)
"""The known hosts of models: provider, and its hosts. A `*` stands for one label or more, or for a part of one."""

_MODELS = re.compile(
    "|".join(re.escape(host).replace(r"\*", "[^/:]+") for _, hosts in MODEL_HOSTS for host in hosts),
)
_REQUEST_LINE = re.compile(rb"([A-Z]{3,10}) (\S{1,8000}) HTTP/1\.[01](?=[\r\n])")


class Word(Enum):
    """What a session says of a connection."""

    PASS = "pass"
    QUIETLY = "quietly"
    """Refused as a network that is down would; nobody is told."""
    UNKNOWN = "unknown"
    """Refused in the same way, and in the ledger."""
    MODEL = "model"
    """A call to a model that no adapter carries: refused as a miss is."""


def resolving(host: Any, port: Any) -> None:
    """Refuse to look up an address that could only be asked for to connect to it.

    Raises:
        Refusal: See `connecting`.
    """
    name = text_of(host)
    if is_loopback(name) or is_address(name) or name.lower() == socket.gethostname().lower():
        return  # nobody is asked; that the machine knows its own name is as good as sure
    number = {"http": 80, "https": 443}.get(str(port), port)
    peer = Peer(canonical_host(name), number if isinstance(number, int) and number else None)
    _check(peer, f"the address of {peer}")


def connecting(host: Any, port: int) -> None:
    """Refuse a connection that a session here does not let out.

    Raises:
        NetworkRefusal: The session is sealed; quiet hosts are not in its ledger.
        InteractionNotFound: It is a call to a model, round the adapters.
    """
    peer = Peer(canonical_host(text_of(host)), port)
    _check(peer, f"a connection to {peer}")


def naming(host: Any, port: int | None) -> None:
    """Refuse a TLS connection by the name that it is made for, where that is a model's.

    Raises:
        InteractionNotFound: It is a call to a model, round the adapters.
    """
    peer = Peer(canonical_host(text_of(host)), port)
    _check(peer, f"a connection to {peer}", only=lambda word, _: word is Word.MODEL)


def sending(peer: Peer, data: Any, *, secure: bool = False) -> None:
    """Refuse bytes on a connection that is open already, from before the session or to loopback.

    Args:
        peer: Where they go.
        data: Bytes, or what is like them.
        secure: True where they will be encrypted only after this.

    Raises:
        Refusal: See `connecting`; also where a clear request to loopback is an interaction.
    """
    line = _REQUEST_LINE.match(data)
    if line is None:
        # A session that records may still have to end, or to keep up, a stream that an adapter carries.
        _check(peer, f"data for {peer}", only=lambda _, sealed: sealed, quietly=_is_farewell(data))
        return
    method, target = line[1].decode(), line[2].decode("latin-1")
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        connecting(host, int(port) if port.isdigit() else 443)
        _check(peer, f"a connection to {target} through {peer}")
    else:
        _check(peer, "", request=(method, _url(peer, target, secure=secure)))


def _check(
    peer: Peer,
    asked: str,
    *,
    only: Callable[[Word, bool], bool] = lambda word, sealed: True,
    request: tuple[str, str] | None = None,
    quietly: bool = False,
) -> None:
    """Raise what the sessions here say, and note it in their ledgers.

    Args:
        peer: Where it goes.
        asked: What is tried, in one line; not needed where *request* is given.
        only: Given a word, and whether its session is sealed, tells whether that counts here.
        request: Method and URL, where they can be read.
        quietly: True for what nobody need be told.
    """

    def stops(engine: Engine) -> bool:
        word = _word(engine, peer, request)
        return word is not Word.PASS and only(word, _is_sealed(engine))

    engines = [scope.engine for scope in active.concerned(stops)]
    if not engines:
        return
    word = max((_word(engine, peer, request) for engine in engines), key=list(Word).index)
    if request is not None:
        asked = line_of(Request(*request), engines[0].policy)
    refusal = _refusal(Word.QUIETLY if quietly else word, asked, engines)
    if word is not Word.QUIETLY and not quietly:
        for engine in engines[1:]:
            engine.ledger.write(refusal)
        refusal = engines[0].refuse(refusal)
    raise refusal


def _is_sealed(engine: Engine) -> bool:
    return not records(engine.policy.mode) and not reads_nothing(engine.policy.mode)


def _is_farewell(data: Any) -> bool:
    """Tell whether bytes can only be the TLS alert by which a connection is closed.

    Source: RFC 8446 section 5.2, RFC 5288 section 3: a record's head of 5, an alert of 2, at most 24 of its sealing.
    """
    return len(data) <= 31 and bytes(data[:2]) in (b"\x15\x03", b"\x17\x03")


def _word(engine: Engine, peer: Peer, request: tuple[str, str] | None) -> Word:
    """Say what one session makes of a connection, or of a request on it that can be read."""
    policy = engine.policy
    if reads_nothing(policy.mode):
        return Word.PASS
    route = _route(engine, peer, request)
    sealed = _is_sealed(engine)
    if route in (Route.IGNORED, Route.LOCAL):
        return Word.PASS
    if route is Route.INTERACTION:
        return Word.MODEL if sealed or not active.is_inside() else Word.PASS
    if not sealed:
        return Word.PASS
    return Word.QUIETLY if route is Route.QUIET else Word.UNKNOWN


def _route(engine: Engine, peer: Peer, request: tuple[str, str] | None) -> Route | None:
    """Say what a connection is to a session; None where nothing is known of it."""
    traffic, names = engine.policy.traffic, peer.names
    passed = active.passed()
    if passed is not None and _is_to(passed[1], peer):
        return traffic.verdict(*passed)
    found = [route for name in names if (route := traffic.connection(name, peer.port)) not in (None, Route.LOCAL)]
    if Route.IGNORED in found:
        return Route.IGNORED
    if found:
        return found[0]
    if any(_MODELS.fullmatch(name) for name in names):
        return Route.INTERACTION
    if not is_loopback(peer.host):
        return None
    # In the clear on loopback: an adapter would have had it. What records has its own adapters to see to that.
    if request is not None and _is_sealed(engine):
        return traffic.verdict(*request)
    return Route.LOCAL


def _is_to(url: str, peer: Peer) -> bool:
    """Tell whether a request that was let pass goes where this connection does."""
    found = re.match(r"(\w+)://(?:[^/?#@]*@)?(\[[^\]]+\]|[^/?#:]*)(?::(\d+))?", url)
    if found is None:
        return False
    port = int(found[3] or {"http": 80, "https": 443}.get(found[1].lower(), 0))
    return peer.port in (None, port) and (
        canonical_host(found[2]) in peer.names or (is_loopback(found[2]) and is_loopback(peer.host))
    )


def _url(peer: Peer, target: str, *, secure: bool) -> str:
    if "://" in target[:10]:
        return target
    host = peer.names[0] if peer.names else peer.host
    host = f"[{host}]" if ":" in host else host
    return f"{'https' if secure else 'http'}://{host}:{peer.port}{target}"


def _refusal(word: Word, asked: str, engines: list[Engine]) -> Refusal:
    client = guard_callers.caller()
    place = ", ".join(engine.cassette.place + (" (ended)" if engine.closed else "") for engine in engines)
    if word is not Word.MODEL:
        remedy = "answer it in the test, or name the host: `quiet` refuses it without a word, `ignore` lets it out"
        return NetworkRefusal(asked, client, place, "" if word is Word.QUIETLY else remedy)
    live = "" if any(map(_is_sealed, engines)) else ", and would be live and not recorded"
    return InteractionNotFound(
        f"a call to a model goes round the adapters{live}",
        f"{asked}, by {client}",
        place,
        "",
        "call it through a client that has an adapter, or decorate its caller with onetake.recorded;\n"
        "`ignore` lets the host out, live and not recorded",
    )
