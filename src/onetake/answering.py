"""What becomes of the answer to a live call: what it is, what the suite makes of it, and whether it is kept."""

from __future__ import annotations

from onetake import gate, misses
from onetake.keeping import Keeper
from onetake.ledger import Ledger
from onetake.model import Response
from onetake.preparing import BrokenFunctionError
from onetake.steps import Asked, Judged, Live, Policy


class Answering:
    """One session's answers, from the provider's to what is kept.

    Args:
        policy: What the session goes by.
        keeper: Its way to disk.
        ledger: The session's refusals.
    """

    def __init__(self, policy: Policy, keeper: Keeper, ledger: Ledger) -> None:
        self.unanswered: dict[str, Asked] = {}
        """What went live and brought nothing to keep, by key: the provider was down, or said no."""
        self._policy = policy
        self._keeper = keeper
        self._ledger = ledger

    def judge(self, call: Live, response: Response) -> Judged:
        """Say what an answer is. Pure: asks neither clock nor git, writes nothing, and refuses nothing.

        An error of what judges (a contract's own code, a dialect) is part of the word, for `keep` to raise.
        """
        asked, policy = call.asked, self._policy
        try:
            judgement = gate.judge(asked.request, response, asked.contracts, keep=policy.keep, root=policy.root)
        except Exception as error:  # noqa: BLE001 - any of it would make an SDK ask, and pay, again
            return Judged(call, response, error)
        return Judged(call, response, judgement)

    def keep(self, judged: Judged, *, raising: bool) -> Response:
        """Keep what was judged, in the form that the suite gives it.

        What came is judged before the suite makes anything of it: a reject that it would mend, or drop, is one all the
        same.

        Args:
            judged: What `judge` returned.
            raising: False where a reject must not raise.

        Returns:
            The response for the caller: the one that came, or under `repeats="same"` the one that was added first.

        Raises:
            ContractError: The answer is a reject, and rejects raise; not yet in the ledger.
            StoreError, FormatError, OSError: It could not be written.
            BrokenFunctionError: The suite's function broke, or made an error of the provider of it.
            Exception: What judges it broke.
        """
        judgement = judged.judgement
        if isinstance(judgement, Exception):
            raise judgement
        if judgement.kind is gate.Kind.PASS:
            self.note_unanswered(judged.call)
            return judged.response
        self.unanswered.pop(judged.call.asked.key, None)
        prepared = self._prepared(judged) if judgement.kind is not gate.Kind.REJECT else judged
        if prepared is None:
            return judged.response
        if isinstance(prepared.judgement, Exception):
            raise prepared.judgement
        kept = self._keeper.keep(judged.call, prepared.response, prepared.judgement, raising=raising)
        return judged.response if kept is prepared.response else kept

    def note_unanswered(self, call: Live) -> None:
        """Note that a call brought nothing to keep."""
        self.unanswered[call.asked.key] = call.asked
        self._ledger.count("failed", call.asked.key, call.ordinal)

    def _prepared(self, judged: Judged) -> Judged | None:
        """Return what the suite makes of an answer, judged; None where it keeps nothing of it."""
        prepared = self._policy.preparing.kept(judged.response)
        if prepared is None or prepared == judged.response:
            return judged if prepared else None
        again = self.judge(judged.call, prepared)
        made = again.judgement
        if isinstance(made, gate.Judgement) and made.kind is gate.Kind.PASS:
            error = ValueError(f"it made an error of the provider ({made.reason}) of the answer")
            raise BrokenFunctionError("before_record_response", error)
        if isinstance(made, gate.Judgement) and made.kind is gate.Kind.REJECT:
            asked = misses.asked_line(judged.call.asked)
            self._ledger.say(f"the suite's own before_record_response made a reject of the answer: {asked}")
        return again
