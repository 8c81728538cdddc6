"""The settings that count for stored entries, and the contracts of today that they declare."""

from __future__ import annotations

import contextlib
import copy
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from onetake.contract import Contract, as_contracts, names_type, stored_contract
from onetake.contract.watch import REMEDY, unparsed, watch_digest, watched
from onetake.errors import FormatError, UsageError
from onetake.model import Repeats
from onetake.printable import one_line
from onetake.scrub import Scrubber
from onetake.settings import ContractSettings, Settings, load_settings
from onetake.settings_files import NAMES, nearest_file
from onetake.upkeep.freezing import Frozen, read_frozen
from onetake.upkeep.limits import TookTooLongError
from onetake.upkeep.probed import ProbeBook
from onetake.upkeep.settings_lines import line_of


class Project:
    """One settings file, and what it means for the entries below it.

    Args:
        settings: What it says.
        file: The file itself; None where there is none, and the defaults hold.
        importing: True imports the types that it declares contracts by; else a type counts as it was frozen.
    """

    def __init__(self, settings: Settings, file: Path | None, *, importing: bool) -> None:
        self.settings = settings
        self.file = file
        self.importing = importing
        self._contracts: dict[str, Contract | None] = {}
        self._frozen: dict[str, Frozen] = {}
        self._watched: dict[str, str | None] = {}
        self._wrong: dict[str, str] = {}
        self._unwatched: dict[str, str] = {}
        self._unparsed: dict[str, list[str]] = {}
        self._scrubbers: dict[tuple[str, ...], Scrubber] = {}

    @cached_property
    def probes(self) -> ProbeBook:
        """What probes said of its entries, read when it is first asked for."""
        return ProbeBook(self.settings.root)

    @property
    def means_one_answer(self) -> bool | None:
        """Whether all identical requests get one answer by the settings; None where those do not say."""
        repeats = self.settings.repeats
        return None if repeats is None else repeats is Repeats.SAME

    def declared(self, name: str) -> ContractSettings | None:
        """Return what the settings say of a contract, None where they do not declare it."""
        return self.settings.contracts.get(name)

    def frozen(self, declared: ContractSettings) -> Frozen | None:
        """Return the file that a declared type is frozen to, as it is; None where the contract is no type."""
        if not names_type(declared.schema):
            return None
        if declared.name not in self._frozen:
            self._frozen[declared.name] = read_frozen(declared, self.settings.root)
        return self._frozen[declared.name]

    def contract(self, declared: ContractSettings) -> Contract | None:
        """Return a declared contract of today: a type as it was frozen, where nothing is imported.

        Returns:
            None where only importing would give it.

        Raises:
            UsageError: It is wrong, or cannot be imported.
        """
        name = declared.name
        if name not in self._contracts:
            frozen = None if self.importing else self.frozen(declared)
            kept = frozen.contract if frozen else None
            made = self.imported(declared) if frozen is None else kept and aimed(kept, declared.on)
            self._contracts[name] = made
        return self._contracts[name]

    def wrong(self, declared: ContractSettings) -> str:
        """Say why there is no contract of what the settings declare; empty where it is right, or not imported."""
        name = declared.name
        if name not in self._wrong:
            self._wrong[name] = ""
            try:
                self.contract(declared)
            except UsageError as error:
                self._wrong[name] = str(error)
        return self._wrong[name]

    def watch(self, declared: ContractSettings) -> str | None:
        """Return the digest that the files of a contract have today; None where it watches none.

        Raises:
            UsageError: A watched path names no file.
        """
        name = declared.name
        if name not in self._watched:
            self._watched[name] = watch_digest(declared.watch, self.settings.root, name)
        return self._watched[name]

    def unwatched(self, declared: ContractSettings) -> str:
        """Say why the files that a contract watches are not to be had, all of them; empty where they are."""
        name = declared.name
        if name not in self._unwatched:
            self._unwatched[name] = ""
            try:
                self.watch(declared)
            except UsageError as error:
                self._unwatched[name] = str(error).removesuffix(f": {REMEDY}")
        return self._unwatched[name]

    def unparsed(self, declared: ContractSettings) -> list[str]:
        """Name the Python files that a contract watches and that cannot be parsed, each with the reason.

        Raises:
            UsageError: A watched path names no file.
        """
        name = declared.name
        if name not in self._unparsed:
            self._unparsed[name] = unparsed(watched(declared.watch, self.settings.root, name))
        return self._unparsed[name]

    def scrubber(self, headers: tuple[str, ...]) -> Scrubber:
        """Return the project's scrubber.

        Args:
            headers: Request headers that an entry's own key rules count, and which are therefore kept.
        """
        if headers not in self._scrubbers:
            keyed = (*self.settings.key.headers, *headers)
            self._scrubbers[headers] = Scrubber(self.settings.scrub, key_headers=keyed)
        return self._scrubbers[headers]

    def place(self, declared: ContractSettings) -> tuple[Path, int]:
        """Return the file that a contract's schema is read in, and the line: of the settings where that is a type."""
        if not names_type(declared.schema) or self.file is None:
            return self.settings.root / declared.schema, 1
        return self.said(declared, "schema")

    def said(self, declared: ContractSettings, setting: str) -> tuple[Path, int]:
        """Return the settings file, and the line that says a setting of a contract; the folder where there is none."""
        file = self.file
        return (file, line_of(file, declared.name, setting)) if file else (self.settings.root, 1)

    def imported(self, declared: ContractSettings) -> Contract:
        """Return a declared contract; a type is imported.

        Raises:
            UsageError: It is wrong, or cannot be imported.
        """
        name, settings = declared.name, self.settings
        try:
            # What a module prints while it is imported is no part of a command's output.
            with contextlib.redirect_stdout(sys.stderr):
                (contract,) = as_contracts(
                    name, root=settings.root, declared=settings.contracts, prefix=settings.prefix
                )
        except UsageError:
            raise
        except (Exception, SystemExit) as error:
            # A module of the project may raise anything while it is imported.
            why = one_line(f"{type(error).__name__}: {error}", 300)
            raise UsageError(f"contract {name!r}: {settings.contracts[name].schema} broke: {why}") from error
        return contract


