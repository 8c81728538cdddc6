"""The engine: `begin` says what to do with a request, `judge` what an answer is, `commit` keeps it, `abandon` lets go.

It knows no client and no event loop; adapters do what it says. One engine serves one session, from any thread. Its lock
is never held across a read or write of the disk, nor across a live call.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

from onetake import gate, interactions, misses
from onetake.cassette import Cassette, Damaged, SecretLeftError
from onetake.contract import Contract
from onetake.decide import Action, Found, decide
from onetake.errors import ContractError, NotStored, Refusal, StoreError
from onetake.ledger import Ledger
from onetake.model import Entry, Repeats, Request, Response
from onetake.steps import Asked, Flow, Judged, Live, Policy, Replay, Wait
from onetake.traffic import Route
from onetake.turns import Turn
from onetake.validity import Validity


class Engine:
    """One session's flow from request to response.

    Args:
        policy: What the session goes by.
        cassette: Its entries.
        rejects: Where refused answers are kept aside.
        ledger: Its refusals.
        being_made: Tells whether the cassette is being made, at the moment of asking.
        on_record: Called before each write into the cassette.
        elsewhere: Given a key, names other cassettes that hold it.
    """

    def __init__(
        self,
        policy: Policy,
        cassette: Cassette,
        rejects: Cassette,
        ledger: Ledger,
        *,
        being_made: Callable[[], bool],
        on_record: Callable[[], None],
        elsewhere: Callable[[str], list[str]],
    ) -> None:
        self.policy = policy
        self.cassette = cassette
        self.rejects = rejects
        self.ledger = ledger
        self.closed = False
        self.requests: list[Request] = []
        self.played: list[tuple[str, int]] = []
        self.recorded: list[Entry] = []
        self.rejected: list[Entry] = []
        self.resumed: list[Entry] = []
        self.asked: set[tuple[str, int]] = set()
        """Key and ordinal of all that was asked for, whatever came of it."""
        self._being_made = being_made
        self._on_record = on_record
        self._elsewhere = elsewhere
        self._validity = Validity(policy)
        self._turns: dict[str, Turn] = {}
        self._lock = RLock()  # re-entrant: a stream that is dropped may end in the garbage collector, anywhere

    def passes(self, method: str, url: str) -> bool:
        """Tell whether a request is none of this session's business: it goes out untouched and nothing is written."""
        if decide(self.policy.mode, Found.ABSENT, being_made=False) is Action.PASS:
            return True
        return self.policy.traffic.verdict(method, url) is not Route.INTERACTION

    def begin(
        self, request: Request, flow: Flow, client: str = "", contracts: tuple[Contract, ...] | None = None
    ) -> Replay | Live | Wait:
        """Say what to do with a request.

        Args:
            request: The request as it leaves the client.
            flow: Who asks.
            client: The client and its version, for the provenance: `httpx2 2.16.2`.
            contracts: What the answer must satisfy, where that is not the session's.

        Returns:
            `Replay`: the answer. `Live`: send the request, then `commit(judge(call, response))`, or `abandon(call)` on
            any error. `Wait`: another caller is asking; wait for the future and begin again.

        Raises:
            Refusal: The mode forbids what it would take; the ledger has it.
        """
        if self.closed:
            raise self.refuse(misses.closed(request, self.cassette.place, self.policy))
        asked = self._identify(request, self.policy.contracts if contracts is None else contracts)
        with self._lock:
            turn = self._turns.setdefault(asked.key, Turn())
        step: Replay | Live | Wait | None = None
        try:
            if self.policy.repeats is Repeats.SAME:
                step = self._begin_same(asked, turn, flow, client)
            else:
                step = self._begin_next(asked, turn, flow, client)
        finally:
            if not isinstance(step, Wait):  # a caller that waits begins again
                with self._lock:
                    self.requests.append(request)
        return step

    def judge(self, call: Live, response: Response) -> Judged:
        """Say what an answer is, and make the entry of it. Writes nothing."""
        asked, policy = call.asked, self.policy
        judgement = gate.judge(asked.request, response, asked.contracts, keep=policy.keep, root=policy.root)
        if judgement.kind is gate.Kind.PASS:
            return Judged(call, response, judgement, None)
        return Judged(call, response, judgement, interactions.entry_of(call, response, judgement, policy))

    def commit(self, judged: Judged, *, raising: bool = True) -> Response:
        """Keep what was judged, and end the call. Blocks until it is on disk.

        Args:
            judged: What `judge` returned.
            raising: False where the client's own error is on its way to the caller, so that ours must not replace it.

        Returns:
            The response for the caller: the one that came, or under `repeats="same"` the one that was added first.

        Raises:
            ContractError: The answer is a reject, and rejects raise.
            NotStored: The store could not write it.
        """
        call = judged.call
        if call.ended:
            return judged.response
        try:
            return self._commit(judged, raising=raising)
        except StoreError as error:
            refusal = NotStored(misses.asked_line(call.asked, self.policy), str(error), judged.response)
            self.ledger.write(refusal)
            if not raising:
                return judged.response
            raise self.in_callers_form(refusal) from error
        finally:
            self.abandon(call)

    def abandon(self, call: Live) -> None:
        """End a call without an answer: its ordinal is free again, and those who wait for it begin again."""
        if call.ended:
            return
        call.ended = True
        with self._lock:
            turn = self._turns[call.asked.key]
            turn.let_go(call.ordinal)
            waiting = turn.land(call)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def refuse(self, refusal: Refusal) -> Refusal:
        """Write a refusal into the ledger and return it in the form that the caller's thread can stand."""
        refusal = self.in_callers_form(refusal)
        self.ledger.write(refusal)
        return refusal

    def _identify(self, request: Request, contracts: tuple[Contract, ...]) -> Asked:
        """Find the request's key: as it came, and only where nothing has that key, scrubbed.

        Stored keys are of scrubbed requests: whatever is found under the key of the request as it came has no secret
        in it, so a hit costs no scrubbing.
        """
        keyer = self.policy.keyer
        days = keyer.today()
        asked = Asked(request, contracts, keyer.key(request, days), days, self.policy.scrubber.begin())
        if not self.cassette.ordinals(asked.key):
            asked.scrubbed = asked.scrubbing.request(request)
            asked.key = keyer.key(asked.scrubbed, days)
        return asked

    def _begin_next(self, asked: Asked, turn: Turn, flow: Flow, client: str) -> Replay | Live:
        with self._lock:
            ordinal = turn.hold()
        try:
            step = self._step(asked, ordinal, flow, client)
        except BaseException:
            with self._lock:
                turn.let_go(ordinal)
            raise
        if isinstance(step, Replay):
            with self._lock:
                turn.use(ordinal)
        return step

    def _begin_same(self, asked: Asked, turn: Turn, flow: Flow, client: str) -> Replay | Live | Wait:
        while True:
            with self._lock:
                done = turn.done
                if turn.leader is not None and _waits(flow, turn.leader):
                    return Wait(turn.future)
            if done and (entry := self.cassette.load(asked.key, 0)) and isinstance(entry, Entry):
                return self._replay(entry)
            step = self._step(asked, 0, flow, client)
            if isinstance(step, Replay):
                return step
            with self._lock:
                if turn.leader is None and turn.done == done:
                    turn.lead(step)
                    return step
                if turn.leader is not None and not _waits(flow, turn.leader):
                    return step

    def _step(self, asked: Asked, ordinal: int, flow: Flow, client: str) -> Replay | Live:
        self.asked.add((asked.key, ordinal))
        found, entry = self._look(asked, ordinal)
        action = decide(self.policy.mode, found, being_made=self._being_made())
        if action is Action.REPLAY and isinstance(entry, Entry):
            return self._replay(entry)
        if action is Action.REFUSE:
            raise self.refuse(self._explain(asked, ordinal, found, entry))
        return Live(asked, action, ordinal, flow, client, self.policy.repeats is Repeats.SAME)

    def _look(self, asked: Asked, ordinal: int) -> tuple[Found, Entry | Damaged | None]:
        if pending := self._left_over(asked, ordinal):
            return Found.PENDING, pending
        entry = self.cassette.load(asked.key, ordinal)
        if entry is None:
            stored = self.cassette.ordinals(asked.key)
            return (Found.EXHAUSTED if stored and max(stored) < ordinal else Found.ABSENT), None
        if isinstance(entry, Damaged):
            return Found.UNREADABLE, entry
        if not interactions.answers(entry, asked, self.policy.keyer):
            place = self.cassette.store.locate(asked.key, ordinal)
            return Found.UNREADABLE, Damaged(place, "the request in the file is not the one that its name says")
        return self._validity.of(entry, asked.contracts), entry

    def _left_over(self, asked: Asked, ordinal: int) -> Entry | None:
        """Return what an earlier, failed run of this test left for a request, if it would be valid in the cassette."""
        entry = self.cassette.left_over(asked.key, ordinal)
        if entry is None or entry in self.resumed:
            return entry
        if not interactions.answers(entry, asked, self.policy.keyer):
            return None
        if self._validity.of(entry, asked.contracts) is not Found.VALID:
            return None
        self.cassette.resume(entry)
        self.resumed.append(entry)
        self.ledger.say(f"answered from a run that failed: {misses.asked_line(asked, self.policy)}")
        return entry

    def _replay(self, entry: Entry) -> Replay:
        with self._lock:
            self.played.append((entry.key, entry.ordinal))
        return Replay(entry.response, entry)

    def _explain(self, asked: Asked, ordinal: int, found: Found, entry: Entry | Damaged | None) -> Refusal:
        if isinstance(entry, Damaged):
            return misses.unreadable(entry)
        why = self._validity.why(entry, asked.contracts) if entry else ""
        others = self._elsewhere(asked.key)
        return misses.not_found(asked, found, ordinal, why, self.policy, self.cassette, set(self.played), others)

    def _commit(self, judged: Judged, *, raising: bool) -> Response:
        kind, entry = judged.judgement.kind, judged.entry
        if entry is None:
            return judged.response
        if kind is gate.Kind.REJECT:
            return self._reject(judged, entry, raising=raising)
        try:
            self._on_record()
            written = self._write(judged.call, entry)
        except SecretLeftError as error:
            return self._reject(judged, interactions.without_secret(entry, error.args[0]), raising=raising)
        if judged.judgement.note:
            self.ledger.say(f"{judged.judgement.note}: {misses.asked_line(judged.call.asked, self.policy)}")
        return judged.response if written is None else written

    def _write(self, call: Live, entry: Entry) -> Response | None:
        """Write an entry under the ordinal that its answer claims; returns a response only where another one won."""
        side = interactions.schema_of(entry, call.asked.contracts)
        if call.shared:
            return self._write_shared(call, entry, side)
        key, turn = entry.key, self._turns[entry.key]
        while True:
            with self._lock:
                if call.action is Action.REPLACE:
                    ordinal = turn.claim_over(call.ordinal)
                else:
                    ordinal = turn.claim_free(lambda number: self.cassette.has(key, number))
            entry = interactions.under(entry, ordinal)
            try:
                if call.action is Action.REPLACE:
                    self.cassette.put(entry, side)
                elif not self.cassette.add(entry, side):
                    continue
            except BaseException:
                with self._lock:
                    turn.unuse(ordinal)
                raise
            self.recorded.append(entry)
            return None

    def _write_shared(self, call: Live, entry: Entry, side: dict[str, bytes]) -> Response | None:
        turn = self._turns[entry.key]
        entry = interactions.under(entry, 0)
        if not turn.done and call.action is Action.REPLACE:
            self.cassette.put(entry, side)
        elif turn.done or not self.cassette.add(entry, side):
            turn.done = True
            winner = self.cassette.load(entry.key, 0)
            return winner.response if isinstance(winner, Entry) else None
        turn.done = True
        self.recorded.append(entry)
        return None

    def _reject(self, judged: Judged, entry: Entry, *, raising: bool) -> Response:
        """Keep a refused answer aside, and say so: it is paid for, and it is never replayed."""
        try:
            place = self._set_aside(entry, judged.call)
        except SecretLeftError as error:
            entry = interactions.without_secret(entry, error.args[0])
            place = self._set_aside(entry, judged.call)
        kind = entry.verdict.partition(":")[2]
        name = entry.contract.name if entry.contract else ""
        asked = misses.asked_line(judged.call.asked, self.policy)
        refusal = ContractError(kind, asked, entry.violations, entry.response, place, name)
        if raising and self.policy.on_reject == "raise":
            raise self.refuse(refusal)
        self.ledger.say(str(refusal))
        return judged.response

    def _set_aside(self, entry: Entry, call: Live) -> str:
        while not self.rejects.add(entry, interactions.schema_of(entry, call.asked.contracts)):
            entry = interactions.under(entry, entry.ordinal + 1)
        self.rejected.append(entry)
        return self.rejects.store.locate(entry.key, entry.ordinal)

    def in_callers_form(self, refusal: Refusal) -> Refusal:
        """Return a refusal as its thread can stand it: pool workers hang on what is no `Exception`."""
        return refusal.as_exception() if misses.in_pool_worker() else refusal


def _waits(flow: Flow, leader: Live) -> bool:
    """Tell whether a caller waits for a call in flight: not if it leads that call, or its thread carries the loop."""
    return flow.may_wait and leader.flow.who != flow.who
