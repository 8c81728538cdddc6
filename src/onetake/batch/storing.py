"""From what came of one attempt to what is kept: its usage counted, judged, and stored before anybody is told."""

from __future__ import annotations

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
from onetake.errors import NotStored
from onetake.model import Entry, Response
from onetake.printable import one_line
from onetake.steps import Live
from onetake.writing import SecretLeftError, write

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
    """

    fault: Fault | None
    spent: Spent
    response: Response | None = None


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

    def keep(self, live: Live, came: Response | Fault, attempt: int) -> Kept:
        """Keep what came of a call. What it returns from is on disk.

        Raises:
            StoreError: It could not be written.
            NotStored: What judges it broke.
        """
        if isinstance(came, Fault):
            # Where a part of it left, nobody knows whether that is billed.
            return self._fault(attempt, came, FREE if came.label in NOT_SENT else NOTHING)
        fault = of_status(came)
        if fault is not None and (fault.kind is not Kind.REFUSED or is_cut(came)):
            again = Fault(Kind.AGAIN, "cut", fault.said) if fault.kind is Kind.REFUSED else fault
            return self._fault(attempt, again, FREE, came)
        judgement = self._judged(live, came, attempt)
        if fault is None:
            fault = _no_answer(came, judgement)
            if fault is not None:
                return self._fault(attempt, fault, self._of(judgement.reading), came)
        return self._store(live, came, judgement, attempt, fault)

    def _store(self, live: Live, came: Response, judgement: gate.Judgement, attempt: int, fault: Fault | None) -> Kept:
        entry = interactions.entry_of(live, came, judgement, self._replies.policy)
        spent = FREE if fault else self._costs.of(entry)
        self._ledger.sent(attempt, _word(judgement), status=came.status, spent=spent)
        try:
            if hidden := interactions.hidden_secrets(live, came):
                raise SecretLeftError(hidden)
            self._write(live, entry)
        except SecretLeftError as error:
            self._ledger.sent(attempt, "secret", status=came.status, spent=spent)
            fault = self._dead_letter(live, entry, error)
        self._ledger.done(attempt, State.UNSTORED if fault and fault.kind is Kind.SECRET else State.STORED)
        return Kept(fault, spent, came)

    def _dead_letter(self, live: Live, entry: Entry, error: SecretLeftError) -> Fault | None:
        """Keep in the place of an answer with a secret that there was one: it was paid for, and would come again."""
        bare = interactions.without_secret(entry, error.args[0])
        try:
            self._write(live, replace(bare, verdict="kept:secret", request=entry.request))
        except SecretLeftError:
            return Fault(Kind.SECRET, "secret", "the request holds a secret that cannot be taken out")
        return None

    def _write(self, live: Live, entry: Entry) -> None:
        # A secret that only today's rules know moves the key: then nothing is there to be replaced.
        over = live.action is Action.REPLACE and entry.key == live.asked.key
        write(self._replies.store, entry, interactions.schema_of(entry, live.asked.contracts), over=over)

    def _judged(self, live: Live, came: Response, attempt: int) -> gate.Judgement:
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
