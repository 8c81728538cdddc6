"""The refusals that the engine raises, with everything a person needs to mend them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from onetake import asked_lines, dialects, explain, key_specs, modes
from onetake.cassette import Cassette, Damaged
from onetake.decide import Found, refuses
from onetake.errors import InteractionNotFound, StoreError, UnreadableEntry
from onetake.explain import Candidate
from onetake.format.sidecar import without_remedy
from onetake.imported import imported_from
from onetake.key import Keyer, stored_days
from onetake.lookup import Looked
from onetake.model import Entry, Mode, Request, header
from onetake.preparing import BrokenFunctionError
from onetake.printable import one_line
from onetake.quoting import quoted
from onetake.steps import Asked, Policy
from onetake.stores.naming import Slot
from onetake.validity import is_under_another

_REASONS = {
    Found.ABSENT: "no interaction is stored for this request",
    Found.STALE: "the stored interaction is stale",
    Found.UNKEPT: "the stored answer is not for this session",
    Found.EXPIRED: "the stored interaction is too old",
    Found.PENDING: "the stored answer waits for its test to pass",
}

_IN_A_CHILD = (
    "make this call in the session's own process while it records,\n"
    "or give the contract as a JSON schema, with a word for its `on`: a child can judge that"
)
_NO_MODEL = (
    "or, as it speaks no known API of a model, name its host: `ignore` lets it out, `quiet` refuses it without a word"
)


class Misses:
    """What one session says where its cassette has no answer.

    Args:
        policy: What the session goes by.
        cassette: Its entries.
        elsewhere: Given a key, names other cassettes that hold it.
        passed: Tells which of some entries another one has taken the place of, by key and ordinal.
    """

    def __init__(
        self,
        policy: Policy,
        cassette: Cassette,
        elsewhere: Callable[[str], Sequence[str]],
        passed: Callable[[Sequence[Entry]], Collection[Slot]],
    ) -> None:
        self._policy = policy
        self._cassette = cassette
        self._elsewhere = elsewhere
        self._passed = passed

    def closed(self, request: Request) -> InteractionNotFound:
        """Make the refusal of a call that comes after its session has ended."""
        return InteractionNotFound(
            f"the session on {self._cassette.place} has ended",
            line_of(request, self._policy),
            "",
            "",
            "wait for every call, task and thread before the session's block ends",
        )

    def unprepared(self, request: Request, error: BrokenFunctionError | None = None) -> InteractionNotFound:
        """Make the refusal of a request that the suite's own function broke on, or left out too late to let it pass.

        Args:
            request: The request.
            error: Says what broke; None where the function left the request out.
        """
        why = "the suite's own before_record_request leaves this request out, and not by its method and URL alone"
        remedy = "name its host or path in `ignore`, which lets it out"
        if error is not None:
            why, remedy = one_line(str(error), 400), error.remedy
        elif by := self._policy.traffic.withheld(request.method, request.url):
            why = f"the suite's {by} leaves out a call to a model, and a sealed session lets none out by that"
            remedy = f"take it out of {by}, so that it is recorded and replayed; or {remedy}, sealed too"
        return InteractionNotFound(why, line_of(request, self._policy), "", "", remedy)

    def web_socket(self, request: Request) -> InteractionNotFound:
        """Make the refusal of a web socket, in every mode: live it would go by unseen, and nothing can replay it."""
        return InteractionNotFound(
            "a web socket cannot be recorded",
            line_of(request, self._policy),
            "",
            "",
            "leave it out of the session (`ignore`), or record a function of your own around it",
        )

    def unreachable(self, error: StoreError) -> UnreadableEntry:
        """Make the refusal of a request whose cassette cannot be looked into."""
        return UnreadableEntry(self._cassette.place, one_line(str(error), 400), "make the cassette's folder readable")

    def refused(self, looked: Looked, why: str, played: set[tuple[str, int]]) -> InteractionNotFound | UnreadableEntry:
        """Make the refusal of a request that has no valid entry in this mode, with the way out.

        Args:
            looked: What there is for it.
            why: Why the entry that is there is not valid: the reason in one line, then what it breaks; else empty.
            played: Key and ordinal of what this session has given out.

        Returns:
            Of an entry that is there, which one and who recorded it; where there is none, the nearest and how it
            differs.
        """
        if isinstance(looked.entry, Damaged):
            mending = "\n".join(self._remedies(looked)).replace("\n", "\n    ")
            return UnreadableEntry(looked.entry.place, one_line(without_remedy(looked.entry.why), 400), mending)
        cassette, asked = self._cassette, looked.asked
        headline, _, broken = why.partition("\n")
        anew = free = ""
        if isinstance(looked.entry, Entry) and why:
            near = explain.identify(_candidate(looked.entry, cassette, played, {})) + (f"\n{broken}" if broken else "")
        else:
            near, anew, free = self._nearest(asked, played)
        refusal = InteractionNotFound(
            self._reason(looked) + (f", as {headline}" if headline else ""),
            asked_line(asked),
            cassette.place + (" (empty)" if cassette.was_empty else ""),
            "\n".join(filter(None, [near, *self._others(asked.key)])),
            anew or "\n".join(filter(None, [free, *self._remedies(looked)])),
        )
        refusal.recordable = not (anew or free or self._policy.unrecorded or refuses(Mode.NEW_EPISODES, looked.found))
        return refusal

    def _reason(self, looked: Looked) -> str:
        reason = looked.reason or _REASONS.get(looked.found, "")
        if looked.reason:
            return reason
        if looked.found is Found.EXHAUSTED:
            recorded = len(self._cassette.ordinals(looked.asked.key))
            reason = f"this request was asked {_times(looked.ordinal + 1)} and recorded {_times(recorded)}"
        elif looked.found is Found.ABSENT and (stored := self._cassette.ordinals(looked.asked.key)):
            there = next((ordinal for ordinal in sorted(stored) if ordinal > looked.ordinal), max(stored))
            reason = f"answer number {looked.ordinal} to this request is missing, and number {there} is there"
        if self._policy.unrecorded:
            reason += f", and this child process {self._policy.unrecorded}, so it records nothing"
        return reason

    def _others(self, key: str) -> list[str]:
        others = self._elsewhere(key)
        if not others:
            return []
        lines = [explain.stored_in(others)]
        if self._policy.is_program and modes.is_run():
            lines.append(f"`--cassette {quoted(others[0])}` replays it")
        if self._policy.test and self._cassette.was_empty:
            lines.append(explain.renamed(self._cassette.place))
        return lines

    def _remedies(self, looked: Looked) -> Iterator[str]:
        if self._policy.unrecorded:
            yield _IN_A_CHILD
        else:
            yield explain.remedy(
                self._policy.mode,
                looked.found,
                pytest_node=self._policy.node or self._policy.test or None,
                cassette=self._cassette.place,
                empty=self._cassette.was_empty,
                sealed=modes.sealed_by_environment(),
                by_ci=self._policy.mode_by == "CI",
                switch=modes.switch(self._policy.mode_by),
                fixed_in=fixed_in(self._policy),
            )
        request = looked.asked.request
        if looked.found in (Found.ABSENT, Found.EXHAUSTED) and dialects.find(request.method, request.url) is None:
            yield _NO_MODEL

    def _nearest(self, asked: Asked, played: set[tuple[str, int]]) -> tuple[str, str, str]:
        """Return what the nearest entry is; how it is imported anew where that is enough; what else mends it unpaid."""
        parts = self._policy.keyer.parts(asked.scrubbed, asked.days)
        found = explain.nearest(parts, self._candidates(asked, played))
        near = explain.describe(*found, self._policy.prefix) if found else ""
        return (near, explain.import_anew(*found), explain.key_anew(found[0])) if found else ("", "", "")

    def _candidates(self, asked: Asked, played: set[tuple[str, int]]) -> Iterator[Candidate]:
        """Read the entries that a request may be compared with, and no more."""
        sound = (entry for _, _, entry in self._cassette.all() if isinstance(entry, Entry))
        entries = list(islice(sound, explain.CANDIDATES))
        passed = self._passed(entries)
        for entry in entries:
            if (found := self._candidate(entry, asked, played)) is not None:
                yield replace(found, is_passed=(entry.key[:16], entry.ordinal) in passed)

    def _candidate(self, entry: Entry, asked: Asked, played: set[tuple[str, int]]) -> Candidate | None:
        found = candidate(entry, self._cassette, played, self._policy.keyer)
        if found is None or self._is_outdated(entry, asked):
            return found and replace(found, is_outdated=True)
        other = is_under_another(entry, asked.contracts)
        return replace(found, lacks_headers_of=self._lacks_headers_of(entry), is_under_another=other)

    def _lacks_headers_of(self, entry: Entry) -> str:
        """Return the file that an entry was imported from, where today's key takes in more headers than then."""
        came, kept = imported_from(entry), entry.key_spec.rules.get("headers", [])
        counted = self._policy.keyer.spec().get("headers", [])
        is_less = isinstance(kept, list) and any(name not in kept for name in counted)
        return came.file if came and is_less and (self._policy.root / came.file).is_file() else ""

    def _is_outdated(self, entry: Entry, asked: Asked) -> bool:
        """Tell whether today's recipe and key rules give an entry the key that is asked, which its own did not."""
        spec, keyer = entry.key_spec, self._policy.keyer
        days = stored_days(spec.rules)
        if entry.key == asked.key or key_specs.current(keyer.spec(days or None)) == spec:
            return False
        return keyer.key(entry.request, days or asked.days) == asked.key


