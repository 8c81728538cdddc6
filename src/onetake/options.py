"""What a session is asked for, and with the settings what it goes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onetake import modes
from onetake.errors import UsageError
from onetake.model import Mode, Repeats
from onetake.settings import KeyRules, MaxAge, Settings, key_rules, parse_max_age, parse_setting

if TYPE_CHECKING:
    from onetake.contract import Contract
    from onetake.scrub import Scrubber
    from onetake.steps import Policy
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
    match: str | None = None
    spared: Sequence[str] = ()
    """What the suite's own `ignore_hosts` for vcrpy lets pass; no keyword of ours."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str | Path) or not str(self.name):
            raise UsageError(f"a cassette's name is a text or a path, not {self.name!r}")
        if "\0" in str(self.name):
            raise UsageError("a cassette's name holds a NUL character, which no folder's name can")


@dataclass(frozen=True, slots=True)
class FromOutside(Options):
    """What a session takes that is opened from outside the code: that of a program, or another process's."""

    is_program: bool = False
    """True where it is a whole program's."""
    mode_by: str | None = None
    """Who said the mode, where another process knows it."""


def policy_of(
    options: Options, settings: Settings, default: Mode, test: str = "", node: str = "", unrecorded: str = ""
) -> Policy:
    """Return what a session goes by: what was asked for, and where that says nothing, the settings.

    Args:
        options: What was asked for.
        settings: The project's.
        default: The mode where nobody says anything.
        test: The test's id; empty outside tests.
        node: The test as its runner is told it from the current folder; empty outside tests.
        unrecorded: Why this process records nothing although its session does; empty where it goes by the mode.

    Raises:
        UsageError: A value is wrong.
    """
    # Loaded here: the pytest plugin needs the options of sessions that hardly any suite opens.
    from onetake.key import Keyer
    from onetake.scrub import Scrubber
    from onetake.steps import Policy

    outside = options if isinstance(options, FromOutside) else FromOutside(options.name)
    mode = modes.resolve(options.mode, settings.mode, default)
    rules = joined(settings.key, key_rules(options.key))
    scrubber = Scrubber(settings.scrub, key_headers=rules.headers)
    return Policy(
        mode=mode,
        root=settings.root,
        repeats=said("repeats", options.repeats, settings.repeats or _repeats_of(outside)),
        match=said("match", options.match, settings.match),
        contracts=_contracts_of(options, settings),
        declared=settings.contracts,
        keep=said("keep", options.keep, settings.keep),
        on_reject=said("on_reject", options.on_reject, settings.on_reject),
        keyer=Keyer(rules),
        scrubber=scrubber,
        traffic=_traffic_of(options, settings, mode),
        max_age=parse_max_age(options.max_age) or settings.max_age,
        test=scrubber.begin().text(test),
        node=scrubber.begin().text(node),
        mode_by=modes.said_by(options.mode, settings.mode) if outside.mode_by is None else outside.mode_by,
        is_program=outside.is_program,
        prefix=settings.prefix,
        unrecorded=unrecorded,
    )


def _contracts_of(options: Options, settings: Settings) -> tuple[Contract, ...]:
    from onetake.contract import as_contracts

    return as_contracts(
        options.contract,
        root=settings.root,
        declared=settings.contracts,
        schema_version=options.schema_version,
        prefix=settings.prefix,
    )


def _traffic_of(options: Options, settings: Settings, mode: Mode) -> Traffic:
    from onetake.decide import never_goes_live
    from onetake.traffic import Traffic

    return Traffic(
        hosts=[*settings.hosts, *parse_setting("hosts", options.hosts, "hosts")],
        ignore=[*settings.ignore, *parse_setting("ignore", options.ignore, "ignore")],
        quiet=settings.quiet,
        spared=options.spared,
        sealed=never_goes_live(mode),
    )


def _repeats_of(options: FromOutside) -> Repeats:
    """Return how repeats count where nobody says anything: a program asks in an order that is nobody's to know."""
    return Repeats.SAME if options.is_program else Repeats.SEQUENCE


def cassette_folder(name: str | Path, root: Path, scrubber: Scrubber) -> Path:
    """Return the folder that a cassette's name means, without the secrets in that name.

    Args:
        name: As it was given.
        root: The settings' folder, from which it counts; what lies above is the machine's and stays as it is.
        scrubber: What knows the secrets.
    """
    folder = root / name
    above = root if folder.is_relative_to(root) else folder.parent
    return above / without_secrets(str(folder.relative_to(above)), scrubber)


def without_secrets(name: str, scrubber: Scrubber) -> str:
    """Return a name as it may be on disk: names that differ only in their secrets still differ, by a digest.

    Args:
        name: Of a cassette or of a test.
        scrubber: What knows the secrets.
    """
    shown = scrubber.begin().text(name)
    return name if shown == name else f"{shown}~{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def said(name: str, own: object, otherwise: Any) -> Any:
    """Return what the marker or the call says, checked; where it says nothing, what holds otherwise."""
    return otherwise if own is None else parse_setting(name, own, name)


def joined(settings: KeyRules, own: KeyRules) -> KeyRules:
    """Return the settings' key rules with a session's own behind them."""
    return KeyRules(
        ignore=settings.ignore + own.ignore,
        ids=settings.ids + own.ids,
        volatile=tuple(dict.fromkeys(settings.volatile + own.volatile)),
        replace=settings.replace + own.replace,
        headers=settings.headers + own.headers,
        origins={**settings.origins, **own.origins},
    )
