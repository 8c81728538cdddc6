"""What a run of all tests left without use."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from onetake.errors import OnetakeError
from onetake.model import Entry
from onetake.pytest_items import FOLDER_END
from onetake.settings import load_settings
from onetake.stores import open_store
from onetake.stores.naming import Slot
from onetake.usage import Used, entries_in, holds_replies

_CONFTEST = "conftest"

Identity = tuple[int, int] | str


@dataclass(slots=True)
class Facts:
    """What a process knows of a run: what it collected, and which cassettes must be spared.

    Args:
        modules: The real paths of the test modules that were collected.
        partly: Those of which some tests are not known: skipped as a whole, or broken.
        spared: The folders of cassettes whose tests did not run to their end: skipped, expected to fail, left out.
        fixtures: The names of the fixtures that those tests use.
        functions: The tests that were collected, left out or not: `<module>==<Class>.<name[parameters]>`; and their
            functions: `<module>::<Class>.<name>`.
        count: How many tests were collected, and not left out.
        healthy: False where the process ended otherwise than well.
    """

    modules: set[str] = field(default_factory=set)
    partly: set[str] = field(default_factory=set)
    spared: set[str] = field(default_factory=set)
    fixtures: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    count: int = 0
    healthy: bool = True

    def add(self, other: Facts) -> None:
        """Add what another process knows."""
        for name in ("modules", "partly", "spared", "fixtures", "functions"):
            getattr(self, name).update(getattr(other, name))
        self.count = max(self.count, other.count)
        self.healthy = self.healthy and other.healthy

    def as_plain(self) -> dict[str, Any]:
        """Return it in plain types, which a worker of pytest-xdist can send."""
        return {name: sorted(value) if isinstance(value, set) else value for name, value in asdict(self).items()}


def facts_of(plain: dict[str, Any]) -> Facts:
    """Return what `as_plain` made plain."""
    values: dict[str, Any] = {name: set(one) if isinstance(one, list) else one for name, one in plain.items()}
    return Facts(**values)


@dataclass(slots=True)
class Opened:
    """A cassette that was opened in a run.

    Args:
        root: The settings' folder, its real path.
        folder: Its own, the real path.
        used: The entries that were used.
        known: False where others may have been used too.
        owned: True where it is one test's own, and nothing else opened it.
        outside: True where `use_cassette` opened it: which tests do, nobody can tell before they run.
        tests: Of what was used, which each test did.
    """

    root: Path
    folder: Path
    used: set[Slot] = field(default_factory=set)
    known: bool = True
    owned: bool = True
    outside: bool = False
    tests: dict[str, set[Slot]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unused:
    """The entries of one cassette that no test used.

    Args:
        root: The settings' folder.
        folder: The cassette's.
        entries: Their names, by slot.
        of: How many entries there are.
        test: The test that recorded all of them; empty where that is not one.
        abandoned: True where no test opened the cassette.
        owned: True where it is one test's own, so that mode `all` retires them.
    """

    root: Path
    folder: Path
    entries: dict[Slot, str]
    of: int
    test: str = ""
    abandoned: bool = False
    owned: bool = False


def identity(folder: Path) -> Identity:
    """Return what is equal for all paths of one folder."""
    try:
        found = folder.stat()
    except OSError:
        return os.path.normcase(os.path.realpath(folder))
    return found.st_dev, found.st_ino


def merged(used: Iterable[Used], outside: Iterable[Used]) -> dict[Identity, Opened]:
    """Merge what the sessions of a run used, by cassette.

    Args:
        used: What those of tests and fixtures used.
        outside: What those that `use_cassette` opened used.
    """
    found: dict[Identity, Opened] = {}
    for one, is_outside in (*((one, False) for one in used), *((one, True) for one in outside)):
        root, folder = (Path(os.path.realpath(path)) for path in (one.root, one.folder))
        opened = found.setdefault(identity(folder), Opened(root, folder))
        opened.used |= one.slots
        opened.known = opened.known and one.known
        opened.owned = opened.owned and one.owned
        opened.outside = opened.outside or is_outside
        if one.test:
            opened.tests.setdefault(one.test, set()).update(one.slots)
    return found


def find_unused(
    opened: dict[Identity, Opened], facts: Facts, left_out: dict[Path, Path], rootdir: Path
) -> Iterator[Unused]:
    """Say what a run of all tests, all of which passed, proves to be unused.

    Args:
        opened: What was opened, by identity.
        facts: What was collected and must be spared.
        left_out: By settings folder: a test module below it that was not collected, so may use what is shared.
        rootdir: pytest's own root folder, from which tests are named.
    """
    spared = {identity(Path(folder)) for folder in facts.spared}
    for key, one in opened.items():
        if key not in spared and _can_tell(one, facts, left_out):
            yield from _left(one)
    for folder in _beside(facts.modules - facts.partly):
        if identity(folder) not in (spared | opened.keys()) and not _is_held(folder, facts):
            yield from _abandoned(folder, facts, left_out, rootdir)


def _left(one: Opened) -> Iterator[Unused]:
    """Yield what of a cassette was not used; where batches keep replies, what of these tests recorded."""
    names = entries_in(one.folder)
    entries = {slot: name for slot, name in names.items() if slot not in one.used}
    if not entries:
        return
    tests = dict(zip(entries, _tests_of(one.folder, entries.values()), strict=True))
    if holds_replies(one.folder):
        entries = {slot: name for slot, name in entries.items() if tests[slot]}
    if entries:
        test = _recorded_by([tests[slot] for slot in entries])
        yield Unused(one.root, one.folder, entries, len(names), test, owned=one.owned)


def _can_tell(one: Opened, facts: Facts, left_out: dict[Path, Path]) -> bool:
    """Tell whether all tests that may use a cassette are known to have run."""
    if not one.known or _is_held(one.folder, facts):
        return False
    if one.outside and (facts.spared or facts.partly or one.root in left_out):
        return False
    return _module(one.folder) in facts.modules or not (facts.partly or one.root in left_out)


def _is_held(folder: Path, facts: Facts) -> bool:
    """Tell whether a fixture has its cassette there, and a test did not run: it may ask for any fixture by name."""
    return folder.name.endswith(FOLDER_END) and bool(facts.spared or facts.fixtures or facts.partly)


def _is_collected(test: str, module: str, facts: Facts) -> bool:
    """Tell whether the function of a test was collected, but with other parameters only."""
    own, bracket, parameters = test.partition("::")[2].partition("[")
    function = own.replace("::", ".")
    itself = f"{module}=={function}{bracket}{parameters}"
    return f"{module}::{function}" in facts.functions and itself not in facts.functions


def _module(folder: Path) -> str:
    """Return the module whose test has its own cassette in a folder, whether or not there is one."""
    return os.path.realpath(folder.parents[2] / f"{folder.parent.name}.py") if len(folder.parents) > 2 else ""


def _beside(modules: Set[str]) -> Iterator[Path]:
    """Yield the folders where the tests of modules, or of modules that are gone, may have cassettes of their own."""
    for parent in sorted({Path(module).parent / "cassettes" for module in modules}):
        for group in _folders(parent):
            module = parent.parent / f"{group.name}.py"
            if str(module) in modules or group.name == _CONFTEST or not module.exists():
                yield from _folders(group)


def _folders(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.iterdir() if path.name[:1] not in "._" and path.is_dir())
    except OSError:
        return []


def _abandoned(folder: Path, facts: Facts, left_out: dict[Path, Path], rootdir: Path) -> Iterator[Unused]:
    """Yield what is in a folder, if all of it was recorded by tests that are gone.

    `use_cassette` names no test: what it recorded is nobody's to call abandoned.
    """
    entries = entries_in(folder)
    tests = _tests_of(folder, entries.values())
    module = _module(folder)
    if not all(tests) or not tests or any(_is_collected(test, module, facts) for test in tests):
        return
    try:
        root = load_settings(Path(module)).root
    except OnetakeError:  # what is wrong with the settings is said to the tests that go by them
        return
    is_there = any((rootdir / test.partition("::")[0]).exists() for test in tests)
    # A fixture of a conftest serves all tests, so it is gone if none of all used it.
    is_gone = folder.parent.name == _CONFTEST or not is_there
    if module in facts.modules or (is_gone and not facts.partly and root not in left_out):
        yield Unused(root, folder, entries, len(entries), _recorded_by(tests), abandoned=True)


def _tests_of(folder: Path, names: Iterable[str]) -> list[str]:
    """Return the test that recorded each of these entries; empty where that is not known."""
    from onetake.cassette_files import read_entry  # with the format: only where there are entries to look at

    with closing(open_store(folder)) as store:
        found = [read_entry(folder / name, store) for name in names]
    return [str(entry.provenance.get("test", "")) if isinstance(entry, Entry) else "" for entry in found]


def _recorded_by(tests: list[str]) -> str:
    """Return the one test that recorded entries; empty where it is not one, or not known."""
    return tests[0] if len(set(tests)) == 1 else ""
