"""One request over the wire: what came, or in which of many ways nothing did."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

from onetake.batch.job import Ask
from onetake.batch.retrying import Fault, Kind
from onetake.batch.wires import ADDRESS, CUT, wire_to
from onetake.errors import UsageError
from onetake.model import Cut, Headers, Request, Response
from onetake.printable import one_line
from onetake.provenance import version
from onetake.streams import Ending, Watch

_LATE_S, _GRACE_S, _LAST_S = 1.0, 10.0, 0.25
_MOST_BYTES = 256 * 1024 * 1024
_REMEMBERED = 64


class Sends(Protocol):
    """Whatever gets an answer to a request."""

    client: str
    """The client and its version, for the provenance."""

    async def send(self, request: Request) -> Response | Fault:
        """Send a request once; a response may have any status, and may be cut."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Sender:
    """Sends the requests of a job with aiohttp, httpx or httpx2, whichever is installed.

    Never follows a redirect: the credential would go along.

    Args:
        ask: What the job asks: where, and by which variable's credential.
        timeout: Seconds that an attempt may take, from connecting to the last byte.
        environ: Where the credential is.

    Raises:
        UsageError: No client is installed, or the variable holds no credential.
    """

    def __init__(self, ask: Ask, *, timeout: float, environ: Mapping[str, str]) -> None:
        self._wire = wire_to(ask.base_url)
        self.client = self._wire.client
        self._under = ask.base_url + "/"
        self._credential = credential(ask, environ)
        self._timeout = timeout

    async def send(self, request: Request) -> Response | Fault:
        """Send a request once.

        Args:
            request: Without any credential; it gets the job's if it goes to the job's `base_url`.

        Returns:
            The response, of any status; a fault where none came whole. What comes after the time limit is dropped with
            its connection.
        """
        try:
            async with asyncio.timeout(None) as scope:
                limit = _TimeLimit(scope, self._timeout)
                try:
                    return await self._exchange(request)
                finally:
                    limit.end()
        except TimeoutError:
            return Fault(Kind.AGAIN, "timeout", f"no whole answer within {self._timeout:g} s")

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def _exchange(self, request: Request) -> Response | Fault:
        credential = self._credential if request.url.startswith(self._under) else ()
        watch = status = None
        try:
            answer = await self._wire.ask(request, _all_headers((*request.headers, *credential)))
            try:
                status = answer.status
                watch = Watch(request, status, answer.headers)
                size = 0
                async for chunk in answer.chunks:
                    watch.feed(chunk)
                    size += len(chunk)
                    if size > _MOST_BYTES:
                        return Fault(Kind.AGAIN, "too large", f"a body of more than {_MOST_BYTES >> 20} MiB")
            finally:
                await answer.close()
        except self._wire.errors as error:
            label = self._wire.label(error)
            if label == CUT and watch is not None and status is not None and not 200 <= status < 300:
                return watch.finish(Ending.FAILED)  # its status tells enough
            return Fault(Kind.ACCESS if label == ADDRESS else Kind.AGAIN, label, self._said(error))
        return watch.finish(Ending.END)

    def _said(self, error: Exception) -> str:
        said = str(error) or type(error).__name__
        for _, value in self._credential:
            said = said.replace(value, "…")
        return one_line(said, 300)


def credential(ask: Ask, environ: Mapping[str, str]) -> Headers:
    """Return the header that carries a job's credential; none where the job names no variable.

    Raises:
        UsageError: The variable is not set, empty, or cannot be sent in a header.
    """
    if not ask.api_key_env:
        return ()
    key = environ.get(ask.api_key_env, "").strip()
    if not key:
        raise UsageError(f"{ask.api_key_env} is not set: ask.api_key_env says that the credential is there")
    if not re.fullmatch("[!-~]+", key):
        raise UsageError(f"{ask.api_key_env} holds what cannot be a credential: a space, or a sign that is not ASCII")
    return (("x-api-key", key),) if ask.api == "anthropic" else (("authorization", f"Bearer {key}"),)


def is_cut(response: Response) -> bool:
    """Tell whether a response broke off on its way."""
    return response.cut is not Cut.NO


class _TimeLimit:
    """A time limit that does not strike at once when a process that was stopped goes on.

    All its timers are overdue then, and answers may lie in its sockets, paid for and unread.

    Args:
        scope: What it ends.
        seconds: After how long.
    """

    def __init__(self, scope: asyncio.Timeout, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._scope = scope
        self._grace = min(seconds, _GRACE_S)
        self._is_last = False
        self._arm(seconds)

    def end(self) -> None:
        """Let it strike no more."""
        self._timer.cancel()

    def _arm(self, seconds: float) -> None:
        self._due = self._loop.time() + seconds
        self._timer = self._loop.call_at(self._due, self._strike)

    def _strike(self) -> None:
        now = self._loop.time()
        if now - self._due > _LATE_S:
            self._arm(self._grace)
        elif self._is_last:
            self._scope.reschedule(now)
        else:  # it may have been stopped until just now: what is here already is read first
            self._is_last = True
            self._arm(min(self._grace, _LAST_S))


@lru_cache(_REMEMBERED)  # the same for nearly every call
def _all_headers(own: Headers) -> Headers:
    """Return the headers of a request, those that go with every one included."""
    said = {name.lower() for name, _ in own}
    always = (("user-agent", f"onetake/{version()}"), ("accept", "*/*"), ("accept-encoding", "gzip, deflate"))
    return (*(pair for pair in always if pair[0] not in said), *own)
