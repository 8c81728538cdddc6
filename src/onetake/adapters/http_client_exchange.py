"""One request of a connection of http.client, from its first byte to its answer."""

from __future__ import annotations

from typing import Any

from onetake.adapters.http_client_wire import Outgoing
from onetake.engine import Engine
from onetake.errors import InteractionNotFound
from onetake.misses import line_of
from onetake.steps import Live, Replay


class Exchange:
    """One request of a connection that an engine is to answer.

    Args:
        engine: What answers it.
        method: As the program gave it.
        url: Absolute URL.
    """

    def __init__(self, engine: Engine, method: str, url: str) -> None:
        self.engine, self.method = engine, method
        self.outgoing = Outgoing(method, url)
        self.in_headers = False
        self.on_the_wire = False
        """Whether the request is being sent to the provider here and now."""
        self.step: Replay | Live | None = None

    def refuse_more(self, data: Any, blocksize: int) -> None:
        """Take in what is sent once the engine was asked: it is in no key, and other bytes would get the same answer.

        Args:
            data: As `Outgoing.add` takes it.
            blocksize: The same.

        Raises:
            InteractionNotFound: It is not empty.
            TypeError: It is nothing that can be sent.
        """
        before = self.outgoing.sent
        self.outgoing.add(data, blocksize)
        if self.outgoing.sent > before:
            asked = line_of(self.outgoing.request(), self.engine.policy)
            remedy = "announce the whole body: Content-Length, or Transfer-Encoding: chunked"
            refusal = InteractionNotFound("more was sent after the request was whole", asked, "", "", remedy)
            raise self.engine.refuse(refusal)

    def drop(self) -> None:
        """End it without an answer."""
        if isinstance(self.step, Live):
            self.engine.abandon(self.step)

    def __del__(self) -> None:
        self.drop()
