"""What a session has come to so far, in its own process and in its children: what the end of a run is told of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onetake import changing, explain, misses, modes, patching
from onetake.aside import AsideStore
from onetake.cassette import Cassette
from onetake.child_book import ChildBook, Tally
from onetake.decide import reads_nothing, records, replaces_everything
from onetake.engine import Engine
from onetake.errors import AdapterError
from onetake.model import Entry
from onetake.stores.naming import Slot
from onetake.usage import Used

_MODE_BY = {
    "flag": "--record-mode",
    "code": "the mode that its marker or its code says",
    "environment": modes.VARIABLE,
    "settings": "`mode` in the settings",
    **{place: f"record_mode in {place}" for place in modes.VCR_PLACES},
}
"""What says a session's mode, by who says it."""


class Account:
    """What a session has come to.

    Args:
        engine: What answers its calls.
        book: What its children tell.
        folder: Its cassette's.
        owned: True where that is one test's alone.
    """

    def __init__(self, engine: Engine, book: ChildBook, folder: Path, *, owned: bool) -> None:
        self._engine = engine
        self._book = book
        self._folder = folder
        self._owned = owned
        self.promoted: set[Slot] = set()
        """What went from the pending store into the cassette, as it is found there."""
        self.retired = 0
        """How many entries it moved to the trash."""

    @property
    def tally(self) -> Tally:
        """What became of its calls."""
        done, childrens = self._engine, self.childrens
        return Tally(
            done.played + childrens.replayed,
            [(entry.key, entry.ordinal) for entry in done.recorded] + childrens.recorded,
            [(entry.key, entry.ordinal) for entry in done.rejected] + childrens.rejected,
            dict.fromkeys([*done.ledger.notes, *childrens.notes]),
            {*done.unanswered, *childrens.failed},
            [(entry.key, entry.ordinal) for entry in done.outrun] + childrens.unstored,
            [*done.ledger.differing, *childrens.differing],
        )

    @property
    def childrens(self) -> Tally:
        """What became of its children's calls."""
        self._engine.ledger.hear()
        return self._book.tally

    @property
    def was_joined(self) -> bool:
        """Whether a child process was part of it."""
        self._engine.ledger.hear()
        return self._book.anyone_came

    def check_rival(self) -> None:
        """Name the tool that may have taken every call, so that a test which records nothing does not just pass.

        Raises:
            AdapterError: No call came here, and a tool that answers for a client is active beside us.
        """
        done = self._engine
        if reads_nothing(done.policy.mode) or done.requests or done.ledger.all:
            return
        if rival := patching.rival() or min(done.rivals, default=""):
            raise AdapterError(
                f"{rival} and onetake are both active and no call came to onetake: take one of them out of this test"
            )

    @property
    def touched(self) -> set[Slot]:
        """The entries that it asked for, whatever came of it, and those that it wrote."""
        written = {(entry.key, entry.ordinal) for entry in self._engine.recorded}
        return {(key[:16], ordinal) for key, ordinal in set(self._engine.asked) | written}

    @property
    def used(self) -> Used:
        """What it used of its cassette, for the usage ledger."""
        known = not reads_nothing(self._engine.policy.mode) and not self.was_joined
        slots = frozenset(self.touched | self.promoted)
        policy = self._engine.policy
        return Used(policy.root, self._folder, slots, known, self._owned, policy.test)

    @property
    def resumed(self) -> tuple[Entry, ...]:
        """The entries that an earlier run of this test, which failed, left, and that answered in this one."""
        return tuple(self._engine.resumed)

    @property
    def legacy(self) -> dict[str, Any]:
        """What it did by vcrpy's rule, in plain types: whether it went by that, and what differed; empty where not."""
        return {"differing": self.tally.differing} if self._engine.legacy.is_on else {}

    @property
    def replaced(self) -> int:
        """How many of the entries that were written stand where another one stood when the session began."""
        return sum(map(self._engine.cassette.replaces, self._engine.recorded))

    @property
    def unanswered(self) -> str:
        """What to say of calls that went live and brought nothing to keep; empty for none."""
        asked, policy = list(self._engine.unanswered.values()), self._engine.policy
        if not asked or not records(policy.mode):
            return ""
        more = f" (and {len(asked) - 1} more)" if len(asked) > 1 else ""
        said = _MODE_BY.get(policy.mode_by, "a mode that records")
        return (
            f"no answer to keep came: {misses.asked_line(asked[0])}{more}\n"
            f"  what is stored is as it was: without {said} it is replayed, and nobody is asked\n"
            f"  to record, once the provider answers: {explain.command(policy.mode, policy.node or policy.test)}"
        )

    def refused_answers(self) -> list[tuple[Entry, str]]:
        """Return the answers that the gate refused, and where each is kept aside."""
        slots = self.tally.rejected
        if not slots:
            return []
        rejects = Cassette(AsideStore(self._engine.policy.root, "rejects", self._folder))
        found = [(rejects.load(*slot), rejects.store.locate(*slot)) for slot in slots]
        return [(entry, place) for entry, place in found if isinstance(entry, Entry)]

    def anew(self) -> changing.Anew | None:
        """Say where its requests differ from those that lay there, where it recorded and hardly one of these was asked.

        None where nothing is wrong; see `changing.anew`.
        """
        done = self._engine
        if replaces_everything(done.policy.mode) or not done.recorded:
            return None
        new = [entry for entry in done.recorded if not done.cassette.replaces(entry)]
        played = len(self.tally.replayed) - len(done.resumed)
        return changing.anew(new, played, done.cassette, done.policy, owned=self._owned)
