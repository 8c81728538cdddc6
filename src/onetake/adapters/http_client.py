"""http.client: `HTTPConnection` and all that sits on it, as urllib.request and xmlrpc do.

A request is only there when its last piece has been sent. So what is sent is gathered until it is whole, and then,
still inside the call that sent it, the engine is asked: a live request is connected and sent at once, so that its
errors come where the client's own would. `getresponse` builds the client's own response over a file of ours.

Within a session, for requests that are interactions: nothing is connected before the request is whole, so `connect()`
leaves a stand-in socket (which keeps time limits and socket options for the real one); a body that is an iterator is
read before the first byte is sent. On loopback without `hosts` an explicit `connect()` connects, as only the path will
tell whether it is to a model.

Not kept, because it is not part of an entry: the HTTP version (a replay says HTTP/1.1), a reason phrase that is not the
usual one, what `set_tunnel` and `connect` exchanged with a proxy, trailers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from types import ModuleType
from typing import Any

from onetake import active, hooking, waiting
from onetake.adapters import http_client_sockets as sockets
from onetake.adapters.http_client_exchange import Exchange
from onetake.adapters.http_client_streams import Passing, own
from onetake.adapters.http_client_wire import url_of
from onetake.bodies import reads_whole
from onetake.errors import AdapterError, Refusal
from onetake.model import Headers
from onetake.passage import Passage
from onetake.steps import Live, Replay
from onetake.streams import Watch

_CLIENT = f"http.client {'.'.join(map(str, sys.version_info[:3]))}"
_PRIVATE = ("_tunnel_host", "_tunnel_port")


def patch(module: ModuleType) -> None:
    """Intercept the module's connections; where the hooks stand already, nothing changes.

    Raises:
        AdapterError: Its connections are not what this adapter knows.
    """
    if rival(module):
        return
    connection, secure = _class(module, "HTTPConnection"), _class(module, "HTTPSConnection")
    if connection is None:
        raise _unknown("no HTTPConnection of its own")
    hooks = {
        "putrequest": _putrequest,
        "endheaders": _endheaders,
        "send": _send,
        "getresponse": _getresponse,
        "close": _close,
        "connect": _connect,
    }
    missing = [name for name in hooks if name not in vars(connection)]
    if not missing and not hooking.stands(connection.putrequest):
        missing = [name for name in _PRIVATE if not hasattr(connection("onetake.invalid"), name)]
    if missing:
        raise _unknown("no HTTPConnection." + ", ".join(missing))
    for name, make in hooks.items():
        _hook(connection, name, make)
    if secure is not None and "connect" in vars(secure):
        _hook(secure, "connect", _connect)


def rival(module: ModuleType) -> str:
    """Name the tool that has put a class of its own in the place of the module's connections."""
    return "vcrpy" if module.HTTPConnection.__module__.partition(".")[0] == "vcr" else ""


def _class(module: ModuleType, name: str) -> Any:
    """Return the module's own class, also where a subclass was put in its place."""
    found = getattr(module, name, None)
    own = [cls for cls in getattr(found, "__mro__", ()) if (cls.__module__, cls.__name__) == (module.__name__, name)]
    return own[0] if own else None


def _unknown(what: str) -> AdapterError:
    return AdapterError(f"onetake cannot intercept {_CLIENT}: it has {what}; use a Python that has, or a newer onetake")


def _hook(cls: Any, name: str, make: Callable[[Any], Callable[..., Any]]) -> None:
    original = getattr(cls, name)
    if not hooking.stands(original):
        hooking.put(cls, name, wraps(original)(make(original)))


def _exchange(connection: Any) -> Exchange | None:
    found: Exchange | None = vars(connection).get("_onetake")
    return found


def _passing(connection: Any) -> AbstractContextManager[None]:
    """Mark the request of a connection as going out untouched, if it does; an explicit `connect()` is for none yet."""
    passing = vars(connection).get("_onetake_passing")
    return nullcontext() if passing is None else active.letting_pass(*passing)


def _putrequest(original: Callable[..., Any]) -> Callable[..., Any]:
    def putrequest(self: Any, method: str, url: str, *args: Any, **kwargs: Any) -> Any:
        if active.nowhere():
            done = original(self, method, url, *args, **kwargs)
            self._onetake = self._onetake_passing = None
            if isinstance(self.sock, sockets.Unconnected):
                _connect_now(self)
            return done
        place = url_of(self, url)
        engine = None if method == "CONNECT" else active.engine_for(method, place)
        done = original(self, method, url, *args, **kwargs)
        self._onetake = None if engine is None else Exchange(engine, method, place)
        self._onetake_passing = (method, place) if engine is None and method != "CONNECT" else None
        if engine is None and isinstance(self.sock, sockets.Unconnected):
            with _passing(self):
                _connect_now(self)
        return done

    return putrequest


def _endheaders(original: Callable[..., Any]) -> Callable[..., Any]:
    def endheaders(self: Any, *args: Any, **kwargs: Any) -> Any:
        exchange = _exchange(self)
        if exchange is None:
            return original(self, *args, **kwargs)
        exchange.in_headers = True
        try:
            done = original(self, *args, **kwargs)
        finally:
            exchange.in_headers = False
        if exchange.outgoing.whole:
            _ask(self, exchange)
        return done

    return endheaders


