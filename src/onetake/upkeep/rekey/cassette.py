"""One cassette under the rules of today: which entries are others, and where they go. Nothing is changed here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from onetake.errors import UsageError
from onetake.format import dump_entry
from onetake.model import Entry, Response
from onetake.printable import one_line
from onetake.stores.naming import parse_name, side_digest
from onetake.upkeep import mends, secrets
from onetake.upkeep.cassette_checks import answer_digest
from onetake.upkeep.entry_checks import Keyers, key_fault, unread
from onetake.upkeep.holding import Held, Holding
from onetake.upkeep.limits import SECONDS, at_most
from onetake.upkeep.projects import Project
from onetake.upkeep.prune.sidecars import unnamed
from onetake.upkeep.rekey.colliding import Collision, Mover, Resident, arrange, meeting
from onetake.upkeep.rekey.entry import CannotRekeyError, rekeyed
from onetake.upkeep.rekey.found import Choices, Left, Rekeying
from onetake.upkeep.rekey.grouping import Group, group_of
from onetake.upkeep.ruling import Ruling, written
from onetake.writing import SecretLeftError, decoration, looked_over

_MEDIA_TYPES = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "eventstream": "application/vnd.amazon.eventstream",
}

_Given = dict[bytes, dict[int, list[Path]]]
"""Files by the digest of what they become, whatever their ordinal, and by the ordinal that they have."""


class CassetteRekeying:
    """What becomes of the entries of one cassette.

    Args:
        holding: The cassette.
        project: The settings that count for it.
        ruling: The key rules that hold for its entries.
        keyers: The keyers of entries.
        choices: What the user says besides.
        found: Takes what stays as it is, and why.
    """

    def __init__(
        self,
        holding: Holding,
        project: Project,
        ruling: Ruling,
        keyers: Keyers,
        choices: Choices,
        found: Rekeying,
    ) -> None:
        self.holding = holding
        self._project = project
        self._ruling = ruling
        self._keyers = keyers
        self._choices = choices
        self._found = found
        self._paths: dict[str, dict[int, Path]] = defaultdict(dict)
        for path in holding.paths:
            if slot := parse_name(path.name):
                self._paths[slot[0]].setdefault(slot[1], path)
        movers = [mover for held in holding.read() if (mover := self._mover(held)) is not None]
        self._in_place = {one.path: one for one in movers if one.new_key == one.key}
        in_place = [Group(one.key, ((one, one.ordinal),)) for one in self._in_place.values()]
        self.rounds = [in_place, *self._arranged([one for one in movers if one.path not in self._in_place])]
        """What is to be done: each round makes room for the next."""

    def read(self, path: Path, digest: bytes) -> tuple[bytes, Entry] | None:
        """Read an entry again: its file's bytes, and what it is under today's rules; None where it was changed."""
        held = self.holding.held(path)
        if sha256(held.data).digest() != digest or held.entry is None:
            return None
        return held.data, self._rekeyed(held.entry)

    def left_over(self) -> set[str]:
        """Return the digests of sidecars that no entry names and today's rules would scrub: a stopped run left them."""
        scrubber = self._project.scrubber(())
        found: set[str] = set()
        for name in unnamed(self.holding):
            digest = side_digest(name)
            if digest is None:
                continue
            body = self.holding.store.get_side(name) or b""
            kind = _MEDIA_TYPES.get(name.rpartition(".")[2], "application/json")
            response = Response(200, (("content-type", kind),), body)
            found |= {digest} if scrubber.begin().response(response) is not response else set()
        return found

    def _mover(self, held: Held) -> Mover | None:
        """Return what becomes of a file; None where it stays as it is, which is told where it ought not to."""
        try:
            with at_most(SECONDS):
                return self._moved(held)
        except CannotRekeyError as error:
            why, mend = error.args
        except SecretLeftError:
            why, mend = "it holds a secret that cannot be scrubbed", _look(held)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an entry was made to do to what reads it, it is told
            why, mend = one_line(f"it cannot be keyed anew ({type(error).__name__}: {error})", 300), _look(held)
        self._found.left.append(Left(held.path, why, mend))
        return None

    def _moved(self, held: Held) -> Mover | None:
        entry = self._verified(held)
        new = self._rekeyed(entry)
        if new is not entry:
            # Whether it can be written at all; where nothing is secret the last look can wait until it is.
            (dump_entry if secrets.is_clear(new, self._project.scrubber(())) else looked_over)(new)
        self._note_rules(entry)
        return None if new is entry else _mover(held, entry, new)

    def _verified(self, held: Held) -> Entry:
        entry = held.entry
        if entry is None:
            raise CannotRekeyError(*unread(held))
        if held.slot != (entry.key[:16], entry.ordinal):
            raise CannotRekeyError("its name is not that of the entry in it", _look(held))
        if self._paths[held.slot[0]][held.slot[1]] != held.path:
            raise CannotRekeyError("another file has the same key and ordinal in its name", _look(held))
        if fault := key_fault(entry, self._keyers):
            raise CannotRekeyError(*fault)
        return entry

    def _rekeyed(self, entry: Entry) -> Entry:
        ruled = self._ruling.of(entry, self.holding.folder.absolute())
        return rekeyed(entry, ruled, self._keyers.of(entry.key_spec.rules)[1])

    def _note_rules(self, entry: Entry) -> None:
        ruled = self._ruling.of(entry, self.holding.folder.absolute())
        if kept := written(ruled.kept):
            self._found.kept[kept] += 1
        self._found.headers.update(ruled.headers)

    def _arranged(self, movers: Sequence[Mover]) -> list[list[Group]]:
        """Say who gets which ordinal; tell which keys collide."""
        coming: dict[str, list[Mover]] = defaultdict(list)
        for one in self._placed(movers):
            coming[one.new_key].append(one)
        while True:
            going = {one.path for found in coming.values() for one in found}
            plans = {key: self._arrange(key, found, going) for key, found in coming.items()}
            collided = {key: plan for key, plan in plans.items() if isinstance(plan, Collision)}
            if not collided:
                break
            self._found.collisions += collided.values()
            # What stays is in the way of what would come to its place.
            coming = {key: found for key, found in coming.items() if key not in collided}
        return self._in_rounds([plan for plan in plans.values() if isinstance(plan, Group)])

    def _placed(self, movers: Sequence[Mover]) -> list[Mover]:
        """Close the gaps where the answers of one key come to several: each counts those that go its way alone.

        What cannot be read leaves its gap, as an answer that is missing must not be skipped.
        """
        coming = {one.path: one for one in movers}
        unread = {left.path for left in self._found.left}
        places: dict[Path, int] = {}
        for digits in {one.key[:16] for one in movers}:
            before: Counter[str] = Counter()
            for ordinal, path in sorted(self._paths[digits].items()):
                one = coming.get(path)
                if one:
                    places[path] = ordinal - (before.total() - before[one.new_key])
                if path not in unread:
                    before[one.new_key if one else ""] += 1
        return [replace(one, place=places[one.path]) for one in movers]

    def _arrange(self, key: str, movers: Sequence[Mover], going: set[Path]) -> Group | Collision:
        there = self._paths.get(key[:16], {})
        residents = self._residents(key, {n: path for n, path in there.items() if path not in going}, movers)
        named = [(path, one.path) for path in self._choices.first for one in movers if one.path.resolve() == path]
        if len({one.key for one in movers}) + len(residents) > 1:
            self._found.ordered |= {path for path, _ in named}
        first = [path for _, path in named]
        found = arrange(movers, residents, first, self._project.means_one_answer)
        return found if isinstance(found, Collision) else group_of(key, found, residents.values())

    def _residents(self, key: str, there: Mapping[int, Path], movers: Sequence[Mover]) -> dict[int, Resident]:
        """Read the entries that have a key already, and say which of them a stopped run made of one that comes."""
        found: dict[int, Resident] = {}
        coming = {one.answer for one in movers}
        given: _Given | None = None  # made only where an answer is there that one of those that come has
        for ordinal, path in sorted(there.items()):
            entry = self.holding.held(path).entry
            if entry is None or entry.key != key:
                found[ordinal] = Resident(path, None)
                continue
            answer = self._in_place[path].answer if path in self._in_place else answer_digest(entry)
            if answer in coming and given is None:
                given = self._given(movers)
            mover = _take(given.get(_sum_of(entry)), ordinal) if answer in coming and given else None
            found[ordinal] = Resident(path, answer, mover, _test(entry))
        return found

    def _given(self, movers: Sequence[Mover]) -> _Given:
        found: _Given = defaultdict(lambda: defaultdict(list))
        for one in movers:
            if read := self.read(one.path, one.digest):
                found[_sum_of(read[1])][one.ordinal].append(one.path)
        return found

    def _in_rounds(self, groups: list[Group]) -> list[list[Group]]:
        """Put each behind those that make room for it; entries that would change places stay."""
        rounds: list[list[Group]] = []
        while groups:
            leaving = {one.key[:16] for group in groups for one, _ in group.members}
            free = {group.key: group for group in groups if group.key[:16] not in leaving}
            if not free:
                self._found.collisions += [_change_places(group) for group in groups]
                break
            rounds.append(list(free.values()))
            groups = [group for group in groups if group.key not in free]
        return rounds


