"""A session's run, from its opening to its end; what its user sees of it is the `Session`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from onetake import active, changing, children, dummies, explain, guard_sockets, leaving, misses, patching, usage
from onetake.aside import AsideStore, aside, clear, elsewhere, hide, journal, place_of
from onetake.cassette import Cassette
from onetake.child_book import ChildBook, Tally
from onetake.contract import Contract
from onetake.decide import never_goes_live, reads_nothing, records, replaces_everything
from onetake.engine import Engine
from onetake.errors import AdapterError, StoreError
from onetake.ledger import Ledger, is_same
from onetake.model import Entry, Mode
from onetake.options import Options, cassette_folder, policy_of, said
from onetake.session import Session
from onetake.settings import Settings
from onetake.steps import Policy
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import Slot, folder_name
from onetake.tracebacks import end_before_ours, family
from onetake.usage import Used
from onetake.writing import SecretLeftError

listeners: list[Callable[[SessionRun], None]] = []
"""Who is told of each session that is no test's own, when it has ended."""


class SessionRun:
    """What opens a session, ends it, and says what becomes of its entries; for `use_cassette` and the pytest plugin.

    Args:
        options: What was asked for.
        settings: The project's settings.
        default: The mode where nobody says anything.
        test: The test's id; its entries wait aside until it has passed.
        node: The test as its runner is told it from the current folder, for the remedies.
        owned: True where the cassette is this test's alone, so that what the test does not ask for is nobody's.
        unrecorded: Why this process records nothing although its session does.
        inherited: In a process that was started under an open session, that session's seed, and where its refusals go.
    """

    def __init__(
        self,
        options: Options,
        settings: Settings,
        default: Mode,
        test: str = "",
        *,
        node: str = "",
        owned: bool = False,
        unrecorded: str = "",
        inherited: tuple[str, Path] | None = None,
    ) -> None:
        policy = policy_of(options, settings, default, test, node, unrecorded)
        self.test: str = policy.test
        """The test's id, secrets scrubbed; empty outside tests."""
        self.fails: bool = said("refusals", options.refusals, settings.refusals) == "fail"
        """True where a refusal that nobody expected or handled fails the test, False where it is only listed."""
        self._folder = cassette_folder(options.name, settings.root, policy.scrubber)
        self._owned = owned
        self._credentials = settings.credentials
        # The tests of one cassette each have a place of their own, or they would take each other's entries for theirs.
        self._part = folder_name(policy.test) if test and not owned else ""
        self._records = records(policy.mode)
        self._reads = not reads_nothing(policy.mode)
        self._sealed = never_goes_live(policy.mode)
        store = DirectoryStore(self._folder, place_of(self._folder, settings.root))
        pending = AsideStore(settings.root, "pending", self._folder, self._part) if test else None
        notes = journal(settings.root, self._folder, self._part)
        finished = 0 if reads_nothing(policy.mode) else notes.finish(store)
        self._cassette = Cassette(store, pending, resume=self._records and inherited is None, journal=notes)
        # A file of its own in the cassette's folder there: one cassette may lie inside another.
        self._marker = aside(settings.root, "making", self._folder) / "begun"
        self._made_here = False
        self._promoted: set[Slot] = set()
        self._being_made = self._cassette.was_empty or self._marker.is_file()
        self._book = self._book_of(settings.root, inherited)
        self._seed = inherited[0] if inherited else self._new_seed(options, policy)
        self.ledger = Ledger(self._book)
        """The book of its refusals, which outlives it: a call may still come after its end."""
        if finished:
            self.ledger.say(
                f"{store.place}: an earlier run was stopped while it moved {finished} entries there: now they are there"
            )
        self._engine = self._engine_of(policy)
        self._scope: active.Scope | None = None
        self.session = Session(self._engine)
        """What the user sees."""

    def _aside(self, kind: str, root: Path) -> AsideStore:
        return AsideStore(root, kind, self._folder)

    def _book_of(self, root: Path, inherited: tuple[str, Path] | None) -> ChildBook:
        folder = inherited[1] if inherited else root / ".onetake" / "children" / os.urandom(8).hex()
        return ChildBook(folder, root, reads=inherited is None)

    def _new_seed(self, options: Options, policy: Policy) -> str:
        refusals = "fail" if self.fails else "report"
        return children.seed_of(options, policy, self._folder, self._book.folder, refusals, owned=self._owned)

    def _engine_of(self, policy: Policy) -> Engine:
        return Engine(
            policy,
            self._cassette,
            Cassette(self._aside("rejects", policy.root)),
            self.ledger,
            being_made=lambda: self._being_made,
            on_record=_nothing if self.test and self._owned else self._mark,
            elsewhere=lambda key: elsewhere(self._folder, key, policy.root),
        )

    def open(self, *, ambient: bool = False, lets_go: bool = False) -> active.Scope:
        """Begin: from here on its engine answers the calls of contexts that are bound to its scope, or to none.

        Args:
            ambient: True where threads that are started in a context bound to none belong to it too.
            lets_go: True where what was started under it belongs to nobody once it is closed; it may be opened again.
        """
        patching.install()
        guard_sockets.install()
        dummies.begin(sealed=self._sealed, credentials=self._credentials)
        children.begin(self._engine, self._seed)
        self._scope = active.enter(self._engine, ambient=ambient, lets_go=lets_go)
        children.show()
        leaving.before_end(self._tell_handled)
        return self._scope

    def close(self) -> None:
        """End: a call that still comes under this session is refused in its name."""
        if self._scope is not None:
            active.leave(self._scope)
            children.show()
            leaving.no_more(self._tell_handled)
            self._tell_handled()
            self._book.close()
            dummies.end(sealed=self._sealed, credentials=self._credentials)
            self._scope = None
            if usage.is_heard() and not self.test:
                usage.tell(self.used)
            for listener in () if self.test else listeners:
                listener(self)

    def settle(self, error: BaseException | None = None, *, expects_calls: bool = True) -> None:
        """Bring the ledger up at the end of what the session is for, so that nothing that was swallowed stays hidden.

        Args:
            error: What is on its way out, if anything: refusals then become a note on it.
            expects_calls: False where there may well be none, so that a tool beside us need not have taken them.

        Raises:
            Refusal: The first that nobody expected or handled, unless an error is on its way, or refusals are only
                reported.
            AdapterError: No call came here, and a tool that answers for a client is active beside us.
        """
        left = self.ledger.open
        self._book.remove()
        if error is not None:
            end_before_ours(error)
        if error is None and not left:
            if expects_calls:
                self._check_rival()
            self._end_making()
        if not left or not self.fails:
            return
        if error is None:
            raise self._engine.in_callers_form(left[0])
        if not any(is_same(part, one) for part in family(error) for one in left):
            error.add_note(f"onetake refused {len(left)} call{'s' if len(left) != 1 else ''}; the first: {left[0]}")

    @property
    def tally(self) -> Tally:
        """What became of its calls so far, in this process and in its children."""
        self.ledger.hear()
        done, childrens = self._engine, self._book.tally
        return Tally(
            done.played + childrens.replayed,
            [(entry.key, entry.ordinal) for entry in done.recorded] + childrens.recorded,
            [(entry.key, entry.ordinal) for entry in done.rejected] + childrens.rejected,
            dict.fromkeys([*self.ledger.notes, *childrens.notes]),
        )

    @property
    def was_joined(self) -> bool:
        """Whether a child process was part of it."""
        self.ledger.hear()
        return self._book.anyone_came

    @property
    def contracts(self) -> tuple[Contract, ...]:
        """What its answers must satisfy."""
        return self._engine.policy.contracts

    @property
    def place(self) -> str:
        """What messages call its cassette."""
        return self._engine.cassette.place

    @property
    def pending_place(self) -> str:
        """Where a test's entries wait, for messages."""
        return self._cassette.pending_place

    @property
    def resumed(self) -> tuple[Entry, ...]:
        """The entries that an earlier run of this test, which failed, left, and that answered in this one."""
        return tuple(self._engine.resumed)

    @property
    def unanswered(self) -> str:
        """What to say of calls that went live and brought nothing to keep; empty for none."""
        asked, policy = list(self._engine.unanswered.values()), self._engine.policy
        if not asked or not self._records:
            return ""
        again = explain.command(policy.mode, policy.node or policy.test)
        return misses.unanswered(asked, again)

    def promote(self) -> tuple[Entry, ...]:
        """Move a passed test's entries from the pending store into its cassette, all or none.

        Raises:
            StoreError: One could not be written, or one that a child process put there cannot be read: the cassette is
                as it was, and all of them still wait.
        """
        if not self._records:
            return ()  # what an earlier run left waits for one that records, and is no child's of this one
        self._engine.recorded.extend(self._cassette.take_over(self.test))
        try:
            promoted = tuple(self._cassette.promote())
            self._promoted |= {(entry.key[:16], entry.ordinal) for entry in promoted}
            return promoted
        except SecretLeftError as error:
            kinds = ", ".join(sorted({finding.kind for finding in error.args[0]}))
            raise StoreError(f"{self.pending_place}: an entry there holds a secret ({kinds})") from None

    def refused_answers(self) -> list[tuple[Entry, str]]:
        """Return the answers that the gate refused, those of child processes too, and where each is kept aside."""
        slots = self.tally.rejected
        if not slots:
            return []
        rejects = Cassette(self._aside("rejects", self._engine.policy.root))
        found = [(rejects.load(*slot), rejects.store.locate(*slot)) for slot in slots]
        return [(entry, place) for entry, place in found if isinstance(entry, Entry)]

    def anew(self) -> str:
        """Say where its requests differ from those that lay there, where it recorded and hardly one of these was asked.

        Empty where nothing is wrong; see `changing.anew`.
        """
        if replaces_everything(self._engine.policy.mode) or not self._engine.recorded:
            return ""
        new = [entry for entry in self._engine.recorded if not self._cassette.replaces(entry)]
        played = len(self.tally.replayed) - len(self._engine.resumed)
        return changing.anew(new, played, self._cassette, self._engine.policy, owned=self._owned)

    @property
    def replaced(self) -> int:
        """How many of the entries that were written stand where another one stood when the session began."""
        return sum(map(self._cassette.replaces, self._engine.recorded))

    @property
    def used(self) -> Used:
        """What it used of its cassette so far, for the usage ledger."""
        self.ledger.hear()
        written = {(entry.key[:16], entry.ordinal) for entry in self._engine.recorded}
        asked = {(key[:16], ordinal) for key, ordinal in set(self._engine.asked)}
        slots = frozenset(asked | written | self._promoted)
        return Used(self._engine.policy.root, self._folder, slots, self._reads and not self._book.anyone_came)

    @property
    def making(self) -> Path | None:
        """What says that a cassette of several tests is being made, until the run ends; None where it is not."""
        shared = bool(self.test) and not self._owned and self._records
        return self._marker if shared and self._being_made and self._marker.is_file() else None

    def clear(self, *, alone: bool) -> None:
        """Remove what a passed test's emptied pending store still holds; never what waits there.

        Args:
            alone: True where no other process tests this project: another's may be about to use a folder above.
        """
        if self._records:
            clear(self._engine.policy.root, "pending", self._folder, self._part, alone=alone)

    def retire(self) -> None:
        """Move to the trash what a test that passed leaves without use.

        That is what its earlier, failed runs left waiting and it did not ask for; and, where every request is asked
        anew in a cassette that is this test's alone, the entries that it did not ask for; not where child processes
        asked too, of which only the answers are known.
        """
        if not self._records:
            return
        touched = self._engine.asked | {(entry.key, entry.ordinal) for entry in self._engine.recorded}
        entries = self._owned and replaces_everything(self._engine.policy.mode) and not self._book.anyone_came
        self._cassette.retire(touched, self._aside("trash", self._engine.policy.root), entries=entries)

    def _tell_handled(self) -> None:
        """Tell the session's own process, at the end of a child, which of its refusals the program handled."""
        if self._book.is_child:
            self.ledger.tell_handled()

    def _mark(self) -> None:
        """Note, before the first entry is written, that the cassette is being made, so that a killed run can go on."""
        if self._cassette.was_empty and not self._made_here:
            try:
                hide(self._engine.policy.root)
                self._marker.parent.mkdir(parents=True, exist_ok=True)
                self._marker.touch()
            except OSError as error:
                raise StoreError(f"{self._marker}: cannot be written: {error.strerror}") from error
            self._made_here = True

    def _check_rival(self) -> None:
        """Name the tool that may have taken every call, so that a test which records nothing does not just pass."""
        if reads_nothing(self._engine.policy.mode) or self._engine.requests or self.ledger.all:
            return
        if rival := patching.rival() or min(self._engine.rivals, default=""):
            raise AdapterError(
                f"{rival} and onetake are both active and no call came to onetake: take one of them out of this test"
            )

    def _end_making(self) -> None:
        if self._records and self._being_made and not self._book.is_child and not self.test:
            self._marker.unlink(missing_ok=True)


def _nothing() -> None:
    """Do nothing: a test's entries wait in the pending store, so its cassette is never half made."""