def _send(original: Callable[..., Any]) -> Callable[..., Any]:
    def send(self: Any, data: Any) -> Any:
        exchange = _exchange(self)
        if exchange is None:
            with _passing(self):
                return original(self, data)
        if exchange.on_the_wire or (self.sock is None and not self.auto_open):
            return original(self, data)
        if exchange.step is not None:
            try:
                exchange.refuse_more(data, self.blocksize)
            except Refusal:
                self.close()
                raise
            return None
        self.sock = self.sock or sockets.Unconnected(self.timeout)
        exchange.outgoing.add(data, self.blocksize)
        if exchange.outgoing.whole and not exchange.in_headers:
            _ask(self, exchange)
        return None

    return send


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: Any) -> Any:
        # A subclass's own `connect` may do anything with the socket that it gets from here.
        is_early = active.passed() is None and hooking.stands(type(self).connect)
        if is_early and active.has_session() and active.engine_for("GET", url_of(self, "/")) is not None:
            self.sock = sockets.Unconnected(self.timeout)
            return None
        return original(self)

    return connect


def _close(original: Callable[..., Any]) -> Callable[..., Any]:
    def close(self: Any) -> Any:
        exchange, self._onetake, self._onetake_passing = _exchange(self), None, None
        if exchange is not None:
            exchange.drop()
        return original(self)

    return close


def _getresponse(original: Callable[..., Any]) -> Callable[..., Any]:
    def getresponse(self: Any) -> Any:
        exchange = _exchange(self)
        if exchange is None or not exchange.outgoing.begun:
            return original(self)
        if exchange.step is None:
            _ask(self, exchange)
        self._onetake = None  # from here on a `close` is the response's
        answer = _replayed if isinstance(exchange.step, Replay) else _live
        return answer(self, exchange, original)

    return getresponse


def _ask(connection: Any, exchange: Exchange) -> None:
    """Ask the engine, and send the request where it is to go out. A refusal leaves the connection fit for another."""
    engine, request = exchange.engine, exchange.outgoing.request()
    try:
        exchange.step = waiting.begun(lambda flow: engine.begin(request, flow, _CLIENT))
    except BaseException:
        connection.close()
        raise
    if isinstance(exchange.step, Replay):
        return
    exchange.on_the_wire = True
    try:
        with active.inside():
            if isinstance(connection.sock, sockets.Unconnected):
                _connect_now(connection)
            for piece in exchange.outgoing.wire():
                connection.send(piece)
    except BaseException:
        exchange.drop()
        connection._onetake = None
        raise
    finally:
        exchange.on_the_wire = False


def _connect_now(connection: Any) -> None:
    waited, connection.sock = connection.sock, None
    with active.inside():
        connection.connect()
    waited.settle(connection.sock)


def _replayed(connection: Any, exchange: Exchange, original: Callable[..., Any]) -> Any:
    assert isinstance(exchange.step, Replay)
    engine, entry = exchange.engine, exchange.step.entry
    before, reading = connection.sock, sockets.ResponseSocket(lambda: sockets.replayed(engine, entry))
    connection.sock = reading
    try:
        response = original(connection)
    finally:
        if reading.file is None:  # an earlier response is not read yet: this one stays to be fetched
            connection._onetake = exchange
        # No byte of this answer came over the connection: its length says nothing of whether that can go on.
        unneeded = isinstance(before, sockets.Unconnected) and connection.auto_open and reading.file is not None
        connection.sock = None if unneeded else before
    if "close" in (response.getheader("connection") or "").lower():
        connection.close()
    return response


def _live(connection: Any, exchange: Exchange, original: Callable[..., Any]) -> Any:
    engine, step, sock = exchange.engine, exchange.step, connection.sock
    assert isinstance(step, Live)
    connection.sock = reading = sockets.ResponseSocket(lambda: Passing(sock.makefile("rb")), sock)
    try:
        with active.inside():
            response = original(connection)
        passage = Passage(engine, step, _watch(exchange, response))
        exchange.step = None  # which the passage ends from here on
        own(response)
        reading.file.watch(response, passage)
        is_whole = reads_whole(step, response.status, _headers(response))
        return _whole(connection, exchange, response, passage) if is_whole else response
    except BaseException:
        if reading.file is None:
            connection._onetake = exchange
        else:
            engine.abandon(step)
        raise
    finally:
        if connection.sock is reading:
            connection.sock = sock


def _watch(exchange: Exchange, response: Any) -> Watch:
    return Watch(exchange.outgoing.request(), response.status, _headers(response), undoes=lambda coding: False)


def _headers(response: Any) -> Headers:
    return tuple((name, str(value)) for name, value in response.getheaders())


def _whole(connection: Any, exchange: Exchange, live: Any, passage: Passage) -> Any:
    """Answer with a body that was read whole: as it came, or the answer that another caller's call added first."""
    live.read()
    live.close()
    if passage.response is None:
        return live
    stored = passage.response
    response = connection.response_class(sockets.ResponseSocket(lambda: sockets.whole(stored)), method=exchange.method)
    response.begin()
    return response
