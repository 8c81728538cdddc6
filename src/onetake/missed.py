"""What sessions refused for want of an entry: each request as it was asked, scrubbed and keyed.

It lies under `.onetake/missed/` of the settings' folder, one folder for each cassette and test, in it one file for each
process that asked, in that a line for each miss, and at a session's end one of what it expected and what it used.
Nothing of it is ever replayed, and none of it is needed: what cannot be written is left out, and the refusal goes its
way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

from onetake import forking, key_specs, starting, usage
from onetake.aside import hide, place_of
from onetake.decide import Found
from onetake.errors import Refusal
from onetake.lookup import Looked
from onetake.missed_lines import FORMAT, Ended, Missed, as_line, line_in, plain
from onetake.provenance import now
from onetake.scrub.scanning import scan
from onetake.steps import Policy
from onetake.stores import files
from onetake.stores.naming import Slot
from onetake.writing import is_binary

__all__ = ["MissBook", "Missed", "damaged_in", "missed_in"]

_MOST = 5_000
"""Misses of one process that are kept in one place."""
_LARGEST = 64 * 1024 * 1024
"""Bytes that one process keeps in one place."""


class MissBook:
    """Where one session notes what it refuses.

    Args:
        policy: What the session goes by.
        folder: Its cassette's.
    """

    def __init__(self, policy: Policy, folder: Path) -> None:
        self._policy = policy
        self._folder = folder
        self._place = _place(policy.root, folder, policy.test)
        self._mark = os.urandom(4).hex()
        self._known: set[str] = set()
        self._bytes = 0
        self._told: set[str] = set()
        self._lock = forking.Lock()

    def begin(self) -> None:
        """Forget what earlier runs noted here; to be called once, by the process whose session it is.

        Of a test, all: it begins anew. What has no test may be opened many times in a run, so that only what is older
        than this process goes.
        """
        since = None if self._policy.test else starting.BEGUN
        with suppress(OSError):
            for file in self._place.iterdir():
                if since is None or file.stat().st_mtime < since:
                    file.unlink()
            self._place.rmdir()

    def note(self, looked: Looked, refusal: Refusal) -> None:
        """Note a miss; nothing that goes wrong here may change what is refused.

        Args:
            looked: What was found for the request; noted only where that is nothing.
            refusal: What is about to be raised.
        """
        asked = looked.asked
        with self._lock.held:
            if looked.found is not Found.ABSENT or asked.key in self._known or len(self._known) >= _MOST:
                return
            self._known.add(asked.key)
        with suppress(OSError):
            self._write(self._line(looked, refusal), asked.scrubbed.body)

    def settle(self, expected: Iterable[Refusal], used: Iterable[tuple[str, int]]) -> None:
        """Note at a session's end what it came to, where anything was missed: in this process or in a child.

        Args:
            expected: Refusals that the program expected: no miss of these is one.
            used: Key and ordinal of all that was asked for.
        """
        if not self._place.is_dir():
            return
        names = {_digest(one) for one in expected} - self._told
        self._told |= names
        slots = sorted({(key[:16], ordinal) for key, ordinal in used})
        said = {"onetake_missed": FORMAT, "expected": sorted(names), "used": slots}
        with suppress(OSError):
            self._append(as_line(said))

    def _line(self, looked: Looked, refusal: Refusal) -> bytes:
        asked, policy = looked.asked, self._policy
        is_of_scrubbed = asked.keyed is asked.scrubbed
        said = {
            "onetake_missed": FORMAT,
            "cassette": place_of(self._folder, policy.root),
            "test": policy.test,
            "at": now(),
            "key": asked.key if is_of_scrubbed else policy.keyer.key(asked.scrubbed, asked.days),
            "ordinal": looked.ordinal,
            "key_spec": asdict(key_specs.current(policy.keyer.spec(asked.days))),
            "contracts": [asdict(contract.ref(policy.root)) for contract in asked.contracts],
            "request": plain(asked.scrubbed),
            "scrubbed": list(asked.scrubbing.spans),
            "refusal": _digest(refusal),
        }
        return as_line(said)

    def _write(self, line: bytes, body: bytes) -> None:
        if not (scan(line) or (is_binary(body) and scan(body))):
            self._append(line)

    def _append(self, line: bytes) -> None:
        with self._lock.held:
            self._bytes += len(line)
            if self._bytes > _LARGEST:
                return
            hide(self._policy.root)
            self._place.mkdir(parents=True, exist_ok=True)
            # Each process its own file: nobody writes into another's line.
            path = self._place / f"{self._mark}-{os.getpid()}.jsonl"
            with path.open("ab", buffering=0) as file:
                file.write(line)


def missed_in(root: Path, folder: Path | None = None) -> list[Missed]:
    """Return what the last run of each place refused, and is neither expected nor stored meanwhile.

    Args:
        root: The settings' folder.
        folder: A cassette's, to return only what was asked of that one.

    Returns:
        By cassette, test and key, each once; a line that is torn or damaged is left out.
    """
    found: dict[tuple[str, str, str], Missed] = {}
    for place in sorted((root / ".onetake" / "missed").glob("*")):
        for one in _of_place(place, root):
            if folder is None or one.folder == folder.absolute():
                found[str(one.folder), one.test, one.key] = one
    folders = {one.folder for one in found.values()}
    stored = {folder: {key for key, _ in usage.entries_in(folder)} for folder in folders}
    return [one for _, one in sorted(found.items()) if one.key[:16] not in stored[one.folder]]


def _place(root: Path, folder: Path, test: str) -> Path:
    name = sha256(f"{place_of(folder, root)}\0{test}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return root / ".onetake" / "missed" / name


def damaged_in(root: Path) -> list[str]:
    """Name the books, by their paths from the settings' folder, that hold a line which cannot be read; it is left out.

    Args:
        root: The settings' folder.
    """
    return [
        place_of(path, root)
        for path in sorted((root / ".onetake" / "missed").glob("*/*.jsonl"))
        if any(line_in(line, root) is None for line in _raw_lines(path))
    ]


def _of_place(place: Path, root: Path) -> list[Missed]:
    """Read the misses of one cassette and test, without those that were expected."""
    lines = [line_in(line, root) for path in sorted(place.glob("*.jsonl")) for line in _raw_lines(path)]
    ended = [one for one in lines if isinstance(one, Ended)]
    used = frozenset[Slot]().union(*(one.used for one in ended))
    expected = frozenset[str]().union(*(one.expected for one in ended))
    found = (one for one in lines if isinstance(one, tuple))
    return [replace(one, used=used) for refusal, one in found if refusal not in expected]


def _raw_lines(path: Path) -> list[bytes]:
    try:
        return [line for line in (files.read(path, _LARGEST) or b"").split(b"\n") if line]
    except OSError:
        return [b""]  # as if all of it were damaged


def _digest(refusal: Refusal) -> str:
    """Return what a refusal is known by in another process, too."""
    return sha256(str(refusal).encode("utf-8", "surrogatepass")).hexdigest()[:16]
