"""The usage ledger: which entries the tests of a run used, and which of them a whole run left without use.

A run of tests that opened a cassette leaves one file under `.onetake/usage/` of each settings folder. What counts as
evidence that an entry is unused: a run that was whole (every test that there is was collected, and ran) and green said
so, and no later run of any kind used it. Whatever a run used is used, also where it failed or was of one test.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from onetake import starting, strictjson
from onetake.aside import hide
from onetake.errors import StoreError
from onetake.stores import FILE, files
from onetake.stores.naming import Slot, parse_name

FORMAT = 1
"""The version of a ledger's format. 1: the first."""

_KEPT = 30
"""Runs whose ledgers stay. A whole run that goes takes its evidence with it, as later uses would go unseen."""
_LARGEST = 256 * 1024 * 1024
"""Bytes of a ledger that are read."""

_NAME = re.compile(r"\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{8}\.json", re.ASCII)
_STAMP = len("20261130T100000.000000Z")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Used:
    """What one session used of its cassette.

    Args:
        root: The settings' folder.
        folder: The cassette's.
        slots: The entries that it asked for, whatever came of it, and those that it wrote.
        known: False where it may have used others: child processes asked too, or nothing was read at all.
        owned: True where the cassette is one test's alone, so that mode `all` retires what it does not ask for.
        test: The test that it was a session of, as provenance names it; empty where it was none's.
    """

    root: Path
    folder: Path
    slots: frozenset[Slot]
    known: bool
    owned: bool = False
    test: str = ""

    def as_plain(self) -> dict[str, Any]:
        """Return it in plain types, which a worker of pytest-xdist can send; see `used_of`."""
        slots = [[key, ordinal] for key, ordinal in sorted(self.slots)]
        folders = {"root": str(self.root), "cassette": str(self.folder)}
        return {**folders, "used": slots, "known": self.known, "owned": self.owned, "test": self.test}


def used_of(plain: Mapping[str, Any]) -> Used:
    """Return what `as_plain` made plain."""
    slots = frozenset((key, ordinal) for key, ordinal in plain["used"])
    return Used(Path(plain["root"]), Path(plain["cassette"]), slots, plain["known"], plain["owned"], plain["test"])


