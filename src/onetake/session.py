"""A session: one opened cassette, from `use_cassette` or a test, to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake import active, modes, patching
from onetake.aside import aside, elsewhere
from onetake.cassette import Cassette, SecretLeftError
from onetake.contract import as_contracts
from onetake.decide import Action, Found, decide
from onetake.engine import Engine
from onetake.errors import AdapterError, Refusal, StoreError, UsageError
from onetake.key import Keyer
from onetake.ledger import Expected, Ledger
from onetake.model import Entry, Mode, Repeats, Request
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, MaxAge, Settings, key_rules, parse_max_age, parse_setting
from onetake.steps import Policy
from onetake.stores.directory import DirectoryStore
from onetake.tracebacks import family
from onetake.traffic import Traffic


@dataclass(frozen=True, slots=True)
class Options:
    """What `use_cassette` and the marker take; None means "as the settings say"."""

    name: str | Path
    mode: Mode | str | None = None
    contract: Any = None
    schema_version: int | None = None
    repeats: Repeats | str | None = None
    keep: Sequence[str] | None = None
    on_reject: str | None = None
    key: KeyRules | Mapping[str, Any] | None = None
    hosts: Sequence[str] = ()
    ignore: Sequence[str] = ()
    max_age: MaxAge | Mapping[str, Any] | None = None
    refusals: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str | Path) or not str(self.name):
            raise UsageError(f"a cassette's name is a text or a path, not {self.name!r}")


class Session:
    """An open cassette. Made by `use_cassette` and by the `cassette` fixture, not by hand.

    Args:
        options: What was asked for.
        settings: The project's settings.
        default: The mode where nobody says anything.
        test: The test's id; its entries wait aside until it has passed.
        owned: True where the cassette is this test's alone, so that what the test does not ask for is nobody's.
    """

    def __init__(
        self, options: Options, settings: Settings, default: Mode, test: str = "", *, owned: bool = False
    ) -> None:
        folder = settings.root / options.name
        policy = _policy(options, settings, default, test)
        pending = DirectoryStore(aside(settings.root, "pending", folder)) if test else None
        self._records = decide(policy.mode, Found.ABSENT, being_made=True) is Action.RECORD
        self._cassette = Cassette(DirectoryStore(folder, _place(folder, settings)), pending, resume=self._records)
        self._trash = DirectoryStore(aside(settings.root, "trash", folder)) if owned else None
        # A file of its own in the cassette's folder there: one cassette may lie inside another.
        self._marker = aside(settings.root, "making", folder) / "begun"
        self._made_here = False
        self._being_made = self._cassette.was_empty or self._marker.is_file()
        self._fails: bool = _said("refusals", options.refusals, settings.refusals) == "fail"
        self._ledger = Ledger()
        self._engine = Engine(
            policy,
            self._cassette,
            Cassette(DirectoryStore(aside(settings.root, "rejects", folder))),
            self._ledger,
            being_made=lambda: self._being_made,
            on_record=self._mark if pending is None else _nothing,
            elsewhere=lambda key: elsewhere(folder, key, settings.root),
        )
        self._scope: active.Scope | None = None

    @property
    def mode(self) -> Mode:
        """The mode it runs in."""
        return self._engine.policy.mode

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every readable entry of the cassette, by key and ordinal."""
        return tuple(entry for _, _, entry in self._cassette.all() if isinstance(entry, Entry))

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request that was asked, as it left its client, in the order of asking."""
        return tuple(self._engine.requests)

    @property
    def played(self) -> tuple[Entry, ...]:
        """The entries that were replayed, in the order of asking."""
        found = (self._cassette.load(key, ordinal) for key, ordinal in self._engine.played)
        return tuple(entry for entry in found if isinstance(entry, Entry))

    @property
    def recorded(self) -> tuple[Entry, ...]:
        """The entries that were written."""
        return tuple(self._engine.recorded)

    @property
    def rejects(self) -> tuple[Entry, ...]:
        """The answers that the gate refused."""
        return tuple(self._engine.rejected)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """Every refusal, the expected ones too."""
        return self._ledger.all

    @property
    def open_refusals(self) -> tuple[Refusal, ...]:
        """The refusals that nobody expected or handled; they fail the session at its end."""
        return self._ledger.open

    @property
    def unused(self) -> tuple[Entry, ...]:
        """The entries that this session neither replayed nor wrote."""
        touched = set(self._engine.played) | {(entry.key, entry.ordinal) for entry in self._engine.recorded}
        return tuple(entry for entry in self.entries if (entry.key, entry.ordinal) not in touched)

    def expect_refusal(self) -> AbstractContextManager[Expected]:
        """Open a block in which a refusal is expected: it is acknowledged, and swallowed if it comes through.

        Raises:
            UsageError: The block ended without a refusal.
        """
        return self._ledger.expecting()

    def open(self, *, ambient: bool = False) -> active.Scope:
        """Begin: from here on its engine answers the calls of contexts that are bound to its scope, or to none.

        Args:
            ambient: True where threads that are started in a context bound to none belong to it too.
        """
        patching.install()
        self._scope = active.enter(self._engine, ambient=ambient)
        return self._scope

    def close(self) -> None:
        """End: a call that still comes under this session is refused in its name."""
        if self._scope is not None:
            active.leave(self._scope)
            self._scope = None

    def settle(self, error: BaseException | None = None) -> None:
        """Bring the ledger up at the end of what the session is for, so that nothing that was swallowed stays hidden.

        Args:
            error: What is on its way out, if anything: refusals then become a note on it.

        Raises:
            Refusal: The first that nobody expected or handled, unless an error is on its way, or refusals are only
                reported.
            AdapterError: No call came here, and a tool that answers for a client is active beside us.
        """
        left = self._ledger.open
        if error is None and not left:
            self._check_rival()
            self._end_making()
        if not left or not self._fails:
            return
        if error is None:
            raise self._engine.in_callers_form(left[0])
        if not any(part in left for part in family(error)):
            error.add_note(f"onetake refused {len(left)} call{'s' if len(left) != 1 else ''}; the first: {left[0]}")

    @property
    def pending_place(self) -> str:
        """Where a test's entries wait, for messages."""
        return self._cassette.pending_place

    @property
    def ledger(self) -> Ledger:
        """The book of its refusals, which outlives it: a call may still come after its end."""
        return self._ledger

    @property
    def fails(self) -> bool:
        """True where a refusal that nobody expected or handled fails the test, False where it is only listed."""
        return self._fails

    @property
    def resumed(self) -> tuple[Entry, ...]:
        """The entries that an earlier run of this test, which failed, left, and that answered in this one."""
        return tuple(self._engine.resumed)

    def promote(self) -> tuple[Entry, ...]:
        """Move a passed test's entries from the pending store into its cassette.

        Raises:
            StoreError: One could not be written; it and those after it still wait.
        """
        try:
            return tuple(self._cassette.promote())
        except SecretLeftError as error:
            kinds = ", ".join(sorted({finding.kind for finding in error.args[0]}))
            raise StoreError(f"{self.pending_place}: an entry there holds a secret ({kinds})") from None

    def retire(self) -> None:
        """Move to the trash what a test that passed leaves without use: only in a cassette that is this test's alone.

        That is what its earlier, failed runs left waiting and it did not ask for; and, where every request is asked
        anew, the entries that it did not ask for.
        """
        if self._trash is None or not self._records:
            return
        touched = self._engine.asked | {(entry.key, entry.ordinal) for entry in self._engine.recorded}
        anew = decide(self.mode, Found.VALID, being_made=False) is Action.REPLACE
        self._cassette.retire(touched, self._trash, entries=anew)

    def _mark(self) -> None:
        """Note, before the first entry is written, that the cassette is being made, so that a killed run can go on."""
        if self._cassette.was_empty and not self._made_here:
            try:
                self._marker.parent.mkdir(parents=True, exist_ok=True)
                self._marker.touch()
            except OSError as error:
                raise StoreError(f"{self._marker}: cannot be written: {error.strerror}") from error
            self._made_here = True

    def _check_rival(self) -> None:
        """Name the tool that may have taken every call, so that a test which records nothing does not just pass."""
        asks = decide(self.mode, Found.ABSENT, being_made=False) is not Action.PASS
        if asks and not self._engine.requests and (rival := patching.rival()):
            raise AdapterError(
                f"{rival} and onetake are both active and no call came to onetake: take one of them out of this test"
            )

    def _end_making(self) -> None:
        if self._records and self._being_made:
            self._marker.unlink(missing_ok=True)