class Projects:
    """The project of each folder: of the settings file nearest above it, each read once.

    Args:
        start: Where the defaults hold for what lies under no settings file.
        importing: As for `Project`.
    """

    def __init__(self, start: Path, *, importing: bool) -> None:
        self._start = start.absolute()
        self._importing = importing
        self._of: dict[Path, Project] = {}
        self._by_file: dict[Path | None, Project] = {}

    def __iter__(self) -> Iterator[Project]:
        return iter(self._by_file.values())

    def of(self, folder: Path) -> Project:
        """Return the project that counts for an absolute folder.

        Raises:
            UsageError: Its settings are wrong.
        """
        if folder not in self._of:
            is_own = any((folder / name).is_file() for name in NAMES)
            is_top = folder.parent == folder
            self._of[folder] = self._read(folder) if is_own or is_top else self.of(folder.parent)
        return self._of[folder]

    def _read(self, folder: Path) -> Project:
        found = nearest_file(folder)
        file = found.path if found else None
        if file not in self._by_file:
            settings = load_settings(folder) if file else Settings(root=self._start)
            self._by_file[file] = Project(settings, file, importing=self._importing)
        return self._by_file[file]


class Schemas:
    """The contracts that stored schemas make, each compiled once for all cassettes that hold it."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, bytes], Contract | FormatError] = {}

    def contract(self, digest: str, data: bytes) -> Contract:
        """Return the contract of a stored schema; its name is the file's: entries may call it anything.

        Args:
            digest: The digest that its file's name says.
            data: The file's bytes; what another cassette holds too is compiled once.

        Raises:
            FormatError: The file holds no schema, or another one.
        """
        if (digest, data) not in self._read:
            self._read[digest, data] = _stored(data, digest)
        found = self._read[digest, data]
        if isinstance(found, FormatError):
            raise found
        return found


def _stored(data: bytes, digest: str) -> Contract | FormatError:
    """Read a stored schema, or say why not: one that was made to take for ever is tried once, not for each entry."""
    try:
        return stored_contract(data, digest, f"{digest}.json")
    except FormatError as error:
        return error
    except TookTooLongError as error:
        return FormatError(str(error))


def aimed(contract: Contract, on: str) -> Contract:
    """Return a contract that judges other answers: `text`, `tool:NAME` or `schema:NAME`; compiled once all the same."""
    other = copy.copy(contract)
    other.on = on
    return other
