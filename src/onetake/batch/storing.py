"""From what came of one attempt to what is kept: its usage counted, judged, and stored before anybody is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from onetake import dialects, gate, interactions, misses
from onetake.batch.attempts import NOTHING, Spent, State
from onetake.batch.costs import Costs
from onetake.batch.ledger import Ledger
from onetake.batch.replies import KEEP, Replies
from onetake.batch.retrying import Fault, Kind, of_error, of_status
from onetake.batch.sending import NOT_SENT, is_cut
from onetake.decide import Action
from onetake.dialects import Reading
from onetake.errors import NotStored, StoreError
from onetake.model import Entry, Response
from onetake.printable import one_line
from onetake.steps import Live
from onetake.writing import Prepared, SecretLeftError, prepared, write_all

_WORDS = {"kept:violation": "invalid", "kept:length": "truncated", "kept:refusal": "refusal"}

FREE = Spent(cost=Decimal(0))
"""What an attempt takes that no provider bills: it never left, or met an error status."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What one attempt came to.

    Args:
        fault: Why there is no answer; None where there is one, good or bad.
        spent: What it took.
        response: What came; None where nothing did.
        stored: The entry that was made of it, as it was given to the store; empty where none was.
    """

    fault: Fault | None
    spent: Spent
    response: Response | None = None
    stored: bytes = b""


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one attempt.

    Args:
        live: The call.
        came: The response, or why there is none.
        attempt: Its number in the ledger.
    """

    live: Live
    came: Response | Fault
    attempt: int


@dataclass(frozen=True, slots=True)
class _Letter:
    """A reply that is to be stored.

    Args:
        attempt: The attempt's number.
        ready: What is written.
        over: Whether it takes the place of what is there.
        kept: What its attempt comes to, once it is stored.
    """

    attempt: int
    ready: Prepared
    over: bool
    kept: Kept


