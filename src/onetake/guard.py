"""The guard of a sealed session: what no adapter carries does not leave, and is told.

Here is decided; `guard_sockets` hooks the sockets that ask. Sealed is a session that never goes live (mode `none`). In
it nothing goes out but what is ignored or local. In one that records, only calls to models are stopped that no adapter
carries: they would be live, and not recorded.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from onetake import active, guard_callers
from onetake.decide import never_goes_live, reads_nothing
from onetake.engine import Engine
from onetake.errors import InteractionNotFound, NetworkRefusal, Refusal
from onetake.guard_peers import Peer, canonical_host, is_address, is_loopback, text_of
from onetake.misses import line_of
from onetake.model import Request
from onetake.model_hosts import is_model_host
from onetake.strays import Watch
from onetake.traffic import Route, Traffic

_REQUEST_LINE = re.compile(rb"[\r\n]*([A-Z]{3,10}) (\S{1,8000}) HTTP/1\.[01](?=[\r\n])")
_URL = re.compile(r"(?P<scheme>\w+)://(?:[^/?#@]*@)?(?P<host>\[[^\]]+\]|[^/?#:]*)(?::(?P<port>\d+))?(?P<target>[^#]*)")
_PORTS = {"http": 80, "https": 443}


class Refused(IntEnum):
    """How a session refuses something; of several sessions the highest counts."""

    NOT = 0
    QUIETLY = 1
    """As a network that is down would; nobody is told."""
    TOLD = 2
    """In the same way, and in the ledger."""
    AS_A_MISS = 3
    """As a call to a model that no adapter carries."""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What is tried, and what is known of it."""

    peer: Peer
    asked: str = ""
    """It in one line, where no request can be read."""
    requests: tuple[tuple[str, str], ...] = ()
    """Method and URL, where they can be read: one for each name of the peer."""
    passed: tuple[str, str] | None = None
    """Method and URL of the request that this connection was made for, where an adapter let that pass."""
    quietly: bool = False
    """True for what nobody need be told."""


def resolving(host: Any, port: Any) -> None:
    """Refuse to look up an address that could only be asked for to connect to it.

    Args:
        host: As it was given to a socket: text or bytes, an IPv6 address without brackets; None for this machine.
        port: As it was given: a number, a service's name such as `https`, or None.

    Raises:
        Refusal: See `connecting`.
    """
    name = text_of(host)
    if is_loopback(name) or is_address(name) or name.lower() == socket.gethostname().lower():
        return  # nobody is asked; that the machine knows its own name is as good as sure
    number = _PORTS.get(str(port), port)
    peer = Peer(canonical_host(name), number if isinstance(number, int) and number else None)
    _check(_Attempt(peer, f"the address of {peer}"))


def connecting(host: Any, port: int, passed: tuple[str, str] | None = None) -> None:
    """Refuse a connection that a session here does not let out.

    Args:
        host: As it was given to a socket: text or bytes, an IPv6 address with or without brackets.
        port: 0 to 65535.
        passed: Method and URL of the request that the socket was used for, where an adapter let that pass.

    Raises:
        NetworkRefusal: The session is sealed; quiet hosts are not in its ledger.
        InteractionNotFound: It is a call to a model, round the adapters.
    """
    peer = Peer(canonical_host(text_of(host)), port)
    _check(_Attempt(peer, f"a connection to {peer}", passed=passed))


def naming(host: Any, port: int | None) -> None:
    """Refuse a TLS connection by the name that it is made for, where that is a model's.

    Args:
        host: The name, as text or bytes.
        port: 0 to 65535, None where it is not known.

    Raises:
        InteractionNotFound: It is a call to a model, round the adapters.
    """
    peer = Peer(canonical_host(text_of(host)), port)
    _check(_Attempt(peer, f"a connection to {peer}"), only=lambda how, _: how is Refused.AS_A_MISS)


