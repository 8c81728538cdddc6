"""`[tool.onetake]`: read from the nearest file, every name checked.

The file nearest above the test or the program's main file counts, alone: `onetake.toml`, or `pyproject.toml` with a
`[tool.onetake]` table. Relative paths count from its folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from onetake.model import Mode, Repeats


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
    label_paths: tuple[str, ...] = ()


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
    source: Path | None = None
    """The file they came from."""
    mode: Mode | None = None
    repeats: Repeats | None = None
    keep: tuple[str, ...] = ()
    on_reject: str = "raise"
    refusals: str = "fail"
    match: str = "whole"
    legacy_differing: int | None = None
    hosts: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    quiet: tuple[str, ...] = ()
    max_age: MaxAge | None = None
    probe_after: float | None = None
    key: KeyRules = field(default_factory=KeyRules)
    contracts: Mapping[str, ContractSettings] = field(default_factory=dict)
    scrub: ScrubRules = field(default_factory=ScrubRules)
    credentials: Mapping[str, str] = field(default_factory=dict)
