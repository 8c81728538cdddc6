"""The refusals that the engine raises, with everything a person needs to mend them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress

from onetake import dialects, explain
from onetake.cassette import Cassette, Damaged
from onetake.decide import Found
from onetake.errors import FormatError, InteractionNotFound, StoreError, UnreadableEntry
from onetake.explain import Candidate
from onetake.key import Keyer
from onetake.model import Entry, Request
from onetake.printable import one_line
from onetake.steps import Asked, Policy

_REASONS = {
    Found.ABSENT: "no interaction is stored for this request",
    Found.STALE: "the stored interaction is stale",
    Found.UNKEPT: "the stored answer is of a kind that this session does not keep",
    Found.EXPIRED: "the stored interaction is too old",
    Found.PENDING: "the stored answer waits for its test to pass",
}
_MOST_CANDIDATES = 200
"""Entries that are compared for the nearest one: reading more would make a miss slow, not clearer."""


def closed(request: Request, place: str, policy: Policy) -> InteractionNotFound:
    """Make the refusal of a call that comes after its session has ended."""
    asked = policy.scrubber.begin().request(request)
    return InteractionNotFound(
        f"the session on {place} has ended",
        _line(asked, policy),
        "",
        "",
        "wait for every call, task and thread before the session's block ends",
    )


def unreadable(entry: Damaged) -> UnreadableEntry:
    """Make the refusal of an entry that is there and cannot be read."""
    return UnreadableEntry(
        entry.place,
        one_line(entry.why, 400),
        "restore the file from git, or delete it and record the interaction again",
    )


def unreachable(place: str, error: StoreError) -> UnreadableEntry:
    """Make the refusal of a request whose cassette cannot be looked into."""
    return UnreadableEntry(place, one_line(str(error), 400), "make the cassette's folder readable")


def not_found(
    asked: Asked,
    found: Found,
    ordinal: int,
    why: str,
    policy: Policy,
    cassette: Cassette,
    played: set[tuple[str, int]],
    elsewhere: Sequence[str],
) -> InteractionNotFound:
    """Make the refusal of a request that has no valid entry in this mode, with the nearest one and the way out."""
    request = _scrubbed(asked)
    if found is Found.EXHAUSTED:
        recorded = len(cassette.ordinals(asked.key))
        reason = f"this request was asked {_times(ordinal + 1)} and recorded {_times(recorded)}"
    else:
        reason = _REASONS[found]
    near = why if why else _nearest(asked, policy.keyer, cassette, played)
    if elsewhere:
        near += ("\n" if near else "") + "the same request is stored in " + ", ".join(elsewhere)
        if policy.test and cassette.was_empty:
            near += f"\nif this test was renamed, rename that folder to {cassette.place}"
    looked = cassette.place + (" (empty)" if cassette.was_empty else "")
    mend = explain.remedy(
        policy.mode,
        found,
        pytest_node=policy.test or None,
        cassette=cassette.place,
        empty=cassette.was_empty,
        sealed=os.environ.get("ONETAKE_MODE") in ("none", "replay"),
    )
    return InteractionNotFound(reason, _line(request, policy), looked, near, mend)


def left_early(entry: Entry, policy: Policy) -> InteractionNotFound:
    """Make the refusal of reading on where the caller of the recorded call had left the stream."""
    return InteractionNotFound(
        f"the stream ends here: when it was recorded its caller left after {len(entry.response.body)} bytes",
        _line(entry.request, policy),
        "",
        "",
        "record it again and read it to its end",
    )


def asked_line(asked: Asked, policy: Policy) -> str:
    """Return the request in one printable line, without its secrets."""
    return _line(_scrubbed(asked), policy)


def in_pool_worker() -> bool:
    """Tell whether this thread, or this process's main thread, is a `multiprocessing.pool` worker."""
    pool = sys.modules.get("multiprocessing.pool")
    if pool is None:
        return False
    process = sys.modules["multiprocessing.process"].current_process()
    targets = (getattr(threading.current_thread(), "_target", None), getattr(process, "_target", None))
    return pool.worker in targets


def _line(request: Request, policy: Policy) -> str:
    dialect = dialects.find(request.method, request.url)
    return explain.asked_line(request, dialect.model_asked(request) if dialect else None)


def _scrubbed(asked: Asked) -> Request:
    if asked.scrubbed is None:
        asked.scrubbed = asked.scrubbing.request(asked.request)
    return asked.scrubbed


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _nearest(asked: Asked, keyer: Keyer, cassette: Cassette, played: set[tuple[str, int]]) -> str:
    candidates = []
    for _, _, entry in cassette.all():
        if isinstance(entry, Entry):
            with suppress(FormatError):  # its key rules are damaged: then it cannot be compared
                candidates.append(_candidate(entry, cassette, played))
        if len(candidates) == _MOST_CANDIDATES:
            break
    found = explain.nearest(keyer.parts(_scrubbed(asked), asked.days), candidates)
    return explain.describe(*found) if found else ""


def _candidate(entry: Entry, cassette: Cassette, played: set[tuple[str, int]]) -> Candidate:
    keyer, days = Keyer.from_spec(entry.key_spec.rules)
    origin = entry.provenance
    return Candidate(
        parts=keyer.parts(entry.request, days),
        place=cassette.store.locate(entry.key, entry.ordinal),
        ordinal=entry.ordinal,
        played=(entry.key, entry.ordinal) in played,
        recorded_at=str(origin.get("recorded_at", "")),
        commit=str(origin.get("commit", "")),
        test=str(origin.get("test", "")),
    )
