"""What sessions refused for want of an entry: each request as it was asked, scrubbed and keyed.

It lies under `.onetake/missed/` of the settings' folder, one folder for each cassette and test, in it one file for each
process that asked, in that a line for each miss, and at a session's end one of what it expected and what it used.
Nothing of it is ever replayed, and none of it is needed: what cannot be written is left out, and the refusal goes its
way.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from onetake import forking, starting, usage
from onetake.aside import hide, place_of
from onetake.decide import Found
from onetake.errors import Refusal
from onetake.key import RECIPE
from onetake.lookup import Looked
from onetake.model import ContractRef, KeySpec, Request
from onetake.scrub import SCRUB
from onetake.scrub.scanning import scan
from onetake.steps import Policy
from onetake.stores import files
from onetake.stores.naming import Slot
from onetake.writing import is_binary

FORMAT = 1
"""The version of a line's format. 1: the first."""

_MOST = 5_000
"""Misses of one process that are kept in one place."""
_LARGEST = 64 * 1024 * 1024
"""Bytes that one process keeps in one place."""


@dataclass(frozen=True, slots=True)
class Missed:
    """One request that a session refused, as it was asked.

    Args:
        folder: The cassette's, absolute.
        test: The test's id; empty outside tests.
        request: Without its secrets.
        key: Its key, under *key_spec*.
        ordinal: Which answer of that key was asked for; of several at once, that of the first.
        key_spec: The rules that were in force.
        at: When, RFC 3339 in UTC.
        contracts: What its answer had to satisfy.
        scrubbed: Where its secrets were, as in an entry.
    """

    folder: Path
    test: str
    request: Request
    key: str
    ordinal: int
    key_spec: KeySpec
    at: str
    contracts: tuple[ContractRef, ...] = ()
    scrubbed: tuple[str, ...] = ()
    used: frozenset[Slot] = frozenset()
    """The entries of the cassette that sessions of this place asked for, as far as they came to their end."""


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
            self._append(_as_line(said))

    def _line(self, looked: Looked, refusal: Refusal) -> bytes:
        asked, policy = looked.asked, self._policy
        is_of_scrubbed = asked.keyed is asked.scrubbed
        said = {
            "onetake_missed": FORMAT,
            "cassette": place_of(self._folder, policy.root),
            "test": policy.test,
            "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "key": asked.key if is_of_scrubbed else policy.keyer.key(asked.scrubbed, asked.days),
            "ordinal": looked.ordinal,
            "key_spec": {"recipe": RECIPE, "scrub": SCRUB, "rules": policy.keyer.spec(asked.days)},
            "contracts": [asdict(contract.ref(policy.root)) for contract in asked.contracts],
            "request": _plain(asked.scrubbed),
            "scrubbed": list(asked.scrubbing.spans),
            "refusal": _digest(refusal),
        }
        return _as_line(said)

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


def _of_place(place: Path, root: Path) -> list[Missed]:
    """Read the misses of one cassette and test, without those that were expected."""
    found: list[tuple[str, Missed]] = []
    expected: set[str] = set()
    used: set[Slot] = set()
    for said in _lines(place):
        with suppress(ValueError, TypeError, KeyError):
            if "request" in said:
                found.append((str(said["refusal"]), _missed(said, root)))
            else:
                expected.update(map(str, said["expected"]))
                used.update((str(key), int(ordinal)) for key, ordinal in said["used"])
    return [replace(one, used=frozenset(used)) for refusal, one in found if refusal not in expected]


def _lines(place: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(place.glob("*.jsonl")):
        with suppress(OSError):
            for line in (files.read(path) or b"").split(b"\n"):
                with suppress(ValueError, RecursionError):
                    said = json.loads(line.decode("utf-8", "surrogatepass"))
                    if isinstance(said, dict) and said.get("onetake_missed") == FORMAT:
                        yield said


def _missed(said: Mapping[str, Any], root: Path) -> Missed:
    """Read what `MissBook` wrote; raises ValueError, TypeError or KeyError where it is damaged."""
    return Missed(
        folder=(root / str(said["cassette"])).absolute(),
        test=str(said["test"]),
        request=_request(said["request"]),
        key=str(said["key"]),
        ordinal=int(said["ordinal"]),
        key_spec=KeySpec(**said["key_spec"]),
        at=str(said["at"]),
        contracts=tuple(ContractRef(**one) for one in said["contracts"]),
        scrubbed=tuple(map(str, said["scrubbed"])),
    )


def _digest(refusal: Refusal) -> str:
    """Return what a refusal is known by in another process, too."""
    return sha256(str(refusal).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _as_line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _plain(request: Request) -> dict[str, Any]:
    if is_binary(request.body):
        body: Any = {"base64": base64.b64encode(request.body).decode()}
    else:
        body = request.body.decode()
    headers = [list(pair) for pair in request.headers]
    return {"method": request.method, "url": request.url, "headers": headers, "body": body}


def _request(said: Mapping[str, Any]) -> Request:
    body = said["body"]
    data = base64.b64decode(body["base64"], validate=True) if isinstance(body, dict) else body.encode()
    headers = tuple((str(name), str(value)) for name, value in said["headers"])
    return Request(str(said["method"]), str(said["url"]), headers, data)
