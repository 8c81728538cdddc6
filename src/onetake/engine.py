"""The engine: `begin` says what to do with a request, `judge` what an answer is, `commit` keeps it, `abandon` lets go.

It knows no client and no event loop; adapters do what it says. One engine serves one session, from any thread. No lock
is held across a live call, and only `repeats="same"` holds one across a write: that of its own key.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock

from onetake import gate, interactions, misses
from onetake.cassette import Cassette, Damaged
from onetake.contract import Contract
from onetake.decide import Action, Found, decide
from onetake.errors import ContractError, FormatError, NotStored, Refusal, StoreError
from onetake.keeping import Keeper
from onetake.ledger import Ledger
from onetake.model import Entry, Repeats, Request, Response
from onetake.printable import one_line
from onetake.steps import Asked, Flow, Judged, Live, Policy, Replay, Wait
from onetake.traffic import Route, looks_like_llm
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

    Raises:
        UsageError: A file that a contract watches is not there.
    """

    softly = False
    """Of all engines: True while pytest tears a test down, which stops at any error that is no `Exception`."""

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
        self._check_watched(policy.contracts)
        self.cassette = cassette
        self.ledger = ledger
        self.closed = False
        self.requests: list[Request] = []
        self.played: list[tuple[str, int]] = []
        self.resumed: list[Entry] = []
        self.asked: set[tuple[str, int]] = set()
        """Key and ordinal of all that was asked for, whatever came of it."""
        self._being_made = being_made
        self._keeper = Keeper(policy, cassette, rejects, ledger, on_record)
        self._elsewhere = elsewhere
        self._validity = Validity(policy)
        self._turns: dict[str, Turn] = {}
        self._warned: set[tuple[str, str]] = set()
        self._lock = RLock()  # re-entrant: a stream that is dropped may end in the garbage collector, anywhere

    @property
    def recorded(self) -> list[Entry]:
        """The entries that were written."""
        return self._keeper.recorded

    @property
    def rejected(self) -> list[Entry]:
        """The answers that the gate refused."""
        return self._keeper.rejected

    def passes(self, method: str, url: str) -> bool:
        """Tell whether a request is none of this session's business: it goes out untouched and nothing is written."""
        if decide(self.policy.mode, Found.ABSENT, being_made=False) is Action.PASS:
            return True
        if self.policy.traffic.verdict(method, url) is Route.INTERACTION:
            return False
        self._warn_of_model_call(method, url)
        return True

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
            UsageError: A file that one of *contracts* watches is not there.
        """
        if self.closed:
            raise self.refuse(misses.closed(request, self.cassette.place, self.policy))
        ask = self._same if self.policy.repeats is Repeats.SAME else self._next
        step = None
        if contracts is not None:
            self._check_watched(contracts)
        try:
            asked = self._identify(request, self.policy.contracts if contracts is None else contracts)
            step = ask(asked, self._turn(asked.key), flow, client)
        except StoreError as error:
            raise self.refuse(misses.unreachable(self.cassette.place, error)) from error
        finally:
            if not isinstance(step, Wait):  # who waits will ask again
                self._note(request, step)
        return step

    def judge(self, call: Live, response: Response) -> Judged:
        """Say what an answer is, and make the entry of it. Writes nothing.

        Raises:
            NotStored: What judges (a contract's own code, a dialect) broke on this answer.
        """
        asked, policy = call.asked, self.policy
        try:
            judgement = gate.judge(asked.request, response, asked.contracts, keep=policy.keep, root=policy.root)
            passes = judgement.kind is gate.Kind.PASS
            entry = None if passes else interactions.entry_of(call, response, judgement, policy)
        except Exception as error:  # an SDK would ask, and pay, again
            raise self._not_stored(call, response, f"{type(error).__name__}: {error}") from error
        return Judged(call, response, judgement, entry)

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
        if not self._end(judged.call):
            return judged.response
        try:
            return self._kept(judged, raising=raising)
        except ContractError as error:
            raise self.refuse(error) from None
        except (StoreError, FormatError, OSError) as error:
            refusal = self._not_stored(judged.call, judged.response, str(error))
            if not raising:
                return judged.response
            raise refusal from error
        finally:
            self._turn(judged.call.asked.key).land(judged.call)

    def abandon(self, call: Live) -> None:
        """End a call without an answer: its ordinal is free again, and those who wait for it begin again."""
        if self._end(call):
            self._turn(call.asked.key).land(call)

    def refuse(self, refusal: Refusal) -> Refusal:
        """Write a refusal into the ledger and return it in the form that the caller's thread can stand."""
        refusal = self.in_callers_form(refusal)
        self.ledger.write(refusal)
        return refusal

    def _not_stored(self, call: Live, response: Response, why: str) -> Refusal:
        return self.refuse(NotStored(misses.asked_line(call.asked, self.policy), one_line(why, 400), response))

    def _check_watched(self, contracts: tuple[Contract, ...]) -> None:
        """Say before anything is asked and paid for that a file which a contract watches is not there."""
        for contract in contracts:
            contract.ref(self.policy.root)

    def _identify(self, request: Request, contracts: tuple[Contract, ...]) -> Asked:
        """Find the request's key: as it came, and only where nothing has that key, scrubbed.

        Stored keys are of scrubbed requests: whatever is found under the key of the request as it came has no secret
        in it, so a hit costs no scrubbing. Rules of the project's own may be younger than the entries, so under those
        an entry of the scrubbed request goes first.
        """
        keyer, scrubber = self.policy.keyer, self.policy.scrubber
        days = keyer.today()
        asked = Asked(request, contracts, keyer.key(request, days), days, scrubber.begin())
        stored = self.cassette.ordinals(asked.key)
        if not stored or scrubber.declared or scrubber.patterns:
            asked.scrubbed = asked.scrubbing.request(request)
            key = keyer.key(asked.scrubbed, days)
            if not stored or self.cassette.ordinals(key):
                asked.key = key
        return asked

    def _next(self, asked: Asked, turn: Turn, flow: Flow, client: str) -> Replay | Live:
        """Answer with the key's next entry: no two callers get the same one."""
        while True:
            ordinal = turn.hold()
            try:
                step = self._step(asked, ordinal, flow, client)
            except BaseException:
                turn.let_go(ordinal)
                raise
            if isinstance(step, Live) or turn.use(ordinal):
                return step

    def _same(self, asked: Asked, turn: Turn, flow: Flow, client: str) -> Replay | Live | Wait:
        """Answer everyone with the key's one entry; who asks while it is made waits for it."""
        while True:
            done = turn.done
            if (future := turn.awaited(flow)) is not None:
                return Wait(future)
            if done and isinstance(entry := self.cassette.load(asked.key, 0), Entry):
                return Replay(entry.response, entry)
            step = self._step(asked, 0, flow, client)
            if isinstance(step, Replay) or turn.take_off(step, done=done):
                return step

    def _step(self, asked: Asked, ordinal: int, flow: Flow, client: str) -> Replay | Live:
        self.asked.add((asked.key, ordinal))
        found, entry = self._look(asked, ordinal)
        action = decide(self.policy.mode, found, being_made=self._being_made())
        if action is Action.REPLAY and isinstance(entry, Entry):
            return Replay(entry.response, entry)
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
        if why := interactions.mismatch(entry, asked, self.policy.keyer):
            return Found.UNREADABLE, Damaged(self.cassette.store.locate(asked.key, ordinal), why)
        return self._validity.of(entry, asked.contracts), entry

    def _left_over(self, asked: Asked, ordinal: int) -> Entry | None:
        """Return what an earlier, failed run of this test left for a request, if it would be valid in the cassette."""
        entry = self.cassette.left_over(asked.key, ordinal)
        if entry is None or entry in self.resumed:
            return entry
        if interactions.mismatch(entry, asked, self.policy.keyer):
            return None
        if self._validity.of(entry, asked.contracts) is not Found.VALID:
            return None
        self.cassette.resume(entry)
        self.resumed.append(entry)
        self.ledger.say(f"answered from a run that failed: {misses.asked_line(asked, self.policy)}")
        return entry

    def _warn_of_model_call(self, method: str, url: str) -> None:
        """Say, once a place, that a call which goes out untouched looks like one that should be recorded."""
        place = url.partition("?")[0]
        if not looks_like_llm(method, place):
            return
        with self._lock:
            if (method, place) in self._warned:
                return
            self._warned.add((method, place))
        self.ledger.say(looks_like_llm(method, self.policy.scrubber.begin().request(Request(method, place)).url))

    def _note(self, request: Request, step: Replay | Live | None) -> None:
        with self._lock:
            self.requests.append(request)
            if isinstance(step, Replay):
                self.played.append((step.entry.key, step.entry.ordinal))
        if isinstance(step, Replay) and (old := self._validity.warning(step.entry)):
            self.ledger.say(old)

    def _turn(self, key: str) -> Turn:
        with self._lock:
            if key not in self._turns:
                self._turns[key] = Turn()
            return self._turns[key]

    def _end(self, call: Live) -> bool:
        """Tell whether this is a call's one end; a stream that is read out and closed at once comes here twice."""
        with self._lock:
            ended, call.ended = call.ended, True
        return not ended

    def _kept(self, judged: Judged, *, raising: bool) -> Response:
        if (entry := judged.entry) is None:
            return judged.response
        return self._keeper.keep(judged, entry, self._turn(entry.key), raising=raising)

    def _explain(self, asked: Asked, ordinal: int, found: Found, entry: Entry | Damaged | None) -> Refusal:
        if isinstance(entry, Damaged):
            return misses.unreadable(entry)
        why = self._validity.why(entry, asked.contracts) if entry else ""
        others = self._elsewhere(asked.key)
        return misses.not_found(asked, found, ordinal, why, self.policy, self.cassette, set(self.played), others)

    def in_callers_form(self, refusal: Refusal) -> Refusal:
        """Return a refusal as its thread can stand it: pool workers hang on what is no `Exception`."""
        return refusal.as_exception() if Engine.softly or misses.in_pool_worker() else refusal