@dataclass(frozen=True, slots=True)
class CassetteUsage:
    """What a run did with one cassette.

    Args:
        used: The entries that it used.
        unused: Those that it proved to be unused; none where it was not whole and green.
        known: False where it may have used others too; see `Used`.
        tests: Of those that it used, which each test did; one that opened it and used none is named, too.
    """

    used: frozenset[Slot] = frozenset()
    unused: frozenset[Slot] = frozenset()
    known: bool = True
    tests: Mapping[str, frozenset[Slot]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageRun:
    """The usage ledger of one run.

    Args:
        at: When it ended, RFC 3339 in UTC.
        commit: The git commit; empty where there is none.
        files: The project's files as they were, as `project_files.digest` has it; empty where that is not known.
        why: Why it is no evidence; empty for a run that was whole and green.
        cassettes: By path from the settings' folder, with slashes; a full path for one outside of it.
    """

    at: str
    commit: str = ""
    files: str = ""
    why: str = ""
    cassettes: Mapping[str, CassetteUsage] = field(default_factory=dict)

    @property
    def counts(self) -> bool:
        """Whether it was whole and green, so that what it left without use is unused."""
        return not self.why


def entries_in(folder: Path) -> dict[Slot, str]:
    """Return the names of the entries of a cassette, by what they say; none of one that cannot be listed."""
    try:
        names = _names_in_file(folder) if folder.suffix.lower() == FILE and folder.is_file() else os.listdir(folder)  # noqa: PTH208
    except (OSError, StoreError):
        return {}
    names = sorted(names)
    return {slot: name for name in names if (slot := parse_name(name))}


def _names_in_file(file: Path) -> list[str]:
    from onetake.stores.sqlite import SqliteStore  # SQLite is loaded where there is such a file

    with closing(SqliteStore(file)) as store:
        return store.file_names()


def holds_replies(folder: Path) -> bool:
    """Tell whether batches keep replies in a cassette: then what no test recorded there is not for tests to use.

    Args:
        folder: The cassette's; a store that is one file is made for batches.
    """
    return folder.suffix.lower() == FILE or has_batches(folder)


def has_batches(folder: Path) -> bool:
    """Tell whether batches have asked for what is kept in a cassette."""
    real = Path(os.path.realpath(folder))
    return (real.parent / ".onetake" / "batch" / f"{real.name}.intents.db").is_file()


def place_to_tell() -> Path | None:
    """Return where a session of this process tells what it used; None where no run of tests started the process."""
    process, _, folder = os.environ.get(starting.RUN, "").partition(" ")
    return Path(folder, f"{os.urandom(8).hex()}.json") if folder and process != str(os.getpid()) else None


def tell(place: Path, used: Used) -> None:
    """Write what a session used, or may use, where the run reads it; what cannot be written stops no program.

    Args:
        place: A file of the session's own, four folders below the root of the run.
        used: What it used; not `known` until it has ended.
    """
    temp = place.with_suffix(".tmp")
    with suppress(OSError):
        hide(place.parents[3])
        files.make_folder(place.parent)
        temp.write_text(json.dumps(used.as_plain()), "utf-8", "surrogatepass")
        temp.replace(place)


def told_in(folder: Path) -> list[Used]:
    """Return what processes told in a folder, and remove it."""
    found = [used_of(json.loads(path.read_text("utf-8", "surrogatepass"))) for path in folder.glob("*.json")]
    shutil.rmtree(folder, ignore_errors=True)
    return found


def write_run(root: Path, run: UsageRun) -> Path:
    """Write the ledger of a run, whole or not at all, and remove those that are too many.

    Args:
        root: The settings' folder.
        run: What to write.

    Raises:
        OSError: It cannot be written.
    """
    hide(root)
    folder = root / ".onetake" / "usage"
    files.make_folder(folder)
    path = folder / f"{_stamp()}-{os.urandom(4).hex()}.json"
    temp = path.with_suffix(".tmp")
    try:
        files.write(files.create(temp), _as_bytes(run))
        temp.replace(path)
    finally:
        files.remove(temp)
    for old in [one for one in ledgers_in(root) if not is_to_come(one)][_KEPT:]:
        with suppress(OSError):  # another run removes them too, or it stays: it is in nobody's way
            old.unlink()
    return path


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def ledgers_in(root: Path) -> list[Path]:
    """Return the files of the usage ledgers of a settings folder, the newest first."""
    found = (root / ".onetake" / "usage").glob("*.json")
    return sorted((path for path in found if _NAME.fullmatch(path.name)), reverse=True)


def is_to_come(path: Path) -> bool:
    """Tell whether a ledger's name is of a moment that is not there yet: a clock was wrong, and it says nothing."""
    return path.name[:_STAMP] > _stamp()


def read_run(path: Path) -> UsageRun | None:
    """Read a ledger; None where it is not there, cannot be read, or says anything that `write_run` does not write."""
    try:
        said = strictjson.loads((files.read(path, _LARGEST) or b"").decode("utf-8", "surrogatepass"))
        return _read(said)
    except (OSError, ValueError, RecursionError):
        return None


def _read(said: Any) -> UsageRun:
    """Read what a ledger says; raises ValueError where it is damaged."""
    told = _object(said, {"onetake_usage", "at", "commit", "files", "why", "cassettes"})
    texts = {name: told.get(name, "") for name in ("at", "commit", "files", "why")}
    cassettes = told.get("cassettes")
    is_sound = all(isinstance(text, str) for text in texts.values()) and isinstance(cassettes, dict)
    if not is_sound or told.get("onetake_usage") != FORMAT or not _is_past(texts["at"]):
        raise ValueError
    return UsageRun(**texts, cassettes={place: _read_cassette(one) for place, one in told["cassettes"].items()})


def _is_past(at: str) -> bool:
    """Tell whether a ledger's moment is one, in UTC, and not after the present one."""
    return bool(_MOMENT.fullmatch(at)) and datetime.fromisoformat(at) <= datetime.now(UTC)


def _object(said: Any, names: set[str]) -> dict[str, Any]:
    if not isinstance(said, dict) or not said.keys() <= names:
        raise ValueError
    return said


def _read_cassette(said: Any) -> CassetteUsage:
    one = _object(said, {"used", "unused", "known", "tests"})
    known = one.get("known", True)
    if not isinstance(known, bool):
        raise ValueError
    used = one.get("used", [])
    slots, unused = slots_in(used), slots_in(one.get("unused", []))
    return CassetteUsage(slots, unused, known, _read_tests(one.get("tests", {}), [tuple(slot) for slot in used]))


def _read_tests(said: Any, used: list[Slot]) -> dict[str, frozenset[Slot]]:
    """Read which tests used what, told by the places in the list of what was used; raises ValueError where damaged."""
    if not isinstance(said, dict) or not all(isinstance(places, list) for places in said.values()):
        raise ValueError
    if any(type(place) is not int or not 0 <= place < len(used) for places in said.values() for place in places):
        raise ValueError
    return {test: frozenset(used[place] for place in places) for test, places in said.items()}


def slots_in(said: Any) -> frozenset[Slot]:
    """Read a list of keys and ordinals, as books of a project hold it; raises ValueError where it is none."""
    if not isinstance(said, list) or not all(_is_slot(one) for one in said):
        raise ValueError
    return frozenset((key, ordinal) for key, ordinal in said)


def _is_slot(said: Any) -> bool:
    if not isinstance(said, list) or len(said) != 2:
        return False
    key, ordinal = said
    return isinstance(key, str) and type(ordinal) is int and ordinal >= 0


def _as_bytes(run: UsageRun) -> bytes:
    said = {"at": run.at, "commit": run.commit, "files": run.files, "why": run.why}
    cassettes = {place: _plain_cassette(one) for place, one in sorted(run.cassettes.items())}
    whole = {"onetake_usage": FORMAT, **{name: value for name, value in said.items() if value}, "cassettes": cassettes}
    return (json.dumps(whole, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")


def _plain_cassette(one: CassetteUsage) -> dict[str, Any]:
    used = sorted(one.used)
    places = {slot: place for place, slot in enumerate(used)}
    tests = {test: sorted(places[slot] for slot in slots) for test, slots in sorted(one.tests.items())}
    lists = {"used": used, "unused": sorted(one.unused), "tests": tests}
    return {**{name: found for name, found in lists.items() if found}, **({} if one.known else {"known": False})}
