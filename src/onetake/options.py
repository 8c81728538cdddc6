"""What a session is asked for, and with the settings what it goes by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onetake import modes
from onetake.contract import as_contracts
from onetake.errors import UsageError
from onetake.key import Keyer
from onetake.model import Mode, Repeats
from onetake.scrub import Scrubber
from onetake.settings import KeyRules, MaxAge, Settings, key_rules, parse_max_age, parse_setting
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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str | Path) or not str(self.name):
            raise UsageError(f"a cassette's name is a text or a path, not {self.name!r}")


def policy_of(options: Options, settings: Settings, default: Mode, test: str = "") -> Policy:
    """Return what a session goes by: what was asked for, and where that says nothing, the settings.

    Args:
        options: What was asked for.
        settings: The project's.
        default: The mode where nobody says anything.
        test: The test's id; empty outside tests.

    Raises:
        UsageError: A value is wrong.
    """
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
        repeats=said("repeats", options.repeats, settings.repeats or Repeats.SEQUENCE),
        contracts=contracts,
        declared=settings.contracts,
        keep=said("keep", options.keep, settings.keep),
        on_reject=said("on_reject", options.on_reject, settings.on_reject),
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


def said(name: str, own: object, otherwise: Any) -> Any:
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