def _nothing() -> None:
    """Do nothing: a test's entries wait in the pending store, so its cassette is never half made."""


def _place(folder: Path, settings: Settings) -> str:
    """Return what messages call a cassette: its path from the settings' folder, where it lies below that."""
    return folder.relative_to(settings.root).as_posix() if folder.is_relative_to(settings.root) else str(folder)


def _policy(options: Options, settings: Settings, default: Mode, test: str) -> Policy:
    contracts = as_contracts(
        options.contract,
        root=settings.root,
        declared=settings.contracts,
        schema_version=options.schema_version,
    )
    rules = _joined(settings.key, key_rules(options.key))
    return Policy(
        mode=modes.resolve(options.mode, settings.mode, default),
        root=settings.root,
        repeats=_said("repeats", options.repeats, settings.repeats or Repeats.SEQUENCE),
        contracts=contracts,
        declared=settings.contracts,
        keep=_said("keep", options.keep, settings.keep),
        on_reject=_said("on_reject", options.on_reject, settings.on_reject),
        keyer=Keyer(rules),
        scrubber=Scrubber(settings.scrub, key_headers=rules.headers),
        traffic=Traffic(
            hosts=[*settings.hosts, *parse_setting("hosts", options.hosts, "hosts")],
            ignore=[*settings.ignore, *parse_setting("ignore", options.ignore, "ignore")],
            quiet=settings.quiet,
        ),
        max_age=parse_max_age(options.max_age) or settings.max_age,
        test=test,
    )


def _said(name: str, own: object, otherwise: Any) -> Any:
    """Return what the marker or the call says, checked; where it says nothing, what holds otherwise."""
    return otherwise if own is None else parse_setting(name, own, name)


def _joined(settings: KeyRules, own: KeyRules) -> KeyRules:
    """Add a session's own key rules to the settings'."""
    return KeyRules(
        ignore=settings.ignore + own.ignore,
        ids=settings.ids + own.ids,
        volatile=tuple(dict.fromkeys(settings.volatile + own.volatile)),
        replace=settings.replace + own.replace,
        headers=settings.headers + own.headers,
        origins={**settings.origins, **own.origins},
    )
