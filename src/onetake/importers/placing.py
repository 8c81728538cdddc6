"""Where the entries of a file go, and what settings count there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from onetake.contract import as_contracts
from onetake.importers.judging import Rules
from onetake.importers.reading import stem_of
from onetake.key import Keyer
from onetake.options import without_secrets
from onetake.scrub import Scrubber
from onetake.settings import Settings, load_settings
from onetake.settings_files import nearest_file
from onetake.stores.naming import folder_name
from onetake.traffic import Traffic
from onetake.vcrwords.naming import ENDINGS


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user asks for; plain, so that it goes from one process to another."""

    to: Path | None = None
    """The folder that cassettes are put under; None puts each beside its file."""
    keep: tuple[str, ...] = ()
    keep_bodyless: bool = False
    contracts: tuple[str, ...] = ()
    """Names of contracts that the settings declare."""
    blame: bool = False
    """Whether git is asked which commit a file is of."""
    writes: bool = True


@dataclass(frozen=True, slots=True)
class File:
    """One file to import."""

    path: Path
    target: Path
    """The folder of its cassette."""
    base: Path
    """What the user named: the file itself, or a folder above it."""
    start: Path | None = None
    """Where the search for the settings that count starts; None for `target`."""


def target_of(path: Path, base: Path, to: Path | None) -> Path:
    """Return the folder of a file's cassette: named as the file without its ending and secrets, as a test's own is.

    Args:
        path: The file.
        base: What the user named: the file itself, or a folder above it.
        to: As in `Choices`.

    Raises:
        UsageError: The settings there are wrong.
    """
    folder, scrubber = path.parent, _scrubber_at((to or path.parent).absolute())
    if to is not None:
        folder = to
        for part in path.parent.relative_to(base).parts if base.is_dir() else ():
            folder /= without_secrets(part, scrubber)
    stem = stem_of(path)
    first = next((each for end in ENDINGS if (each := path.with_name(stem + end)) == path or each.exists()), path)
    # Of two formats of one name the first has the name of the test; the other would come into its midst.
    return folder / folder_name(without_secrets(stem if first == path else path.name, scrubber))


@lru_cache(16)
def _scrubber_at(folder: Path) -> Scrubber:
    return rules_of(folder, Choices()).scrubber


def rules_of(target: Path, choices: Choices) -> Rules:
    """Return what counts for the cassette in a folder.

    Raises:
        UsageError: The settings there are wrong, or declare no contract of such a name.
    """
    found = nearest_file(target.absolute())
    return _rules(found.path if found else None, Path.cwd(), choices)


@lru_cache(16)
def _rules(file: Path | None, here: Path, choices: Choices) -> Rules:
    settings = load_settings(file) if file else Settings(root=here)
    contracts = as_contracts(
        list(choices.contracts), root=settings.root, declared=settings.contracts, prefix=settings.prefix
    )
    return Rules(
        root=settings.root,
        keyer=Keyer(settings.key),
        scrubber=Scrubber(settings.scrub, key_headers=settings.key.headers),
        traffic=Traffic(hosts=settings.hosts, ignore=settings.ignore, quiet=settings.quiet),
        contracts=contracts,
        keep=choices.keep or settings.keep,
        keep_bodyless=choices.keep_bodyless,
        replayed=settings.keep,
    )


def named_in(file: File, root: Path) -> str:
    """Return a file's name as the provenance has it: its path from the project's folder.

    Args:
        file: The file.
        root: The project's folder. Of a file outside it, the name begins above what the user named.
    """
    full, base = file.path.resolve(), root.resolve()
    if not full.is_relative_to(base):
        base = _named_from(file.base)
    return full.relative_to(base).as_posix() if full.is_relative_to(base) else full.name


def _named_from(base: Path) -> Path:
    """Return the folder from which files outside the project are named: two above the one that the user named.

    So `a/cassettes` and `b/cassettes` are not the same; where they lie is of this machine, and no part of an entry.
    """
    full = base.resolve()
    above = (full if full.is_dir() else full.parent).parent
    return above if _is_home(above) else above.parent


def _is_home(folder: Path) -> bool:
    """Tell whether a folder has the name of an account."""
    try:
        return folder == Path.home().resolve()
    except RuntimeError:  # nobody knows
        return False
