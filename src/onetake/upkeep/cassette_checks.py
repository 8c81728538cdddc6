"""What is wrong with a cassette as a whole: two files of one name, answers that differ, sidecars that nobody names."""

from __future__ import annotations

import errno
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from onetake.errors import FormatError, StoreError
from onetake.model import Choice, Entry, Mode
from onetake.printable import spelled
from onetake.stores.naming import Slot, side_hex
from onetake.upkeep import mends, secrets
from onetake.upkeep.findings import Code, Finding, Severity, finding
from onetake.upkeep.holding import Held, Holding
from onetake.upkeep.limits import SECONDS, at_most, cannot_be_checked
from onetake.upkeep.projects import Project, Schemas

_SCHEMAS = "_schemas"


class _Given(NamedTuple):
    """An answer: its ordinal, the file it is in and what that is found by, and a digest of what it says."""

    ordinal: int
    name: str
    slot: Slot | None
    answer: bytes


class Repeated:
    """The answers of one cassette, by key: which of them differ."""

    def __init__(self) -> None:
        self._found: dict[str, list[_Given]] = defaultdict(list)

    def add(self, held: Held, entry: Entry) -> None:
        """Take an entry in; only what tells it from another is kept."""
        self._found[entry.key].append(_Given(entry.ordinal, held.path.name, held.slot, answer_digest(entry)))

    def join(self, later: Repeated, taken: Collection[Slot]) -> None:
        """Take in what others say, whose paths come behind these, but for files whose slots are *taken*."""
        for key, found in later._found.items():
            if new := [one for one in found if one.slot is None or one.slot not in taken]:
                self._found[key] += new

    def check(self, folder: Path, project: Project, from_tests: Collection[str]) -> Iterator[Finding]:
        """Name the keys under which several answers are stored, where one is meant for all.

        Args:
            folder: The cassette's.
            project: Its settings may say which is meant; where they do not, a test takes them in order.
            from_tests: The keys of entries that tests recorded.
        """
        for key, found in self._found.items():
            means_one = project.means_one_answer
            if means_one is False or (means_one is None and key in from_tests):
                continue
            found.sort(key=lambda one: one.ordinal)
            first, other = found[0], next((one for one in found if one.answer != found[0].answer), None)
            if other:
                yield _differing(folder / first.name, folder / other.name, len(found), is_meant=means_one is True)


class Ordinals:
    """The answers of one cassette that are there, by key: which of them is missing before another one."""

    def __init__(self) -> None:
        self._found: dict[str, dict[int, tuple[str, str]]] = defaultdict(dict)

    def add(self, held: Held) -> None:
        """Take a file in, by its name: one that cannot be read is there too, one with another's name is not."""
        entry = held.entry
        if held.slot is None or (entry is not None and held.slot != (entry.key[:16], entry.ordinal)):
            return
        key, ordinal = held.slot
        again = mends.record_again(entry, Mode.NEW_EPISODES, held.path) if entry and ordinal else ""
        self._found[key].setdefault(ordinal, (held.path.name, again))

    def join(self, later: Ordinals) -> None:
        """Take in what others say, whose paths come behind these."""
        for key, found in later._found.items():
            self._found[key] = found | self._found[key]

    def check(self, folder: Path) -> Iterator[Finding]:
        """Name the first answer of each key that is missing, at the one that comes after it.

        Args:
            folder: The cassette's.
        """
        for found in self._found.values():
            missing = next(ordinal for ordinal in range(len(found) + 1) if ordinal not in found)
            if after := sorted(ordinal for ordinal in found if ordinal > missing):
                name, again = found[after[0]]
                why = f"answer number {missing} to this request is missing, and this is number {after[0]}"
                mend = "restore the missing file from version control" + (f"; or record it: {again}" if again else "")
                yield finding(Code.MISSING_ANSWER, folder / name, f"{why}: a replay stops before it", mend)


