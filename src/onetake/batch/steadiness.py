"""A record makes the same request each time: a reply is found by its request alone, and would be paid for again."""

from __future__ import annotations

from onetake.batch.records import Record
from onetake.batch.resolving import Needed, Resolver
from onetake.compare import differences
from onetake.errors import StoreError, UsageError
from onetake.key import Keyer


class Steadiness:
    """Stops a run whose function makes another request for a record whenever it is called.

    Args:
        resolver: Calls it.
        keyer: Says what of a request counts.
    """

    def __init__(self, resolver: Resolver, keyer: Keyer) -> None:
        self._resolver = resolver
        self._keyer = keyer
        self._is_tried = False

    def check_first(self, record: Record, needed: Needed) -> None:
        """Have the first request of a run made once more, before anything is sent.

        Raises:
            UsageError: It is another one.
        """
        if self._is_tried:
            return
        self._is_tried = True
        now = self._resolver.resolve(record)
        if isinstance(now, Needed) and len(now.keys) == len(needed.keys) and not _are_same(needed, now):
            raise self._unsteady(needed, now)

    def check_led_on(self, before: Needed, now: Needed) -> None:
        """See that the reply to a request brought its record forward.

        Args:
            before: What was asked, and has its reply.
            now: What the record needs with it.

        Raises:
            StoreError: That reply does not count.
            UsageError: The request is another one now, so that nothing finds that reply.
        """
        if len(now.keys) > len(before.keys):
            return
        if _are_same(before, now):
            raise StoreError(f"line {now.line}: the reply that was just stored does not count: {now.reply.why}")
        raise self._unsteady(before, now)

    def _unsteady(self, before: Needed, now: Needed) -> UsageError:
        was, found = (self._keyer.parts(one.reply.asked.scrubbed, one.reply.asked.days) for one in (before, now))
        first = differences(found, was, 1)
        how = (
            f": {first[0].path} was {first[0].stored or 'not there'}, and is {first[0].asked or 'not there'}"
            if first
            else ""
        )
        return UsageError(
            f"line {now.line}: the function makes another request each time{how}; let it follow from the record alone, "
            "as a reply is found by its request"
        )


def _are_same(one: Needed, other: Needed) -> bool:
    return one.reply.asked.key == other.reply.asked.key