def left_early(entry: Entry, policy: Policy) -> InteractionNotFound:
    """Make the refusal of reading on where the caller of the recorded call had left the stream."""
    again = explain.command(Mode.ALL, policy.node or policy.test or None, modes.switch(policy.mode_by))
    return InteractionNotFound(
        f"the stream ends here: when it was recorded its caller left after {len(entry.response.body)} bytes",
        _line(entry.request),
        "",
        "",
        "\n".join([*explain.freed(fixed_in(policy)), f"record it again and read it to its end: {again}"]),
    )


def fixed_in(policy: Policy) -> str:
    """Return where vcrpy's `record_mode` says a session's mode, which no flag changes; empty where it does not."""
    return policy.mode_by if policy.mode_by in modes.VCR_PLACES else ""


def asked_line(asked: Asked) -> str:
    """Return a request that was looked up in one printable line, without its secrets."""
    return _line(asked.scrubbed)


def line_of(request: Request, policy: Policy) -> str:
    """Return any request, as it left its client, in one printable line, without its secrets."""
    return _line(policy.scrubber.begin().request(request))


def is_web_socket(request: Request) -> bool:
    """Tell whether a request opens a web socket: by its scheme, or as an upgrade of HTTP/1.1."""
    upgrade = header(request.headers, "upgrade") or ""
    return request.url.partition(":")[0].lower() in ("ws", "wss") or "websocket" in upgrade.lower()


