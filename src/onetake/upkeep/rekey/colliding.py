"""Entries that come to one key: in which order they answer, or why nobody but the user can say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path

from onetake.upkeep import mends
from onetake.validity import UNKNOWN, when


@dataclass(frozen=True, slots=True)
class Mover:
    """An entry that today's rules give another key.

    Args:
        path: Its file.
        digest: SHA-256 of the file's bytes.
        key: The key that is stored.
        ordinal: The ordinal that is stored.
        new_key: The key of today.
        answer: A digest of what it answers.
        at: When it was recorded; empty where it does not say so.
        test: The test that recorded it; empty where none did.
        label: The decoration of its file's new name.
        place: The ordinal that goes with the new key, as long as no other key comes to it.
        spans: Where today's list and rules found secrets that were not scrubbed yet.
    """

    path: Path
    digest: bytes
    key: str
    ordinal: int
    new_key: str
    answer: bytes
    at: str
    test: str
    label: str
    place: int
    spans: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resident:
    """An entry that has the key already.

    Args:
        path: Its file.
        answer: A digest of what it answers; None where it cannot be read, or has another key that begins alike.
        mover: The file of the entry that it was made of, where that is still there: an earlier run was stopped.
        test: As of a mover.
    """

    path: Path
    answer: bytes | None
    mover: Path | None = None
    test: str = ""


@dataclass(frozen=True, slots=True)
class Meeting:
    """Entries that come to one key.

    Args:
        key: It.
        paths: Their files: those that have it already, then those that come, in the order of their ordinals.
        differ: Whether their answers do; None where one of them cannot be read.
        tests: The test that recorded each; empty where none did.
    """

    key: str
    paths: tuple[Path, ...]
    differ: bool | None
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Collision:
    """Entries that would come to one key, and stay as they are.

    Args:
        met: They.
        why: What keeps them apart.
        mend: What the user may do.
    """

    met: Meeting
    why: str
    mend: str


def meeting(movers: Sequence[Mover], foreign: Sequence[Resident] = ()) -> Meeting:
    """Return what there is to know of entries that come to one key.

    Args:
        movers: Those that come, one or more.
        foreign: Those that have it, and were made of none of these.
    """
    everyone: list[Resident | Mover] = [*foreign, *movers]
    answers = {one.answer for one in everyone}
    differ = None if None in answers else len(answers) > 1
    paths, tests = tuple(one.path for one in everyone), tuple(one.test for one in everyone)
    return Meeting(movers[0].new_key, paths, differ, tests)


def arrange(
    movers: Sequence[Mover], residents: Mapping[int, Resident], first: Sequence[Path], means_one: bool | None
) -> list[tuple[Mover, int]] | Collision:
    """Say which ordinals entries get that come to one key.

    Entries of one key keep their order, and their gaps where an answer is missing. Where several keys become one, equal
    answers are repeats. Others that one test recorded answer in their order, if that is known; each of several tests
    would begin with the first of them, whoever recorded it.

    Args:
        movers: Those that come, of one new key.
        residents: Those that have it, by ordinal.
        first: Files that the user says come first, in this order.
        means_one: Whether one answer is meant for all identical requests; None where the settings do not say.

    Returns:
        Each mover with its ordinal, also those that an earlier, stopped run has placed; or why nothing is done.
    """
    placed = {one.mover: ordinal for ordinal, one in residents.items() if one.mover}
    foreign = [one for one in residents.values() if one.mover is None]
    moving = [one for one in movers if one.path not in placed]
    done = [(one, placed[one.path]) for one in movers if one.path in placed]
    if not moving:
        return done
    differ = len({one.answer for one in movers} | {one.answer for one in foreign}) > 1
    if not foreign and len({one.key for one in movers}) == 1:
        return [(one, placed.get(one.path, one.place)) for one in movers]
    if foreign and differ:
        return _other_answer(movers, foreign)
    if differ and (means_one or (means_one is None and not all(one.test for one in movers))):
        return _two_answers(movers)
    if foreign:
        free = (number for number in count() if number not in residents)
        return done + list(zip(_by_time(moving), free, strict=False))
    # What was placed before stands first: an earlier run wrote them in their order.
    begun = sorted(placed, key=lambda path: placed[path])
    if differ and not (begun or first) and len({one.test for one in movers}) > 1:
        return _of_several_tests(movers)
    return _merged(movers, [*begun, *(path for path in first if path not in placed)], differ=differ)


def _merged(movers: Sequence[Mover], ahead: Sequence[Path], *, differ: bool) -> list[tuple[Mover, int]] | Collision:
    """Put entries of several keys in one order: those *ahead* as they stand there, the others as they were recorded."""
    places = {path: number for number, path in enumerate(ahead)}
    chosen = sorted((one for one in movers if one.path in places), key=lambda one: places[one.path])
    rest = _by_time(one for one in movers if one.path not in places)
    if differ and not _is_order_known(rest):
        return _no_order(movers)
    return list(zip([*chosen, *rest], count(), strict=False))


def _by_time(movers: Iterable[Mover]) -> list[Mover]:
    return sorted(movers, key=lambda one: (when(one.at), one.key, one.ordinal))


def _is_order_known(movers: Sequence[Mover]) -> bool:
    """Tell whether entries, sorted by time, are in the order in which they were recorded.

    A time of a whole second says nothing of two entries in it, but ordinals do of the answers of one key.
    """
    for at, found in groupby(movers, key=lambda one: when(one.at)):
        together = list(found)
        if len({one.key for one in together}) > 1 and len({one.answer for one in together}) > 1:
            return False
        if at == UNKNOWN and len(together) < len(movers):
            return False
    last: dict[str, int] = {}
    for one in movers:  # one that was recorded again is younger than the next of its key
        if one.ordinal < last.get(one.key, -1):
            return False
        last[one.key] = one.ordinal
    return True


def _other_answer(movers: Sequence[Mover], foreign: Sequence[Resident]) -> Collision:
    unread = next((one for one in foreign if one.answer is None), None)
    met = meeting(movers, foreign)
    if unread is not None:
        why = f"the place of the new key is taken by {unread.path.name}, which cannot be read as an entry of it"
        return Collision(met, why, "mend or remove that file first; `onetake check` says how")
    why = "another answer is stored under the new key"
    return Collision(met, why, _keep_one(foreign[0].path, movers[0].path))


def _two_answers(movers: Sequence[Mover]) -> Collision:
    why = "they become one request, for which one answer is meant, and their answers differ"
    a, b = _two_that_differ(movers)
    return Collision(meeting(movers), why, _keep_one(a.path, b.path))


def _of_several_tests(movers: Sequence[Mover]) -> Collision:
    why = "they become one request of several tests, and their answers differ: a test would be given another's"
    a, b = _two_that_differ(movers)
    apart = "let the key tell them apart, or give each test a cassette of its own"
    mend = f"{apart}; or look at them (`{mends.diff(a.path, b.path)}`), and say which answer all these tests get first"
    return Collision(meeting(movers), why, f"{mend}: `--first {mends.written(a.path)}`")


def _no_order(movers: Sequence[Mover]) -> Collision:
    why = (
        f"they become one request of {len(movers)} answers, which differ, and it is not known which was recorded first"
    )
    a, b = _two_that_differ(movers)
    order = f"--first {mends.written(a.path)}"
    look = f"look at them (`{mends.diff(a.path, b.path)}`) and say which comes first, as in `{order}`"
    return Collision(meeting(movers), why, f"{look}; or record them again")


def _two_that_differ(movers: Sequence[Mover]) -> tuple[Mover, Mover]:
    return movers[0], next(one for one in movers if one.answer != movers[0].answer)


def _keep_one(a: Path, b: Path) -> str:
    return f"keep one of them, and delete the other: {mends.diff(a, b)}"
