"""A session's run, from its opening to its end; what its user sees of it is the `Session`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from onetake import active, children, dummies, endings, guard_sockets, leaving, patching, placing, succession, usage
from onetake.account import Account
from onetake.aside import AsideStore, clear, elsewhere, journal, place_of
from onetake.cassette import Cassette
from onetake.child_book import ChildBook
from onetake.contract import Contract
from onetake.decide import never_goes_live, reads_nothing, records, replaces_everything
from onetake.engine import Engine
from onetake.errors import StoreError
from onetake.ledger import Ledger
from onetake.making import Making
from onetake.missed import MissBook
from onetake.model import Entry, Mode
from onetake.options import Options, cassette_folder, policy_of, said
from onetake.pins import Pins
from onetake.preparing import Preparing
from onetake.printable import block
from onetake.session import Session
from onetake.settings import Settings
from onetake.store_users import asked_in_session, in_session
from onetake.stores import open_store
from onetake.stores.naming import folder_name
from onetake.tracebacks import end_before_ours, note_refusals
from onetake.writing import SecretLeftError


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
        inherited: In a process that was started under an open session, that session's seed, where its refusals go, and
            which place its entries wait in.
        preparing: What the suite does to requests and answers of its own.
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
        inherited: tuple[str, Path, str] | None = None,
        preparing: Preparing | None = None,
    ) -> None:
        policy = policy_of(options, settings, default, test, node, unrecorded)
        if preparing is not None:
            traffic = policy.traffic.letting(preparing.passes, preparing.connects)
            policy = replace(policy, preparing=preparing, traffic=traffic)
        self._policy = policy
        self._credentials = settings.credentials.dummies
        self._pins = Pins(settings.root, settings.pinned)
        self._owned = owned
        self._folder = cassette_folder(options.name, settings.root, policy.scrubber)
        # The tests of one cassette each have a place of their own, or they would take each other's entries for theirs.
        part = folder_name(policy.test) if test and not owned else ""
        self._records = records(policy.mode)
        holds = bool(test) and self._records and inherited is None
        self._place = placing.hold(settings.root, self._folder, part) if holds else placing.Place(part, None)
        self._part = inherited[2] if inherited else self._place.part
        self.fails: bool = said("refusals", options.refusals, settings.refusals) == "fail"
        """True where a refusal that nobody expected or handled fails the test, False where it is only listed."""
        self._book = self._book_of(inherited)
        self._seed = inherited[0] if inherited else self._new_seed(options)
        self.ledger = Ledger(self._book)
        """The book of its refusals, which outlives it: a call may still come after its end."""
        self._cassette = self._cassette_of(resume=self._records and inherited is None)
        self._making = Making(settings.root, self._folder, was_empty=self._cassette.was_empty)
        self._recording = placing.Recording(settings.root, self._folder)
        self._missed = MissBook(policy, self._folder)
        if inherited is None and not reads_nothing(policy.mode):
            self._missed.begin()
        self._engine = self._engine_of()
        self._scope: active.Scope | None = None
        self._claim = ExitStack()
        self._place_to_tell: Path | None = None
        self._taken_over = 0
        self.session = Session(self._engine)
        """What the user sees."""
        self.account = Account(self._engine, self._book, self._folder, owned=owned)
        """What it has come to so far."""

    def _book_of(self, inherited: tuple[str, Path, str] | None) -> ChildBook:
        root = self._policy.root
        folder = inherited[1] if inherited else root / ".onetake" / "children" / os.urandom(8).hex()
        return ChildBook(folder, root, reads=inherited is None)

    def _new_seed(self, options: Options) -> str:
        refusals = "fail" if self.fails else "report"
        place = self._book.folder, self._part
        return children.seed_of(options, self._policy, self._folder, place, refusals, owned=self._owned)

    def _cassette_of(self, *, resume: bool) -> Cassette:
        """Make the cassette, once a promotion into it that was stopped half-way is finished."""
        root = self._policy.root
        store = open_store(self._folder, place_of(self._folder, root))
        notes = journal(root, self._folder, self._part)
        if not reads_nothing(self._policy.mode) and (finished := notes.finish(store)):
            self.ledger.say(
                f"{store.place}: an earlier run was stopped while it moved {finished} entries there: now they are there"
            )
        pending = AsideStore(root, "pending", self._folder, self._part) if self.test else None
        return Cassette(store, pending, resume=resume, journal=notes)

    def _engine_of(self) -> Engine:
        # A test's own entries wait in the pending store, so its cassette is never half made.
        may_be_half_made = not (self.test and self._owned)
        return Engine(
            self._policy,
            self._cassette,
            Cassette(AsideStore(self._policy.root, "rejects", self._folder)),
            self.ledger,
            being_made=lambda: self._making.begun,
            on_record=self._note_recording if may_be_half_made else lambda: None,
            elsewhere=lambda key: elsewhere(self._folder, key, self._policy.root),
            passed=lambda entries: succession.passed_in(self._folder, self._policy.root, entries),
            on_miss=self._missed.note,
            names=asked_in_session(self._folder, self._policy),
        )

    def _note_recording(self) -> None:
        self._recording.begin()
        self._making.mark()

    @property
    def test(self) -> str:
        """The test's id, secrets scrubbed; empty outside tests."""
        return self._policy.test

    def open(self, *, ambient: bool = False, lets_go: bool = False) -> active.Scope:
        """Begin: from here on its engine answers the calls of contexts that are bound to its scope, or to none.

        Args:
            ambient: True where threads that are started in a context bound to none belong to it too.
            lets_go: True where what was started under it belongs to nobody once it is closed; it may be opened again.

        Raises:
            UsageError: Its store, one file, is being pruned or repaired.
        """
        self._claim.enter_context(in_session(self._folder, self._policy.mode))
        self._claim.callback(self._recording.end)
        patching.install()
        guard_sockets.install()
        dummies.begin(sealed=never_goes_live(self._policy.mode), credentials=self._credentials)
        children.begin(self._engine, self._seed)
        self._scope = active.enter(self._engine, ambient=ambient, lets_go=lets_go)
        children.show()
        leaving.before_end(self._tell_handled)
        leaving.before_exec(self._owed)
        if (place := usage.place_to_tell()) and not (self.test or self._book.is_child):
            self._place_to_tell = place
            usage.tell(place, replace(self.account.used, known=False))
        return self._scope

    def close(self) -> None:
        """End: a call that still comes under this session is refused in its name."""
        if self._scope is not None:
            active.leave(self._scope)
            self._claim.close()
            self._engine.flights.end_all()
            children.show()
            leaving.no_more(self._tell_handled)
            leaving.no_exec(self._owed)
            self._tell_handled()
            self._book.close()
            dummies.end(sealed=never_goes_live(self._policy.mode), credentials=self._credentials)
            self._scope = None
            if self._place_to_tell and not self._book.is_child:
                usage.tell(self._place_to_tell, self.account.used)
            if endings.listeners and not self.test:
                endings.listeners[-1](self)

    def let_go(self) -> None:
        """Leave what it wrote and did not keep to the next run of its test: nothing more will come of this one."""
        self._place.let_go()
        self._cassette.close()

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
        self._missed.settle(set(self.ledger.all).difference(left), self.account.tally.replayed)
        self._book.remove()
        self._cassette.close()
        if error is not None:
            end_before_ours(error)
        if error is None and not left:
            if expects_calls:
                self.account.check_rival()
            self._end_making()
        if not left or not self.fails:
            return
        if error is None:
            raise self._engine.in_callers_form(left[0])
        note_refusals(error, left)

    @property
    def goes_by_url(self) -> bool:
        """Whether imported entries are replayed by vcrpy's rule."""
        return self._engine.legacy.is_on

    @property
    def mode_by(self) -> str:
        """Who said its mode, as in `Policy.mode_by`."""
        return self._policy.mode_by

    @property
    def contracts(self) -> tuple[Contract, ...]:
        """What its answers must satisfy."""
        return self._policy.contracts

    @property
    def place(self) -> str:
        """What messages call its cassette."""
        return self._cassette.place

    @property
    def pending_place(self) -> str:
        """Where a test's entries wait, for messages."""
        return self._cassette.pending_place

    def promote(self) -> tuple[Entry, ...]:
        """Move a passed test's entries from the pending store into its cassette, all or none.

        Raises:
            StoreError: One could not be written, or one that a child process put there cannot be read: the cassette is
                as it was, and all of them still wait.
        """
        if not self._records:
            return ()  # what an earlier run left waits for one that records, and is no child's of this one
        told = self.account.childrens.recorded
        slots = {(key[:16], ordinal) for key, ordinal in told[self._taken_over :]}
        self._engine.recorded.extend(self._cassette.take_over(slots))
        self._taken_over = len(told)
        try:
            promoted = tuple(self._cassette.promote())
        except SecretLeftError as error:
            kinds = ", ".join(sorted({finding.kind for finding in error.args[0]}))
            raise StoreError(f"{self.pending_place}: an entry there holds a secret ({kinds})") from None
        self.account.promoted |= {(entry.key[:16], entry.ordinal) for entry in promoted}
        return promoted

    def keep(self, *, alone: bool) -> None:
        """Keep what a passed test recorded, and put away what it leaves without use.

        Without use is what its earlier, failed runs left waiting and it did not ask for; and, where every request is
        asked anew in a cassette that is this test's alone, the entries that it did not ask for: they go to the trash.
        Not where child processes asked too, of which only the answers are known.

        Args:
            alone: True where no other process tests this project: another's may be about to use a folder above.

        Raises:
            StoreError: As for `promote`; or one could not be moved to the trash.
        """
        self.promote()
        if not self._records:
            return
        root = self._policy.root
        entries = self._owned and replaces_everything(self._policy.mode) and not self._book.anyone_came
        trash = AsideStore(root, "trash", self._folder)
        touched, is_pinned = self.account.touched, self._is_pinned
        self.account.retired += self._cassette.retire(touched, trash, entries=entries, is_pinned=is_pinned)
        clear(root, "pending", self._folder, self._part, alone=alone)

    def _is_pinned(self, entry: Entry) -> bool:
        name = Path(self._cassette.store.locate(entry.key, entry.ordinal)).name
        return bool(self._pins.why(self._folder / name, entry))

    @property
    def making(self) -> Path | None:
        """What says that a cassette of several tests is being made, until the run ends; None where it is not."""
        shared = bool(self.test) and not self._owned and self._records
        return self._making.marker if shared else None

    def _tell_handled(self) -> None:
        """Tell the session's own process, at the end of a child, which of its refusals the program handled."""
        if self._book.is_child:
            self.ledger.tell_handled()

    def _owed(self) -> int:
        """Return the exit code that its refusals are worth, and say them: with this process they would be lost."""
        left = [] if self._book.is_child or not self.fails else self.ledger.open
        if left:
            first = block(str(left[0]))
            leaving.say(f"onetake: {self.place}: ends here, and becomes no other program, with this refused: {first}\n")
        return max((one.exit_code for one in left), default=0)

    def _end_making(self) -> None:
        if self._records and not self._book.is_child and not self.test:
            self._making.end()
