"""The engine: `begin` says what to do with a request, `judge` what an answer is, `commit` keeps it, `abandon` lets go.

It knows no client and no event loop; adapters do what it says. One engine serves one session, from any thread. No lock
is held across a live call, and only `repeats="same"` holds one across a write: that of its own key.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from onetake import forking, misses
from onetake.answering import Answering
from onetake.by_url import Loose, loose_note
from onetake.cassette import Cassette
from onetake.contract import Contract
from onetake.decide import Action, Found, decide, reads_nothing
from onetake.errors import ContractError, Refusal, StoreError
from onetake.flights import Flights, Names
from onetake.imported import is_loose
from onetake.keeping import Keeper, not_stored
from onetake.ledger import Ledger, is_soft
from onetake.legacy import Legacy
from onetake.lookup import Looked, Lookup
from onetake.model import Entry, Repeats, Request, Response
from onetake.passing import Passing
from onetake.preparing import BrokenFunctionError
from onetake.steps import Asked, Flow, Judged, Live, Policy, Replay, Wait
from onetake.stores.naming import Slot
from onetake.turns import Turn, Turns


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
        passed: Tells which of some entries another one has taken the place of, by key and ordinal.
        on_miss: Called with what was found for a request that is refused, and the refusal.
        names: Opens the keys that are asked by all who share the cassette, where one answer serves all.

    Raises:
        UsageError: A file that a contract watches is not there.
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
        passed: Callable[[Sequence[Entry]], Collection[Slot]] = lambda _: (),
        on_miss: Callable[[Looked, Refusal], None] = lambda *_: None,
        names: Callable[[], Names] | None = None,
    ) -> None:
        self.policy = policy
        self._reads_nothing = reads_nothing(policy.mode)
        self._check_watched(policy.contracts)
        self.cassette = cassette
        self.ledger = ledger
        self.closed = False
        self.requests: list[Request] = []
        self.played: list[tuple[str, int]] = []
        self.resumed: list[Entry] = []
        self.asked: set[tuple[str, int]] = set()
        """Key and ordinal of all that was asked for, whatever came of it."""
        self.rivals: set[str] = set()
        """Other tools that answer for a client and were started within this session."""
        self._being_made = being_made
        self._on_miss = on_miss
        self._lookup = Lookup(policy, cassette)
        self.legacy = Legacy(policy, cassette, self._lookup.validity, ledger)
        """What answers by vcrpy's rule, where the session goes by that."""
        self._loose = Loose(policy, cassette, self._lookup.validity)
        self._misses = misses.Misses(policy, cassette, elsewhere, passed)
        self._turns = Turns()
        keeper = Keeper(policy, cassette, rejects, ledger, self._turns.of, on_record)
        self.recorded, self.rejected, self.outrun = keeper.recorded, keeper.rejected, keeper.outrun
        self._answering = Answering(policy, keeper, ledger)
        self.unanswered = self._answering.unanswered
        self._passing = Passing(policy, ledger)
        self.flights = Flights(names)
        self._lock = forking.Lock()  # re-entrant: a stream that is dropped may end in the garbage collector, anywhere

    def passes(self, method: str, url: str) -> bool:
        """Tell whether a request is none of this session's business: it goes out untouched and nothing is written."""
        return self._reads_nothing or self._passing.passes(method, url)

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
            raise self.refuse(self._misses.closed(request))
        if misses.is_web_socket(request):
            raise self.refuse(self._misses.web_socket(request))
        ask = self._same if self.policy.repeats is Repeats.SAME else self._next
        step: Replay | Live | Wait | None = None
        if contracts is not None:
            self._check_watched(contracts)
        try:
            request = self._prepared(request)
            asked = self._lookup.identify(request, self.policy.contracts if contracts is None else contracts)
            if self.legacy.is_on:
                step = self._replayed(*self.legacy.look(asked))
            else:
                step = ask(asked, self._turns.of(asked.key), flow, client)
        except StoreError as error:
            raise self.refuse(self._misses.unreachable(error)) from error
        except BrokenFunctionError as error:  # an SDK would ask again
            raise self.refuse(self._misses.unprepared(request, error)) from error
        finally:
            if not isinstance(step, Wait):  # who waits will ask again
                self._note(request, step)
        return step

    def judge(self, call: Live, response: Response) -> Judged:
        """Say what an answer is; pure, see `Answering.judge`."""
        return self._answering.judge(call, response)

    def commit(self, judged: Judged, *, raising: bool = True) -> Response:
        """Keep what was judged, and end the call. Blocks until it is on disk.

        Args:
            judged: What `judge` returned.
            raising: False where the client's own error is on its way to the caller, so that ours must not replace it.

        Returns:
            The response for the caller: the one that came, or under `repeats="same"` the one that was added first.

        Raises:
            ContractError: The answer is a reject, and rejects raise.
            NotStored: What judges it broke, or the store could not write it.
        """
        if not self._end(judged.call):
            return judged.response
        try:
            return self._answering.keep(judged, raising=raising)
        except ContractError as error:
            raise self.refuse(error) from None
        except Exception as error:  # an SDK would ask, and pay, again
            refusal = self.refuse(not_stored(judged, error))
            if not raising:
                return judged.response
            raise refusal from error
        finally:
            self._land(judged.call)

    def abandon(self, call: Live) -> None:
        """End a call without an answer: its ordinal is free again, and those who wait for it begin again."""
        if self._end(call):
            self._answering.note_unanswered(call)
            self._land(call)

    def refuse(self, refusal: Refusal) -> Refusal:
        """Write a refusal into the ledger and return it in the form that the caller's thread can stand."""
        refusal = self.in_callers_form(refusal)
        self.ledger.write(refusal)
        return refusal

    def in_callers_form(self, refusal: Refusal) -> Refusal:
        """Return a refusal as its thread can stand it: pool workers hang on what is no `Exception`."""
        return refusal.as_exception() if is_soft() or misses.in_pool_worker() else refusal

    def _check_watched(self, contracts: tuple[Contract, ...]) -> None:
        """Say before anything is asked and paid for that a file which a contract watches is not there."""
        for contract in contracts:
            contract.ref(self.policy.root)

    def _prepared(self, request: Request) -> Request:
        """Return a request as the suite has it compared and kept."""
        prepared = self.policy.preparing.prepared(request)
        if prepared is None:
            raise self.refuse(self._misses.unprepared(request))
        return prepared

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
            # This session's own answer serves everyone, whatever the mode says of one that it finds: `all` would ask
            # once for each caller.
            if done and isinstance(entry := self.cassette.load(asked.key, 0), Entry):
                return Replay(entry)
            step = self._step(asked, 0, flow, client)
            if isinstance(step, Replay):
                return step
            if turn.take_off(step, done=done):
                return self._alone(step, turn)

    def _alone(self, call: Live, turn: Turn) -> Replay | Live | Wait:
        """Let a call go out that others wait for, unless another process asks the same."""
        step: Replay | Live | Wait | None = None
        try:
            look = partial(self._step, call.asked, call.ordinal, call.flow, call.client)
            step = self.flights.alone(call, look) if turn.is_led_by(call) else call
        finally:
            if step is not call:
                self._land(call)
        return step

    def _land(self, call: Live) -> None:
        """End a call, in this process and for others."""
        turn = self._turns.of(call.asked.key)
        if turn.is_led_by(call):
            self.flights.end(call.asked.key)
        turn.land(call)

    def _step(self, asked: Asked, ordinal: int, flow: Flow, client: str) -> Replay | Live:
        self.asked.add((asked.key, ordinal))
        looked = self._lookup.look(asked, ordinal)
        action = decide(self.policy.mode, looked.found, being_made=self._being_made())
        if action is Action.REPLAY and isinstance(looked.entry, Entry):
            if looked.found is Found.PENDING:
                self._resume(asked, looked.entry)
            return Replay(looked.entry)
        if action is Action.REFUSE:
            if (loose := self._loose.take(looked, self.played)) is not None:
                return Replay(loose)
            raise self._refused(looked, self._lookup.why(looked))
        return Live(asked, action, ordinal, flow, client, self.policy.repeats is Repeats.SAME)

    def _replayed(self, looked: Looked, why: str) -> Replay:
        """Answer by what was found without the request's key; that is never replaced."""
        if looked.found is Found.VALID and isinstance(looked.entry, Entry):
            return Replay(looked.entry)
        raise self._refused(looked, why)

    def _refused(self, looked: Looked, why: str) -> Refusal:
        refusal = self._misses.refused(looked, why, set(self.played))
        self._on_miss(looked, refusal)
        return self.refuse(refusal)

    def _resume(self, asked: Asked, entry: Entry) -> None:
        """Take what an earlier, failed run of this test left as recorded by this one, once."""
        with self._lock.held:
            if entry in self.resumed:
                return
            self.resumed.append(entry)
        self.cassette.resume(entry)
        self.ledger.say(f"answered from a run that failed: {misses.asked_line(asked)}")

    def _note(self, request: Request, step: Replay | Live | None) -> None:
        with self._lock.held:
            self.requests.append(request)
            if isinstance(step, Replay):
                self.played.append((step.entry.key, step.entry.ordinal))
                self.asked.add(self.played[-1])
                self.ledger.count("replayed", step.entry.key, step.entry.ordinal)
        if isinstance(step, Replay) and (old := self._lookup.validity.warning(step.entry)):
            self.ledger.say(old)
        if isinstance(step, Replay) and is_loose(step.entry):
            self.ledger.say(loose_note(step.entry, request, self.policy, self.cassette))

    def _end(self, call: Live) -> bool:
        """Tell whether this is a call's one end; a stream that is read out and closed at once comes here twice."""
        with self._lock.held:
            ended, call.ended = call.ended, True
        return call.is_ours and not ended