def in_pool_worker() -> bool:
    """Tell whether this thread, or this process's main thread, is a `multiprocessing.pool` worker."""
    pool = sys.modules.get("multiprocessing.pool")
    if pool is None:
        return False
    process = sys.modules["multiprocessing.process"].current_process()
    targets = (getattr(threading.current_thread(), "_target", None), getattr(process, "_target", None))
    return pool.worker in targets


def _line(request: Request) -> str:
    dialect = dialects.find(request.method, request.url)
    return asked_lines.asked_line(request, dialect.model_asked(request) if dialect else None)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def candidate(entry: Entry, cassette: Cassette, played: set[tuple[str, int]], keyer: Keyer) -> Candidate | None:
    """Return what a request may be compared with; None where an entry's key rules are damaged, so that it cannot be.

    It is compared under the rules of today: its own come with the file, and a pattern may be made to run for ever.

    Args:
        entry: It may have answered.
        cassette: The entry's.
        played: The entries that answered in this session, by key and ordinal.
        keyer: Of today.
    """
    try:
        days = stored_days(entry.key_spec.rules)
    except (TypeError, ValueError):
        return None
    return _candidate(entry, cassette, played, keyer.parts(entry.request, days or None))


def _candidate(entry: Entry, cassette: Cassette, played: set[tuple[str, int]], parts: Mapping[str, Any]) -> Candidate:
    origin = entry.provenance
    return Candidate(
        parts=parts,
        place=cassette.store.locate(entry.key, entry.ordinal),
        ordinal=entry.ordinal,
        played=(entry.key, entry.ordinal) in played,
        recorded_at=str(origin.get("recorded_at", "")),
        commit=str(origin.get("commit", "")),
        test=str(origin.get("test", "")),
    )
