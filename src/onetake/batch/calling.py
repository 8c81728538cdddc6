"""Records that a Python function asks about, through whatever SDK: its requests are seen, and its replies given to it.

The function is called sealed, with the stored replies. Where one is missing it ends there, and the request that it was
about to send is what the batch sends; then the function is called again. So limits, retries and the budget are the
batch's, whatever the SDK does, and a function that asks several times in a row works the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from onetake import active, guard_sockets, patching
from onetake.adapters.function_values import to_value
from onetake.batch.failures import Failure
from onetake.batch.opening import Opened
from onetake.batch.records import Record
from onetake.batch.replies import Replies, Reply
from onetake.batch.resolving import Needed, Resolver, Row
from onetake.cassette import Cassette
from onetake.contract import Contract
from onetake.engine import Engine
from onetake.errors import InteractionNotFound, UsageError
from onetake.ledger import Ledger
from onetake.misses import asked_line
from onetake.model import Entry, Mode, Request
from onetake.printable import one_line
from onetake.steps import Flow, Policy, Replay
from onetake.stores.memory import MemoryStore

_OF_THE_WIRE = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding"})
"""Headers that the batch's own client makes."""
_LONGEST = 300


class CallingResolver(Resolver):
    """Resolves records by calling a function.

    Args:
        call: Given a record's fields, asks a model through any SDK; returns a JSON value, a text or a pydantic model.
        batch: Its store and policy.

    Raises:
        UsageError: The function is async.
    """

    first_tells_all = False

    def __init__(self, call: Callable[[Mapping[str, Any]], Any], batch: Opened) -> None:
        if inspect.iscoroutinefunction(call):
            raise UsageError("call: an async function cannot be called; ask with the SDK's client that blocks")
        self._call, self._replies = call, batch.replies
        self._engine = _Stored(batch.replies, replace(batch.policy, mode=Mode.NONE))

    def ahead(self, records: Iterable[Record]) -> Iterator[Record]:
        """Return the same records: what a function asks is not known before it is called."""
        yield from records

    def came(self, record: Record, needed: Needed, data: bytes) -> None:
        """Leave it to the function, which asks for the reply again."""

    def resolve(self, record: Record, *, is_sure: bool = True) -> Row | Needed:
        """Return the row of a record, or what must be asked before there can be one; always sure.

        Raises:
            UsageError: The function failed before it asked anything, or returned what has no JSON.
        """
        if record.data is None:
            return Row(record.line, None, Failure.BAD_LINE, record.why, record.offset)
        engine, value, failed = self._engine, None, None
        engine.begin_record()
        try:
            value = self._called(record.data)
        except InteractionNotFound:
            pass
        except Exception as error:  # noqa: BLE001 - of the SDK or of the function: it is the row's, or ours to tell
            failed = error
        keys = tuple(entry.key for entry in engine.given)
        if engine.needed is not None:
            return Needed(record.line, _sent(engine.needed[0]), engine.needed[1], 0, keys)
        return self._row_of(record.line, value, failed, keys)

    def _called(self, data: Mapping[str, Any]) -> Any:
        patching.install()
        guard_sockets.install()
        scope = active.enter(self._engine)
        token = active.bind(scope)
        try:
            return self._call(data)
        finally:
            active.unbind(scope, token)
            active.leave(scope)

    def _row_of(self, line: int, value: Any, failed: Exception | None, keys: tuple[str, ...]) -> Row:
        last = self._engine.given[-1] if self._engine.given else None
        if last is None:
            why = f"raised {type(failed).__name__}: {failed}" if failed else "returned"
            raise UsageError(f"line {line}: the function {one_line(why, _LONGEST)} before it asked anything")
        if failed is None:
            return Row(line, to_value(value), keys=keys)
        if last.verdict != "good":
            return self._row(line, last, keys)
        return Row(line, None, Failure.INVALID, one_line(f"{type(failed).__name__}: {failed}", _LONGEST), keys=keys)


class _Stored(Engine):
    """Gives stored replies, and notes the first request that has none."""

    def __init__(self, replies: Replies, policy: Policy) -> None:
        aside = Cassette(MemoryStore())
        super().__init__(
            policy,
            Cassette(replies.store),
            aside,
            Ledger(),
            being_made=lambda: False,
            on_record=_nothing,
            elsewhere=lambda key: [],
        )
        self._replies = replies
        self.begin_record()

    def begin_record(self) -> None:
        """Forget what the last record asked."""
        self.given: list[Entry] = []
        self.needed: tuple[Request, Reply] | None = None

    def begin(
        self, request: Request, flow: Flow, client: str = "", contracts: tuple[Contract, ...] | None = None
    ) -> Replay:
        """Give a request its stored reply.

        Raises:
            InteractionNotFound: There is none that counts: the function ends here, and the batch sends the request.
        """
        reply = self._replies.find(request)
        if reply.entry is not None and self.needed is None:
            self.given.append(reply.entry)
            return Replay(reply.entry)
        self.needed = self.needed or (request, reply)
        # Outside `Exception`, so that an SDK does not try again.
        raise InteractionNotFound("no reply is stored", asked_line(reply.asked))


def _sent(request: Request) -> Request:
    headers = tuple((name, value) for name, value in request.headers if name.lower() not in _OF_THE_WIRE)
    return replace(request, headers=headers)


def _nothing() -> None:
    """Do nothing."""