def _mover(held: Held, entry: Entry, new: Entry) -> Mover:
    return Mover(
        path=held.path,
        digest=sha256(held.data).digest(),
        key=entry.key,
        ordinal=entry.ordinal,
        new_key=new.key,
        answer=answer_digest(new),
        at=str(entry.provenance.get("recorded_at", "")),
        test=_test(entry),
        label=decoration(new),
        place=entry.ordinal,
        spans=new.scrubbed[len(entry.scrubbed) :],
    )


def _test(entry: Entry) -> str:
    return str(entry.provenance.get("test") or "")


def _sum_of(entry: Entry) -> bytes:
    """Return a digest of all that an entry holds but its ordinal."""
    return sha256(dump_entry(replace(entry, ordinal=0))[0]).digest()


def _take(alike: dict[int, list[Path]] | None, ordinal: int) -> Path | None:
    """Take one file out of those that are alike, rather one of the same ordinal."""
    if not alike:
        return None
    chosen = ordinal if ordinal in alike else next(iter(alike))
    path = alike[chosen].pop()
    if not alike[chosen]:
        del alike[chosen]
    return path


def _look(held: Held) -> str:
    return f"`{mends.check(held.path.parent)}` says more"


def _change_places(group: Group) -> Collision:
    why = "its new key is the stored one of an entry that cannot make room, as theirs change places"
    return Collision(meeting([one for one, _ in group.members]), why, "record them again")
