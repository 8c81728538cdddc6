"""An entry is recorded again: which others hold its old answer, and a word in each that they do."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from onetake.cassette_files import list_folders, read_entry
from onetake.errors import FormatError, StoreError
from onetake.model import Entry, Mode
from onetake.provenance import now
from onetake.upkeep import mends
from onetake.upkeep.amending import amend
from onetake.upkeep.holding import holding_of
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most
from onetake.upkeep.spoken import Kept, Spoken, Told, kept, slot_of
from onetake.writing import SecretLeftError


@dataclass(frozen=True, slots=True)
class Chain:
    """An entry, and those of its cassette that hold its answer.

    Args:
        path: Its file.
        entry: What was in it when it was looked at.
        holders: The files of the others, in the order of the conversation.
    """

    path: Path
    entry: Entry
    holders: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Marked:
    """An entry that holds an old answer.

    Args:
        path: Its file.
        origin: The file of the entry that was recorded again.
        mend: What records what is asked now: a command, or words where none does it.
        why: Why no word of it could be left in the entry; empty where it was.
    """

    path: Path
    origin: Path
    mend: str
    why: str


def chained(path: Path, entry: Entry) -> Chain:
    """Find what holds the answer of an entry; to be asked before that is recorded again.

    Args:
        path: Its file.
        entry: What is in it.

    Returns:
        It, with no holder where another ordinal gives the same answer, too.

    Raises:
        StoreError: The cassette cannot be read.
    """
    holding = holding_of(next(list_folders(path.parent)))
    entries = [kept(held.path, held.entry) for held in holding.read() if held.entry] if holding else []
    with suppress(TookTooLongError), at_most(SECONDS):
        found = _holders(Spoken(entries), kept(path, entry))
        return Chain(path, entry, tuple(one.kept.path for one in found))
    return Chain(path, entry, ())


def mark(chains: Sequence[Chain]) -> list[Marked]:
    """Note in entries that they hold the old answer of one that was recorded again; what records them anew has no note.

    Args:
        chains: What was found before. Where an entry gives the same answer as then, nothing is noted.

    Returns:
        What holds an old answer now, in order.
    """
    again = [(chain, read_entry(chain.path)) for chain in chains]
    gone = [chain for chain, entry in again if isinstance(entry, Entry) and _is_another(chain, entry)]
    return [_marked(path, chain) for chain in gone for path in chain.holders]


def _is_another(chain: Chain, entry: Entry) -> bool:
    was, now_ = kept(chain.path, chain.entry), kept(chain.path, entry)
    return was.words != now_.words or was.reply != now_.reply


def _marked(path: Path, chain: Chain) -> Marked:
    entry = read_entry(path)
    if not isinstance(entry, Entry):
        return Marked(path, chain.path, mends.RESTORE, entry.why)
    note = {"from": slot_of(chain.entry.key, chain.entry.ordinal), "at": now()}
    try:
        done = amend(path, entry, lambda said: {**said, "chained": note})
        why = "" if done else "it was changed meanwhile"
    except (FormatError, SecretLeftError, StoreError) as error:
        why = str(error)
    return Marked(path, chain.path, mends.record_again(entry, Mode.NEW_EPISODES, path), why)


def _holders(spoken: Spoken, origin: Kept) -> list[Told]:
    """Return what holds an entry's answer, in the order of the conversation."""
    own = next((one for one in spoken.told if (one.kept.key, one.kept.ordinal) == (origin.key, origin.ordinal)), None)
    if own is None:
        return []
    others = [one for one in spoken.asked[own.said.state] if one is not own.kept]
    repeated = (one for one in spoken.repeated() if one.before == own.said.state and one.is_given_by([own.kept]))
    holding = {holder for one in repeated if not one.is_given_by(others) for holder, _ in one.holders}
    found = [own, *sorted(holding, key=lambda one: (len(one.said.turns), one.kept.path))]
    for before in found:  # it grows while it is gone through
        following = spoken.following.get(before.kept.reply, ()) if before.kept.reply else ()
        found += [one for one in following if one not in found]
    return found[1:]
