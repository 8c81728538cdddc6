"""One call of a pool of urllib3-future that a session answers, in each of its two colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onetake import active, rivals, waiting
from onetake.adapters import urllib3_future_responses
from onetake.adapters.urllib3_bodies import Body
from onetake.adapters.urllib3_calls import Asked, Reading, retried
from onetake.bodies import reads_whole
from onetake.engine import Engine
from onetake.model import Headers, Request
from onetake.passage import Passage
from onetake.steps import Live, Replay
from onetake.streams import Ending, Watch


class Call:
    """One call of a pool's `urlopen` that a session answers.

    Args:
        client: urllib3-future's name and version.
        original: Its own `urlopen`.
        asked: What was asked.
        body: The body that it came with.
    """

    def __init__(self, client: str, original: Callable[..., Any], asked: Asked, body: Body) -> None:
        self._client, self._original, self._asked, self._body = client, original, asked, body

    def made(self, engine: Engine, place: str) -> Any:
        """Make the call, and make it again where a retry after its status is due; *place* is its absolute URL."""
        asked = self._asked
        request = _request(engine, asked, place, self._body)
        step = waiting.begun(lambda flow: engine.begin(request, flow, self._client))
        if isinstance(step, Replay):
            response = urllib3_future_responses.replayed(
                asked.module, engine, step.entry, awaited=False, **_options(asked, asked.retries)
            )
            if _extends(asked, response):
                response.start_extension(asked.given["extension"])
        else:
            try:
                response = self._live(engine, step, request)
            except BaseException:
                engine.abandon(step)
                raise
        if asked.preloads and response.status != 101:
            _ = response.data  # reads it, and keeps it in the response
        return retried(asked, self._body, response) if asked.is_due(response) else response

    def _live(self, engine: Engine, step: Live, request: Request) -> Any:
        asked = self._asked
        with active.inside():
            response = self._original(asked.pool, **_sent(asked, self._body))
        response.retries = asked.left_of(response.retries)
        if _is_no_answer(response):
            engine.abandon(step)
            return response
        passage, whole = _passage(engine, step, request, asked, response), False
        try:
            if urllib3_future_responses.is_ended(response):
                passage.keep(Ending.END)
            elif whole := reads_whole(step, response.status, _headers(response)):
                response.read(decode_content=asked.preloads)
        except BaseException:
            response.close()  # nobody else has it yet
            raise
        return _own(asked, response, passage, whole=whole, awaited=False)


class AsyncCall:
    """One awaited call, as `Call`."""

    def __init__(self, client: str, original: Callable[..., Any], asked: Asked, body: Body) -> None:
        self._client, self._original, self._asked, self._body = client, original, asked, body

    async def made(self, engine: Engine, place: str) -> Any:
        """Make the call, as `Call.made`."""
        asked = self._asked
        request = _request(engine, asked, place, self._body)
        step = await waiting.begun_awaited(lambda flow: engine.begin(request, flow, self._client), engine.abandon)
        if isinstance(step, Replay):
            response = urllib3_future_responses.replayed(
                asked.module, engine, step.entry, awaited=True, **_options(asked, asked.retries)
            )
            if _extends(asked, response):
                await response.start_extension(asked.given["extension"])
        else:
            try:
                response = await self._live(engine, step, request)
            except BaseException:
                engine.abandon(step)
                raise
        if asked.preloads and response.status != 101:
            await response.data
        return await self._retried(response) if asked.is_due(response) else response

    async def _live(self, engine: Engine, step: Live, request: Request) -> Any:
        asked = self._asked
        with active.inside():
            response = await self._original(asked.pool, **_sent(asked, self._body))
        response.retries = asked.left_of(response.retries)
        if _is_no_answer(response):
            engine.abandon(step)
            return response
        passage, whole = _passage(engine, step, request, asked, response), False
        try:
            if urllib3_future_responses.is_ended(response):
                await waiting.in_thread(passage.keep, Ending.END)
            elif whole := reads_whole(step, response.status, _headers(response)):
                await response.read(decode_content=asked.preloads)
        except BaseException:
            await response.close()
            raise
        return _own(asked, response, passage, whole=whole, awaited=True)

    async def _retried(self, response: Any) -> Any:
        asked, retries = self._asked, response.retries
        method, url = asked.given["method"], asked.given["url"]
        try:
            retries = retries.increment(method, url, response=response, _pool=asked.pool)
        except asked.module.exceptions.MaxRetryError:
            if not retries.raise_on_status:
                return response
            await response.drain_conn()
            raise
        await response.drain_conn()
        await retries.async_sleep(response)
        return await asked.pool.urlopen(**asked.again(self._body, retries))


def _request(engine: Engine, asked: Asked, place: str, body: Body) -> Request:
    """Return the request as it is matched; one for a web socket shows it by its scheme, as its headers come later.

    Refuses one that vcrpy would answer beside us.
    """
    extension = asked.given.get("extension")
    if extension is not None and "ws" in extension.supported_schemes():
        place = place.replace("http", "ws", 1)
    request = asked.request(place, body)
    rivals.refuse_vcrpy(engine, asked.pool.ConnectionCls, request)
    return request


def _sent(asked: Asked, body: Body) -> dict[str, Any]:
    return asked.sent(body) | {"preload_content": False, "multiplexed": False}


def _options(asked: Asked, retries: Any) -> dict[str, Any]:
    """Return the arguments of the client's response class that are the caller's."""
    given = asked.given
    kept = {name: given[name] for name in ("decode_content", "enforce_content_length", "auto_close") if name in given}
    return kept | {"request_method": given["method"], "request_url": given["url"], "retries": retries}


def _extends(asked: Asked, response: Any) -> bool:
    return asked.given.get("extension") is not None and 200 <= response.status < 300


def _is_no_answer(response: Any) -> bool:
    """Tell whether a response begins a web socket or the like, which is no answer to a request."""
    extension = response.extension
    streams = extension is not None and "sse" in extension.supported_schemes()
    return response.status == 101 or (extension is not None and not streams)


def _passage(engine: Engine, step: Live, request: Request, asked: Asked, response: Any) -> Passage:
    reading, headers = Reading(), _headers(response)
    watch = Watch(request, response.status, headers, undoes=asked.undoes, reads_raw=reading.is_raw)
    passage = Passage(engine, step, watch)
    urllib3_future_responses.watched(response, passage, reading.note_raw)
    if reads_whole(step, response.status, headers) and not asked.preloads:
        reading.note_raw()  # it may come to that
    return passage


def _headers(response: Any) -> Headers:
    return tuple((str(name), str(value)) for name, value in response.headers.items())


def _own(asked: Asked, response: Any, passage: Passage, *, whole: bool, awaited: bool) -> Any:
    """Return the live response, or one made of the answer: where it is read already, or another call's comes first."""
    given = passage.response
    if given is None or (given is passage.came and not whole):
        return response
    options = _options(asked, response.retries)
    return urllib3_future_responses.given(asked.module, given, awaited=awaited, **options)
