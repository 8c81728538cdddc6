"""The hooks of the guard: the methods and functions of Python's sockets ask it before a byte leaves.

Hooked once per process, when the first session opens, and again where another tool put back what it had found before.
Outside of sessions each hook is one cheap question. Not reached: what speaks to the network without Python's sockets
(gRPC, pycurl, uvloop, c-ares), `os.write` on a socket's number, and what replaced them before (gevent).
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from onetake import active, forking, guard, guard_peers
from onetake.errors import NetworkRefusal

_INTERNET = (socket.AF_INET, socket.AF_INET6)
_lock = forking.Lock()
_accepted: WeakSet[Any] = WeakSet()
"""Connections that others opened to a server of this process: its answers may go out."""
_let_pass: WeakKeyDictionary[Any, tuple[str, str]] = WeakKeyDictionary()
"""Sockets, and the request that an adapter let pass over them last: what an event loop has still to write of it, and
what HTTP/2 acknowledges, leaves after that call."""


def install() -> None:
    """Hook the sockets of this process, and those of the libraries that took a copy of their methods."""
    with _lock.held:
        real = next(kind for kind in socket.socket.__mro__ if kind.__module__ == "socket")
        _hook(real, connect=_connect, connect_ex=_connect_ex, send=_send, sendall=_send, sendto=_sendto)
        _hook(real, sendmsg=_sendmsg, sendfile=_sendfile, accept=_accept)
        # Below `socket.getaddrinfo`, of which clients keep copies.
        _hook(getattr(socket, "_socket", socket), getaddrinfo=_getaddrinfo)
        _hook(socket, gethostbyname=_by_name, gethostbyname_ex=_by_name, gethostbyaddr=_by_name)
        _hook(socket, getnameinfo=_getnameinfo)
        _hook_libraries()


def _hook_libraries() -> None:
    """Hook what is loaded by now; what is loaded later finds the sockets hooked."""
    if (ssl := sys.modules.get("ssl")) is not None:
        _hook(ssl.SSLSocket, send=_send, write=_send)
        _hook(ssl.SSLContext, wrap_socket=_wrap_socket, wrap_bio=_wrap_bio)
    if (asyncio := sys.modules.get("asyncio")) is not None:
        _hook(asyncio.BaseEventLoop, getaddrinfo=_loop_getaddrinfo)
        if (proactor := getattr(asyncio, "IocpProactor", None)) is not None:  # Windows: its own calls of the system
            _hook(proactor, connect=_proactor(_connect), send=_proactor(_send), sendto=_proactor(_sendto))
            _hook(proactor, sendfile=_proactor(_sendfile), accept=_proactor_accept)
    if (trio := sys.modules.get("trio.socket")) is not None:
        for kind in trio.SocketType.__subclasses__():
            _hook(kind, send=_send, sendto=_sendto, sendmsg=_sendmsg)


def _hook(owner: Any, **makers: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    for name, make in makers.items():
        original = getattr(owner, name, None)
        if original is not None and not getattr(original, "_onetake", False):
            hook = wraps(original)(make(original))
            hook._onetake = True  # type: ignore[attr-defined]
            setattr(owner, name, hook)


def _connect(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect(self: Any, address: Any, /) -> Any:
        if not active.nowhere():
            _check_connection(self, address)
        return original(self, address)

    return connect


def _connect_ex(original: Callable[..., Any]) -> Callable[..., Any]:
    def connect_ex(self: Any, address: Any, /) -> Any:
        if not active.nowhere():
            try:
                _check_connection(self, address)
            except NetworkRefusal as refusal:
                return refusal.errno
        return original(self, address)

    return connect_ex


def _send(original: Callable[..., Any]) -> Callable[..., Any]:
    def send(self: Any, data: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not active.nowhere():
            _check_data(self, data)
        return original(self, data, *args, **kwargs)

    return send


def _sendto(original: Callable[..., Any]) -> Callable[..., Any]:
    def sendto(self: Any, data: Any, /, *args: Any, **kwargs: Any) -> Any:
        if not active.nowhere():
            # The flags may stand before the address or, in an event loop, behind it.
            _check_datagram(self, data, next((part for part in args if isinstance(part, tuple)), kwargs.get("addr")))
        return original(self, data, *args, **kwargs)

    return sendto


def _sendmsg(original: Callable[..., Any]) -> Callable[..., Any]:
    def sendmsg(self: Any, buffers: Any, /, *args: Any) -> Any:
        if not active.nowhere():
            buffers = list(buffers)
            _check_datagram(self, b"".join(buffers)[:16384], args[2] if len(args) > 2 else None)
        return original(self, buffers, *args)

    return sendmsg


def _sendfile(original: Callable[..., Any]) -> Callable[..., Any]:
    def sendfile(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not active.nowhere():
            _check_data(self, b"")
        return original(self, *args, **kwargs)

    return sendfile


def _accept(original: Callable[..., Any]) -> Callable[..., Any]:
    def accept(self: Any) -> Any:
        connection, address = original(self)
        _note_accepted(connection)
        return connection, address

    return accept


def _proactor_accept(original: Callable[..., Any]) -> Callable[..., Any]:
    def accept(self: Any, listener: Any) -> Any:
        future = original(self, listener)
        # Known before anybody can answer on it: what the caller adds to the future is called later.
        if future.done():
            _note_future(future)
        else:
            future.add_done_callback(_note_future)
        return future

    return accept


def _note_future(future: Any) -> None:
    if not future.cancelled() and future.exception() is None:
        _note_accepted(future.result()[0])


def _note_accepted(connection: Any) -> None:
    if connection.family in _INTERNET:
        _accepted.add(connection)


def _getaddrinfo(original: Callable[..., Any]) -> Callable[..., Any]:
    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        if not active.nowhere():
            guard.resolving(host, port)
        found = original(host, port, *args, **kwargs)
        guard_peers.resolved(host, (str(info[4][0]) for info in found))
        return found

    return getaddrinfo


def _loop_getaddrinfo(original: Callable[..., Any]) -> Callable[..., Any]:
    async def getaddrinfo(self: Any, host: Any, port: Any, **kwargs: Any) -> Any:
        # Asked here too: on the thread that looks it up nothing says any more which client wants to know.
        if not active.nowhere():
            guard.resolving(host, port)
        return await original(self, host, port, **kwargs)

    return getaddrinfo


def _by_name(original: Callable[..., Any]) -> Callable[..., Any]:
    def look_up(host: Any, /) -> Any:
        if not active.nowhere():
            guard.resolving(host, None)
        found = original(host)
        guard_peers.resolved(host, [found] if isinstance(found, str) else found[2])
        return found

    return look_up


def _getnameinfo(original: Callable[..., Any]) -> Callable[..., Any]:
    def getnameinfo(address: Any, flags: int, /) -> Any:
        if not active.nowhere() and not flags & socket.NI_NUMERICHOST:
            guard.connecting(address[0], address[1])
        return original(address, flags)

    return getnameinfo


def _wrap_socket(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrap_socket(self: Any, sock: Any, server_side: bool = False, *args: Any, **kwargs: Any) -> Any:
        is_ours, passed = sock in _accepted, _let_pass.get(sock)
        if not server_side and not active.nowhere():
            name = kwargs.get("server_hostname") or (args[2] if len(args) > 2 else None)
            _check_handshake(sock, name)
        wrapped = original(self, sock, server_side, *args, **kwargs)
        if is_ours:
            _accepted.add(wrapped)
        if passed is not None:
            _let_pass[wrapped] = passed
        return wrapped

    return wrap_socket


def _wrap_bio(original: Callable[..., Any]) -> Callable[..., Any]:
    def wrap_bio(
        self: Any, incoming: Any, outgoing: Any, server_side: bool = False, server_hostname: Any = None, **kwargs: Any
    ) -> Any:
        if server_hostname and not server_side and not active.nowhere():
            guard.naming(server_hostname, None)
        return original(self, incoming, outgoing, server_side, server_hostname, **kwargs)

    return wrap_bio


def _proactor(make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[..., Any]:
    """Turn a hook of a socket's method into one of the proactor's, which takes the socket first."""

    def make_for_proactor(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, sock: Any, *args: Any, **kwargs: Any) -> Any:
            return make(lambda _, *rest, **named: original(self, sock, *rest, **named))(sock, *args, **kwargs)

        return call

    return make_for_proactor


def _check_connection(sock: Any, address: Any) -> None:
    if sock.family not in _INTERNET or not _is_place(address):
        return
    _let_pass.pop(sock, None)
    if sock.type == socket.SOCK_DGRAM:
        guard.resolving(address[0], address[1])  # it only says where datagrams will go: no byte leaves yet
    else:
        guard.connecting(address[0], address[1])
    _remember(sock)


def _check_datagram(sock: Any, data: Any, address: Any) -> None:
    if address is None:
        _check_data(sock, data)
    elif sock.family in _INTERNET and _is_place(address):
        guard.connecting(address[0], address[1], _let_pass.get(sock))
        _remember(sock)


def _check_data(sock: Any, data: Any) -> None:
    peer = None if guard.carried() else _peer(sock)
    if peer is not None and sock not in _accepted:
        secure = getattr(sock, "context", None) is not None
        guard.sending(peer, data, secure=secure, passed=_let_pass.get(sock))
        _remember(sock)


def _check_handshake(sock: Any, name: Any) -> None:
    peer = _peer(sock)
    if peer is not None and not isinstance(name, bytes):
        guard.naming(name or peer.host, peer.port)
        guard.sending(guard_peers.Peer(peer.host, peer.port, name or ""), b"", passed=_let_pass.get(sock))


def _remember(sock: Any) -> None:
    """Note the request that is let pass here, if one is, as what a socket is used for."""
    if (passed := active.passed()) is not None:
        _let_pass[sock] = passed


def _peer(sock: Any) -> guard_peers.Peer | None:
    """Return where a connected socket leads; None for one that is not connected, or does not leave the machine."""
    if sock.family not in _INTERNET:
        return None
    with suppress(OSError):
        host, port = sock.getpeername()[:2]
        return guard_peers.Peer(host, port, getattr(sock, "server_hostname", None) or "")
    return None


def _is_place(address: Any) -> bool:
    return isinstance(address, tuple) and len(address) >= 2 and isinstance(address[1], int)