def check_twins(held: Held, first: dict[Slot, Path]) -> Iterator[Finding]:
    """Say that another file has the same key and ordinal in its name: only the first by name is ever read.

    Args:
        held: The next file, in the order of their names.
        first: The first file of each slot so far; taken down here.
    """
    if held.slot is None:
        return
    other = first.setdefault(held.slot, held.path)
    if other is not held.path:
        why = f"{spelled(other.name)} has the same key and ordinal in its name, and is read in the place of this one"
        mend = f"keep one of them, and delete the other: {mends.diff(other, held.path)}"
        yield finding(Code.DUPLICATE, held.path, why, mend)


def check_sides(holding: Holding, named: Collection[str] | None, schemas: Schemas) -> Iterator[Finding]:
    """Verify what a cassette holds beside its entries.

    Of sidecars: what no entry names, schemas that are others than their names say, secrets. Of one file: what somebody
    else wrote into it.

    Args:
        holding: The cassette.
        named: Every digest that its entries name; None where one of them cannot be read, and may name any.
        schemas: Those read so far.
    """
    repair = mends.fsck(holding.folder, "--repair")
    if holding.unlisted:
        mend = repair if holding.is_one_file else "put a folder in its place"
        yield finding(Code.BROKEN, holding.folder, holding.unlisted, mend)
    yield from (finding(Code.BROKEN, holding.folder, why, repair) for why in holding.strays)
    for name in holding.sides:
        path = holding.folder / name
        try:
            with at_most(SECONDS):
                found = list(_check_side(holding, name, named, schemas))
        except Exception as error:  # noqa: BLE001 - whatever a file was made to do to what reads it, it is told
            found = [cannot_be_checked(path, error)]
        yield from found


def _check_side(holding: Holding, name: str, named: Collection[str] | None, schemas: Schemas) -> Iterator[Finding]:
    path, digest = holding.folder / name, side_hex(name)
    try:
        data = holding.side(name)
    except StoreError as error:
        yield finding(Code.BROKEN, path, str(error), mends.RESTORE)
        return
    except OSError as error:
        code, mend = Code.BROKEN, "put a file in its place"
        if error.errno == errno.EFBIG:
            code, mend = Code.UNCHECKED, "look at it, and delete it where no entry needs it"
        yield finding(code, path, f"cannot be read: {error.strerror or error}", mend)
        return
    yield from secrets.in_file(path, data)
    if named is not None and digest not in named:
        mend = mends.prune(path.parent.parent, "--sidecars --yes")
        yield finding(Code.UNUSED_SIDECAR, path, "no entry of this cassette names it", mend)
    elif path.parent.name == _SCHEMAS:
        try:
            schemas.contract(digest, data)
        except FormatError as error:
            why = f"the schema of a contract is damaged: {error}"
            yield finding(Code.BROKEN, path, why, "restore it from version control, or record its entries again")


def answer_digest(entry: Entry) -> bytes:
    """Return a digest of what an entry answers: the answer, of one that has none the whole response."""
    whole = (entry.response.status, entry.response.body)
    try:
        said = repr(list(map(_said, entry.answer.choices)) if entry.answer and entry.answer.choices else whole)
    except RecursionError:
        said = repr(whole)
    return sha256(said.encode("utf-8", "replace")).digest()


def _said(choice: Choice) -> tuple[Any, ...]:
    """Return what a choice says, as plain data: of a data class `repr` takes four times as long."""
    calls = [(call.name, call.arguments) for call in choice.tool_calls]
    return choice.text, calls, choice.finish, choice.refusal, choice.reasoning


def _differing(first: Path, other: Path, count: int, *, is_meant: bool) -> Finding:
    why = f"{count} answers are stored for this request, and they differ; where one is meant for all, it is this one"
    mend = f'{mends.diff(first, other)}; delete what is not meant, or set repeats = "sequence"'
    found = finding(Code.DIFFERING_ANSWERS, first, why, mend)
    return found if is_meant else replace(found, severity=Severity.INFO)