def sending(peer: Peer, data: Any, *, secure: bool = False, passed: tuple[str, str] | None = None) -> None:
    """Refuse bytes on a connection that is open already, from before the session or to loopback.

    Args:
        peer: Where they go.
        data: Bytes, or what is like them.
        secure: True where they will be encrypted only after this.
        passed: Method and URL of the request that the connection was made for, where an adapter let that pass.

    Raises:
        Refusal: See `connecting`; also where a clear request to loopback is an interaction.
    """
    line = _REQUEST_LINE.match(data)
    if line is None:
        # A session that records may still have to end, or to keep up, a stream that an adapter carries.
        attempt = _Attempt(peer, f"data for {peer}", passed=passed, quietly=_is_farewell(data))
        _check(attempt, only=lambda _, sealed: sealed)
        return
    method, target = line[1].decode(), line[2].decode("latin-1")
    if method == "CONNECT":
        host, _, port = target.rpartition(":")
        connecting(host, int(port) if port.isdigit() else 443)
        _check(_Attempt(peer, f"a connection to {target} through {peer}"))
    else:
        requests = tuple((method, url) for url in _urls(peer, target, secure=secure))
        _check(_Attempt(peer, requests=requests, passed=passed))


def is_model(url: str, traffic: Traffic) -> bool:
    """Tell whether a URL is of a known host of models, or of one that the settings' `hosts` name.

    Args:
        url: Absolute URL.
        traffic: What the settings say of hosts.
    """
    return is_model_host(place_of(url)[0]) or traffic.names(url)


def carried() -> bool:
    """Tell whether this is part of a live call of a session that records, so that nothing stops it."""
    scope = active.bound()
    return scope is not None and active.is_inside() and not _is_sealed(scope.engine)


def _check(attempt: _Attempt, only: Callable[[Refused, bool], bool] = lambda how, sealed: True) -> None:
    """Raise what the sessions here say.

    Args:
        attempt: What is tried.
        only: Given how a session refuses it, and whether that is sealed, tells whether that counts here.
    """

    def stops(engine: Engine) -> bool:
        how = _refused(engine, attempt)
        return how is not Refused.NOT and only(how, _is_sealed(engine))

    engines = [scope.engine for scope in active.concerned(stops)]
    if engines:
        raise _told(attempt, engines)
    if (watch := active.watching()) is not None and not attempt.quietly:
        _tell(watch, attempt)


def _tell(watch: Watch, attempt: _Attempt) -> None:
    """Tell who watches, where no session does, of what reaches a model."""
    policy, peer = watch.policy, attempt.peer
    passed = [one for one in (active.passed(), attempt.passed) if one is not None and _is_part(attempt, one)]
    for method, url in (*passed, *attempt.requests):
        if is_model(url, policy.traffic):
            if policy.traffic.verdict(method, url) is Route.INTERACTION:
                watch.reached(*place_of(url), line_of(Request(method, url), policy))
            return
    if _route(policy.traffic, attempt, sealed=False) is Route.INTERACTION:
        host = next(filter(is_model_host, peer.names), peer.host)
        asked = line_of(Request(*attempt.requests[0]), policy) if attempt.requests else attempt.asked
        watch.reached(host, peer.port, asked)


def _told(attempt: _Attempt, engines: list[Engine]) -> Refusal:
    """Return the refusal of the sessions that stop an attempt; it is in the ledger of each, if anybody need know."""
    how = Refused.QUIETLY if attempt.quietly else max(_refused(engine, attempt) for engine in engines)
    asked = line_of(Request(*attempt.requests[0]), engines[0].policy) if attempt.requests else attempt.asked
    refusal = _refusal(how, asked, engines)
    return engines[0].in_callers_form(refusal) if how is Refused.QUIETLY else active.refuse(refusal, engines)


def _is_sealed(engine: Engine) -> bool:
    return never_goes_live(engine.policy.mode)


def _is_farewell(data: Any) -> bool:
    """Tell whether bytes can only be the TLS alert by which a connection is closed.

    Source: RFC 8446 section 5.2, RFC 5288 section 3: a record's head of 5, an alert of 2, at most 24 of its sealing.
    """
    return len(data) <= 31 and bytes(data[:2]) in (b"\x15\x03", b"\x17\x03")


def _refused(engine: Engine, attempt: _Attempt) -> Refused:
    """Say how one session refuses an attempt, if it does."""
    if reads_nothing(engine.policy.mode):
        return Refused.NOT
    sealed = _is_sealed(engine)
    if (route := _route(engine.policy.traffic, attempt, sealed=sealed)) is Route.INTERACTION:
        return Refused.AS_A_MISS if sealed or not active.is_inside() else Refused.NOT
    if not sealed or route in (Route.IGNORED, Route.LOCAL):
        return Refused.NOT
    return Refused.QUIETLY if route is Route.QUIET else Refused.TOLD


