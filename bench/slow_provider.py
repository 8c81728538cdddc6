"""A provider that takes 200 ms for each answer; prints its address and stays until it is killed.

It reads no more of a request than where it ends, and has the bytes of its answer ready: on a box of two cores what it
takes is missing to those that ask.
"""

from __future__ import annotations

import asyncio
import re

from onetake.testing.provider import openai_chat

LATENCY_S = 0.2
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_BODY = openai_chat("a label").body
_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(_BODY), _BODY)


class Connection(asyncio.Protocol):
    """One connection, whose requests come one after the other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport, self._came = transport, b""

    def data_received(self, data: bytes) -> None:
        """Read, and answer in time where the request is whole."""
        self._came += data
        head, end, body = self._came.partition(b"\r\n\r\n")
        found = _LENGTH.search(head)
        if end and len(body) >= (int(found[1]) if found else 0):
            self._came = b""
            asyncio.get_running_loop().call_later(LATENCY_S, self._transport.write, _ANSWER)


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    print(f"http://{host}:{port}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
