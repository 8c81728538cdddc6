"""Keep what a live call brought: in the cassette under the ordinal that it claims, or aside where the gate said no."""

from __future__ import annotations

from collections.abc import Callable

from onetake import explain, interactions, misses
from onetake.cassette import Cassette
from onetake.decide import Action
from onetake.errors import ContractError, FormatError, NotStored, StoreError
from onetake.gate import Judgement, Kind
from onetake.ledger import Ledger
from onetake.model import Entry, Response
from onetake.preparing import BrokenFunctionError
from onetake.printable import one_line
from onetake.steps import Judged, Live, Policy
from onetake.turns import Turn
from onetake.writing import SecretLeftError

_REMEDIES = {
    "json": "look at what is kept aside, and ask again: what says that it is JSON and is none helps no client",
    "violation": "mend the prompt or the contract, and ask again",
    "length": "raise the request's token limit (max_tokens, or what this API calls it), and ask again",
    "refusal": "change the prompt, and ask again",
    "cut": "ask again: the answer broke off on its way",
    "secret": "take it out of what is asked, or have it replaced: `paths` and `patterns` in [{}scrub]",
}
_WANTED = ("violation", "length", "refusal", "cut")


class Keeper:
    """One session's way to disk.

    Args:
        policy: What the session goes by.
        cassette: Where good answers go.
        rejects: Where refused answers are kept aside.
        ledger: The session's refusals.
        turns: Given a key, returns whose turn it is.
        on_record: Called before each write into the cassette.
    """

    def __init__(
        self,
        policy: Policy,
        cassette: Cassette,
        rejects: Cassette,
        ledger: Ledger,
        turns: Callable[[str], Turn],
        on_record: Callable[[], None],
    ) -> None:
        self.recorded: list[Entry] = []
        self.rejected: list[Entry] = []
        self.outrun: list[Entry] = []
        """Answers that were paid for when another caller's, or another process's, was stored already."""
        self._policy = policy
        self._cassette = cassette
        self._rejects = rejects
        self._ledger = ledger
        self._turns = turns
        self._on_record = on_record

    def keep(self, call: Live, response: Response, judgement: Judgement, *, raising: bool) -> Response:
        """Make the entry of a judged call, and write it.

        Args:
            call: The call.
            response: What came.
            judgement: What the gate said of it; not that it passes.
            raising: False where a reject must not raise.

        Returns:
            The response for the caller: the one that came, or under `repeats="same"` the one that was added first.

        Raises:
            ContractError: The answer is a reject, and rejects raise; not yet in the ledger.
            StoreError, FormatError, OSError: It could not be written.
        """
        entry = interactions.entry_of(call, response, judgement, self._policy)
        added_first = None
        try:
            if hidden := interactions.hidden_secrets(call, response):
                raise SecretLeftError(hidden)
            if judgement.kind is Kind.REJECT:
                self._reject(entry, call, raising=raising)
                return response
            self._on_record()
            added_first = self._write(call, entry, self._turns(entry.key))
        except SecretLeftError as error:
            self._reject(interactions.without_secret(entry, error.args[0]), call, raising=raising)
            return response
        if judgement.note:
            self._ledger.say(f"{judgement.note}: {misses.asked_line(call.asked)}")
        return added_first or response

    def _write(self, call: Live, entry: Entry, turn: Turn) -> Response | None:
        """Write an entry; returns a response only where another caller's was added first."""
        side = interactions.schema_of(entry, call.asked.contracts)
        # A secret that only today's rules know moves the key: then nothing is there to be replaced.
        over = call.action is Action.REPLACE and entry.key == call.asked.key
        if call.shared:
            return self._write_shared(entry, side, turn, over=over)
        if over:
            self._write_over(interactions.under(entry, call.ordinal), side, turn)
        else:
            self._write_next(call.ordinal, entry, side, turn)
        return None

    def _write_over(self, entry: Entry, side: dict[str, bytes], turn: Turn) -> None:
        self._cassette.put(entry, side)
        turn.use(entry.ordinal)
        self._note(entry)

    def _write_next(self, held: int, entry: Entry, side: dict[str, bytes], turn: Turn) -> None:
        """Add an entry under the first free ordinal, the next one where another process was faster."""
        while True:
            entry = interactions.under(entry, turn.claim(held, self._cassette.ordinals(entry.key)))
            try:
                added = self._cassette.add(entry, side)
            except BaseException:
                turn.unuse(entry.ordinal)
                raise
            if added:
                self._note(entry)
                return

    def _write_shared(self, entry: Entry, side: dict[str, bytes], turn: Turn, *, over: bool) -> Response | None:
        entry = interactions.under(entry, 0)
        with turn.writing() as is_first:
            if is_first and over:
                self._cassette.put(entry, side)
            elif not is_first or not self._cassette.add(entry, side):
                self.outrun.append(entry)
                self._ledger.count("unstored", entry.key, 0)
                first = self._cassette.load(entry.key, 0)
                return first.response if isinstance(first, Entry) else None
        self._note(entry)
        return None

    def _reject(self, entry: Entry, call: Live, *, raising: bool) -> None:
        """Keep a refused answer aside, and say so: it is paid for, and it is never replayed."""
        entry = self._set_aside(entry, call)
        kind = entry.verdict.partition(":")[2]
        name = entry.contract.name if entry.contract else ""
        asked = misses.asked_line(call.asked)
        place = self._rejects.store.locate(entry.key, entry.ordinal)
        said = _refused_with(entry) if kind == "refusal" else ""
        refusal = ContractError(kind, asked, entry.violations, entry.response, place, name, said, self._remedy(kind))
        if raising and self._policy.on_reject == "raise":
            raise refusal
        self._ledger.say(str(refusal))

    def _remedy(self, kind: str) -> str:
        node = self._policy.node or self._policy.test
        again = f"ask again ({explain.command(self._policy.mode, node)})" if node else "ask again"
        stores = f'; keep=["{kind}"] stores such an answer as it is' if kind in _WANTED else ""
        return _REMEDIES[kind].format(self._policy.prefix).replace("ask again", again) + stores

    def _set_aside(self, entry: Entry, call: Live) -> Entry:
        side = interactions.schema_of(entry, call.asked.contracts)
        while not self._rejects.add(entry, side):
            entry = interactions.under(entry, entry.ordinal + 1)
        self.rejected.append(entry)
        self._ledger.count("rejected", entry.key, entry.ordinal)
        return entry

    def _note(self, entry: Entry) -> None:
        self.recorded.append(entry)
        self._ledger.count("recorded", entry.key, entry.ordinal)


def not_stored(judged: Judged, error: Exception) -> NotStored:
    """Make the refusal of an answer that is on no disk.

    Args:
        judged: It, and its call.
        error: What kept it from there; may quote the answer, and its secrets.
    """
    asked = judged.call.asked
    is_told = isinstance(error, StoreError | FormatError | OSError | BrokenFunctionError)
    why = asked.scrubbing.text(str(error) if is_told else f"{type(error).__name__}: {error}")
    return NotStored(misses.asked_line(asked), one_line(why, 400), judged.response)


def _refused_with(entry: Entry) -> str:
    """Return how the model's refusal begins, from the scrubbed answer."""
    choices = entry.answer.choices if entry.answer else ()
    said = next((text for choice in choices if (text := choice.refusal or choice.text)), "")
    return f'"{one_line(said.strip(), 120)}"' if said.strip() else ""