def _route(traffic: Traffic, attempt: _Attempt, *, sealed: bool) -> Route | None:
    """Say what an attempt is to a session; None where nothing is known of it."""
    peer = attempt.peer
    for passed in filter(None, (active.passed(), attempt.passed)):
        # A session that was opened since then may not let pass what the one before it did.
        if _is_part(attempt, passed) and (verdict := traffic.verdict(*passed)) is not Route.INTERACTION:
            return verdict
    read = {traffic.verdict(*request) for request in attempt.requests}
    found = [route for name in peer.names if (route := traffic.connection(name, peer.port)) not in (None, Route.LOCAL)]
    if any(traffic.withheld(*request) for request in attempt.requests):
        return Route.INTERACTION
    if Route.IGNORED in (*read, *found) or traffic.spares(peer.names, peer.port):
        return Route.IGNORED
    if found:
        return found[0]
    if Route.QUIET in read:
        return Route.QUIET
    if any(map(is_model_host, peer.names)):
        return Route.INTERACTION
    if not is_loopback(peer.host):
        return None
    # In the clear on loopback: an adapter would have had it. What records has its own adapters to see to that.
    return Route.INTERACTION if Route.INTERACTION in read and sealed else Route.LOCAL


def _is_part(attempt: _Attempt, passed: tuple[str, str]) -> bool:
    """Tell whether an attempt belongs to a request that was let pass: it goes there, and is no other request."""
    method, url = passed
    found = _URL.match(url)
    if found is None or not _is_to(found, attempt.peer):
        return False
    targets = [_URL.match(url) for _, url in attempt.requests]
    return not attempt.requests or (
        attempt.requests[0][0] == method.upper()
        and any(target is not None and _path(target) == _path(found) for target in targets)
    )


def _is_to(url: re.Match[str], peer: Peer) -> bool:
    port = int(url["port"] or _PORTS.get(url["scheme"].lower(), 0))
    return peer.port in (None, port) and (
        canonical_host(url["host"]) in peer.names or (is_loopback(url["host"]) and is_loopback(peer.host))
    )


def place_of(url: str) -> tuple[str, int | None]:
    """Return a URL's host, in the form that patterns have, and port; an empty host where it cannot be read."""
    if (found := _URL.match(url)) is None:
        return "", None
    return canonical_host(found["host"]), int(found["port"] or _PORTS.get(found["scheme"].lower(), 0)) or None


def _path(url: re.Match[str]) -> str:
    """Return a URL's path and query; a path that is left out is sent as `/`."""
    return url["target"] if url["target"].startswith("/") else "/" + url["target"]


def _urls(peer: Peer, target: str, *, secure: bool) -> list[str]:
    """Return the URLs of a request line's target: by each name of the peer, as given first."""
    if "://" in target[:10]:
        return [target]
    hosts = [f"[{name}]" if ":" in name else name for name in peer.names or (peer.host,)]
    return [f"{'https' if secure else 'http'}://{host}:{peer.port}{target}" for host in hosts]


def _refusal(how: Refused, asked: str, engines: list[Engine]) -> Refusal:
    client = guard_callers.caller()
    place = ", ".join(engine.cassette.place + (" (ended)" if engine.closed else "") for engine in engines)
    if how is not Refused.AS_A_MISS:
        remedy = "answer it in the test, or name the host: `quiet` refuses it without a word, `ignore` lets it out"
        return NetworkRefusal(asked, client, place, "" if how is Refused.QUIETLY else remedy)
    live = "" if any(map(_is_sealed, engines)) else ", and would be live and not recorded"
    allows = any(engine.policy.preparing.connects for engine in engines)
    allowed = "; `allowed_hosts` lets no model out" if allows else ""
    return InteractionNotFound(
        f"a call to a model goes round the adapters{live}",
        f"{asked}, by {client}",
        place,
        "",
        "call it through a client that has an adapter, or decorate its caller with onetake.recorded;\n"
        f"`ignore` lets the host out, live and not recorded{allowed}",
    )
