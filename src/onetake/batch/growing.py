"""While a run fills the store: the rows that are complete in order, appended to `OUT.partial` for whoever looks on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Container, Iterator
from itertools import islice
from time import perf_counter

from onetake.batch.records import Record
from onetake.batch.resolving import Needed, Resolver
from onetake.batch.rows import Partial
from onetake.errors import OnetakeError

_AT_ONCE = 16
"""Records whose replies are read together: about as many as come in while it rests."""
_SLICE_S = 0.005
"""Seconds for which rows are written at a stretch: the calls of the run wait meanwhile."""
_SHARE = 9
"""Seconds of rest for each second of writing: what looks on may cost the run a tenth of its time."""
_REST_S, _LONG_REST_S = 0.05, 1.0


class Growing:
    """Appends rows where the first missing reply stopped them.

    It only adds to what may be looked at: the output is written by a pass of its own, once nothing is missing. So where
    it cannot go on it ends in silence, and the run or that pass says why.

    Args:
        records: From the first one that has no row in *partial*.
        resolver: Of the job.
        partial: Of the output.
        in_vain: The keys for which no reply will come in this run; may grow.
    """

    def __init__(
        self, records: Iterator[Record], resolver: Resolver, partial: Partial, in_vain: Container[str]
    ) -> None:
        self._records = records
        self._resolver = resolver.apart()
        self._partial = partial
        self._in_vain = in_vain
        self._next = deque(islice(records, _AT_ONCE))

    async def follow(self) -> None:
        """Append until all records have their rows, a little at a time; to be cancelled when the run ends."""
        rest = _REST_S
        while self._next:
            began, rows = perf_counter(), self._partial.rows
            try:
                self.grow(began + _SLICE_S)
            except (OnetakeError, OSError):
                return
            has_grown = self._partial.rows > rows
            rest = _REST_S if has_grown else min(2 * rest, _LONG_REST_S)
            await asyncio.sleep(max(rest, _SHARE * (perf_counter() - began)))

    def grow(self, until: float = float("inf")) -> None:
        """Append rows up to the first record whose reply is still missing.

        Args:
            until: When to leave off, by `perf_counter`.

        Raises:
            OnetakeError: A row cannot be made.
            OSError: It cannot be written.
        """
        while self._next and perf_counter() < until and self._grow_by_some(until):
            pass
        self._partial.flush()

    def _grow_by_some(self, until: float) -> bool:
        """Append the rows of the next few records; tells whether it came to the end of these."""
        for record in self._resolver.ahead([*self._next]):
            found = self._resolver.resolve(record)
            if isinstance(found, Needed):
                if found.reply.asked.key not in self._in_vain:
                    return False
                found = self._resolver.gave_up(found)
            self._partial.add(record, found)
            self._next.popleft()
            self._next.extend(islice(self._records, 1))
            if perf_counter() >= until:
                return False
        return True