class Keeper:
    """Keeps what comes; its calls block, and may come from any thread.

    Args:
        replies: Where to, and by which contract it is judged.
        ledger: The batch's intents.
        costs: What tokens cost.
    """

    def __init__(self, replies: Replies, ledger: Ledger, costs: Costs) -> None:
        self._replies = replies
        self._ledger = ledger
        self._costs = costs

    def keep(self, calls: Sequence[Came]) -> list[Kept | BaseException]:
        """Keep what came of calls, all of it in one commit. What it returns of is on disk.

        Returns:
            Of each what it came to, or its own error: a `StoreError` where it could not be written, a `NotStored` where
            what judges it broke.
        """
        found = [self._judged_apart(call) for call in calls]
        letters = [one for one in found if isinstance(one, _Letter)]
        failed = {**self._stored(letters, over=False), **self._stored(letters, over=True)}
        return [failed.get(one.attempt) or one.kept if isinstance(one, _Letter) else one for one in found]

    def _judged_apart(self, call: Came) -> Kept | _Letter | BaseException:
        try:
            return self._judged(call.live, call.came, call.attempt)
        except BaseException as error:  # noqa: BLE001 - this call's alone: others were paid for too
            return error

    def _stored(self, letters: Iterable[_Letter], *, over: bool) -> dict[int, StoreError]:
        """Store replies, and return by attempt why one is not: what keeps one from it keeps no other."""
        some = [one for one in letters if one.over is over]
        if not some:
            return {}
        try:
            write_all(self._replies.store, [one.ready for one in some], over=over)
        except StoreError as error:
            if len(some) == 1:
                return {some[0].attempt: error}
            return {attempt: why for one in some for attempt, why in self._stored([one], over=over).items()}
        for one in some:
            self._ledger.done(one.attempt, State.STORED)
        return {}

    def _judged(self, live: Live, came: Response | Fault, attempt: int) -> Kept | _Letter:
        if isinstance(came, Fault):
            # Where a part of it left, nobody knows whether that is billed.
            return self._fault(attempt, came, FREE if came.label in NOT_SENT else NOTHING)
        fault = of_status(came)
        if fault is not None and (fault.kind is not Kind.REFUSED or is_cut(came)):
            again = Fault(Kind.AGAIN, "cut", fault.said) if fault.kind is Kind.REFUSED else fault
            return self._fault(attempt, again, FREE, came)
        judgement = self._judgement(live, came, attempt)
        if fault is None:
            fault = _no_answer(came, judgement)
            if fault is not None:
                return self._fault(attempt, fault, self._of(judgement.reading), came)
        return self._letter(live, came, judgement, attempt, fault)

    def _letter(
        self, live: Live, came: Response, judgement: gate.Judgement, attempt: int, fault: Fault | None
    ) -> Kept | _Letter:
        entry = interactions.entry_of(live, came, judgement, self._replies.policy)
        spent = FREE if fault else self._costs.of(entry)
        self._ledger.sent(attempt, _word(judgement), status=came.status, spent=spent)
        # A secret that only today's rules know moves the key: then nothing is there to be replaced.
        over = live.action is Action.REPLACE and entry.key == live.asked.key
        try:
            if hidden := interactions.hidden_secrets(live, came):
                raise SecretLeftError(hidden)
            ready = self._prepared(live, entry)
        except SecretLeftError as error:
            self._ledger.sent(attempt, "secret", status=came.status, spent=spent)
            bare = interactions.without_secret(entry, error.args[0])
            try:  # in the place of the answer, that there was one: it was paid for, and would come again
                ready, fault = self._prepared(live, replace(bare, verdict="kept:secret", request=entry.request)), None
            except SecretLeftError:
                self._ledger.done(attempt, State.UNSTORED)
                said = "the request holds a secret that cannot be taken out"
                return Kept(Fault(Kind.SECRET, "secret", said), spent, came)
        return _Letter(attempt, ready, over, Kept(fault, spent, came, ready.row[2]))

    def _prepared(self, live: Live, entry: Entry) -> Prepared:
        return prepared(entry, interactions.schema_of(entry, live.asked.contracts))

    def _judgement(self, live: Live, came: Response, attempt: int) -> gate.Judgement:
        asked, root = live.asked, self._replies.policy.root
        try:
            return gate.judge(asked.request, came, asked.contracts, keep=KEEP, root=root)
        except Exception as error:
            dialect = dialects.find(asked.request.method, asked.request.url)
            reading = dialect.read(asked.request, came) if dialect else Reading()
            self._ledger.sent(attempt, "unjudged", status=came.status, spent=self._of(reading))
            self._ledger.done(attempt, State.UNSTORED)
            why = asked.scrubbing.text(f"{type(error).__name__}: {error}")
            raise NotStored(misses.asked_line(asked), one_line(why, 400), came) from error

    def _fault(self, attempt: int, fault: Fault, spent: Spent, came: Response | None = None) -> Kept:
        self._ledger.sent(attempt, fault.label, status=came.status if came else None, spent=spent)
        self._ledger.done(attempt, State.LOST if spent == NOTHING else State.UNSTORED)
        return Kept(fault, spent, came)

    def _of(self, reading: Reading) -> Spent:
        tokens = reading.input_tokens, reading.output_tokens
        return Spent(*tokens, self._costs.of_tokens(*tokens))


def _no_answer(came: Response, judgement: gate.Judgement) -> Fault | None:
    """Say why what has a good status is no answer of the model; None where it is one."""
    if judgement.kind is gate.Kind.PASS:
        return of_error(came, judgement.reading.error or "")
    if judgement.kind is gate.Kind.REJECT:
        return Fault(Kind.AGAIN, judgement.reason, "the answer broke off" if judgement.reason == "cut" else _said(came))
    answer = judgement.reading.answer
    return None if answer is not None and answer.choices else Fault(Kind.AGAIN, "no answer", _said(came))


def _said(came: Response) -> str:
    return one_line(came.body[:2000].decode("utf-8", "replace").strip(), 200)


def _word(judgement: gate.Judgement) -> str:
    return "ok" if judgement.kind is gate.Kind.GOOD else _WORDS.get(judgement.verdict, "refused")
