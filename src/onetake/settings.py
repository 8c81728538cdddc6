"""`[tool.onetake]`: read from the nearest file, every name checked.

The file nearest above the test or the program's main file counts, alone: `onetake.toml`, or `pyproject.toml` with a
`[tool.onetake]` table. Relative paths count from its folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onetake import settings_values as values
from onetake.errors import UsageError
from onetake.model import Mode, Repeats
from onetake.settings_files import folder_of, nearest_file


@dataclass(frozen=True, slots=True)
class Replace:
    """One rule of `key.replace`: what `pattern` (a regular expression) finds in a string counts as `to`."""

    pattern: str
    to: str


@dataclass(frozen=True, slots=True)
class KeyRules:
    """The named rules of what counts as the same request; without any, the whole request does.

    Args:
        ignore: JSON paths that are left out: `.name`, `["name"]`, `[n]`, `[*]` after `$`.
        ids: JSON paths of client-invented ids, which become 1st, 2nd, … by first appearance, one numbering for all.
        volatile: `today` is the only one: the current date, in the listed spellings, counts as one placeholder.
        replace: Replacements in strings, in this order.
        headers: Headers that count, besides the built-in ones; lower case.
        origins: `scheme://host:port` (port may be `*`) to the word that stands for it; those requests share entries.
    """

    ignore: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    volatile: tuple[str, ...] = ()
    replace: tuple[Replace, ...] = ()
    headers: tuple[str, ...] = ()
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScrubRules:
    """What is scrubbed besides the built-in list.

    Args:
        paths: JSON paths (grammar of the key rules) whose values are secrets, in request and response bodies.
        patterns: Regular expressions of secrets.
        keep_headers: Response headers that are kept besides the built-in ones; lower case.
    """

    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    keep_headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContractSettings:
    """One `[tool.onetake.contracts.NAME]`: `schema` is a file (from the settings' folder) or `module:Type`."""

    name: str
    schema: str
    schema_version: int = 1
    watch: tuple[str, ...] = ()
    on: str = "text"
    frozen: str | None = None
    """Of a type: the file that its schema is frozen to; None for `schemas/NAME.json`."""
    label_paths: tuple[str, ...] = ()
    """JSON paths of the places in an answer that say what was decided; a probe compares their values."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """`[tool.onetake.credentials]`: never a credential itself.

    Args:
        dummies: Variable to the harmless value that stands in for it in a session that never goes live.
        origins: `scheme://host:port` to the variable that holds the credential of what is asked there again; an empty
            name where none is wanted.
    """

    dummies: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MaxAge:
    """How old an entry may be, in days from its recording, and what happens then: `warn`, `fail` or `rerecord`."""

    days: float
    then: str = "warn"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a project, with their defaults; None means "the default of where it is used"."""

    root: Path
    """The folder of the settings file, or the current folder: relative names count from here, `.onetake/` lies here."""
    mode: Mode | None = None
    repeats: Repeats | None = None
    keep: tuple[str, ...] = ()
    on_reject: str = "raise"
    refusals: str = "fail"
    match: str = "whole"
    """What of a request is compared: `whole`, or `legacy` for imported entries, by method and URL."""
    legacy_differing: int | None = None
    """How many answers may go to requests that differ from the recorded ones; None where nobody has counted."""
    legacy_loose: int | None = None
    """How many loose entries there may be; None where nobody has counted."""
    hosts: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    max_age: MaxAge | None = None
    probe_after: float | None = None
    """Days after which an entry should be probed; None where age alone is no reason."""
    pinned: tuple[str, ...] = ()
    """Entries that nothing prunes: paths with `*` and `?`, or the first hex digits of keys."""
    key: KeyRules = field(default_factory=KeyRules)
    contracts: Mapping[str, ContractSettings] = field(default_factory=dict)
    scrub: ScrubRules = field(default_factory=ScrubRules)
    credentials: Credentials = field(default_factory=Credentials)
    """Which variables hold credentials: those that need a harmless value, and those that a probe sends, and where."""
    prefix: str = field(default="tool.onetake.", compare=False)
    """What stands before the name of a table where these settings are written."""


def load_settings(start: Path) -> Settings:
    """Read the settings that count for a file or folder.

    Args:
        start: A test's or program's file, or a folder; it need not exist.

    Returns:
        Those of the nearest `onetake.toml`, or `pyproject.toml` with a `[tool.onetake]` table, in its folder or above;
        in one folder `onetake.toml` goes first. Without any, the defaults, with the folder as root.

    Raises:
        UsageError: That file cannot be read or is no TOML, a name in it is unknown, or a value is wrong.
    """
    found = nearest_file(start)
    if found is None:
        return Settings(root=folder_of(start))
    read = values.table(found.table, found.where, _READERS)
    return Settings(root=found.path.parent, prefix=found.prefix, **read)


def parse_setting(name: str, value: object, where: str) -> Any:
    """Check one setting's value, wherever it was given.

    Args:
        name: The setting's name, as in `Settings`.
        value: As TOML gives it, or as a marker or a call does.
        where: What messages call its place: `pyproject.toml: tool.onetake.mode`, `use_cassette(mode=…)`.

    Returns:
        What `Settings` holds for it.

    Raises:
        UsageError: The value is wrong; says what would be right.
    """
    return _READERS[name](value, where)


def parse_mode(word: str) -> Mode:
    """Return the mode that a word names: VCR's five, and `replay` for `none`, `rewrite` for `all`.

    Raises:
        UsageError: No mode is called so; names the nearest.
    """
    return _mode(word, "mode")


def parse_max_age(value: MaxAge | Mapping[str, Any] | None) -> MaxAge | None:
    """Return what `max_age` says in a marker or call: `{"days": 90, "then": "warn"}`.

    Raises:
        UsageError: Another name or value.
    """
    return value if value is None or isinstance(value, MaxAge) else _max_age(value, "max_age")


def key_rules(value: KeyRules | Mapping[str, Any] | None) -> KeyRules:
    """Return what `key` says in a marker or call; the names are those of `[tool.onetake.key]`.

    Raises:
        UsageError: Another name or value.
    """
    return value if isinstance(value, KeyRules) else _key({} if value is None else value, "key")


def _replace(value: object, where: str) -> tuple[Replace, ...]:
    readers = {"pattern": values.text, "with": values.any_text}
    rules = values.each(value, where, lambda item, place: values.table(item, place, readers, required=readers))
    return tuple(Replace(rule["pattern"], rule["with"]) for rule in rules)


def _key(value: object, where: str) -> KeyRules:
    texts = dict.fromkeys(("ignore", "ids", "volatile"), values.texts)
    readers = texts | {"replace": _replace, "headers": values.lower_texts, "origins": _origins}
    return KeyRules(**values.table(value, where, readers))


def _scrub(value: object, where: str) -> ScrubRules:
    readers = {"paths": values.texts, "patterns": values.texts, "keep_headers": values.lower_texts}
    return ScrubRules(**values.table(value, where, readers))


def _max_age(value: object, where: str) -> MaxAge:
    readers = {"days": values.days, "then": values.one_of(_words("warn", "fail", "rerecord"))}
    return MaxAge(**values.table(value, where, readers, required=["days"]))


def _contracts(value: object, where: str) -> dict[str, ContractSettings]:
    readers = {
        "schema": values.text,
        "schema_version": values.whole(1),
        "watch": values.texts,
        "on": values.selector,
        "frozen": values.text,
        "label_paths": values.json_paths,
    }
    found = values.named(value, where, lambda item, place: values.table(item, place, readers, required=["schema"]))
    for name, item in found.items():
        if "frozen" in item and not values.TYPE.fullmatch(item["schema"]):
            right = f'a schema "module:Type"; {item["schema"]!r} is a file, and frozen already'
            raise UsageError(f"{values.within(where, name)}.frozen: goes with {right}")
    return {name: ContractSettings(name=name, **item) for name, item in found.items()}


def _credentials(value: object, where: str) -> Credentials:
    said = values.mapping(value, where, '{ VARIABLE = "…" } or { "https://…" = "VARIABLE" }')
    origins = {name: item for name, item in said.items() if "://" in name}
    dummies = {name: item for name, item in said.items() if name not in origins}
    return Credentials(values.variables(dummies, where), values.origins(origins, where))


def _origins(value: object, where: str) -> dict[str, str]:
    return values.named(value, where, values.text)


def _words(*words: str) -> dict[str, str]:
    return {word: word for word in words}


_MODES = {**{mode.value: mode for mode in Mode}, "replay": Mode.NONE, "rewrite": Mode.ALL}
MODE_WORDS = tuple(_MODES)
"""Every word for a mode, as command lines list them."""
_mode = values.one_of(_MODES)

_READERS: dict[str, values.Reader] = {
    "mode": _mode,
    "repeats": values.one_of({repeats.value: repeats for repeats in Repeats}),
    "keep": values.kept,
    "on_reject": values.one_of(_words("raise", "pass")),
    "refusals": values.one_of(_words("fail", "report")),
    "match": values.one_of(_words("whole", "legacy")),
    "legacy_differing": values.whole(0),
    "legacy_loose": values.whole(0),
    "hosts": values.texts,
    "ignore": values.texts,
    "quiet": values.texts,
    "max_age": _max_age,
    "probe_after": values.days,
    "pinned": values.texts,
    "key": _key,
    "contracts": _contracts,
    "scrub": _scrub,
    "credentials": _credentials,
}
