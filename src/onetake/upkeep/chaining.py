"""An entry is recorded again: which others hold its answer, and a word in each that it is an old one now."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from onetake.cassette_files import list_folders
from onetake.model import Entry
from onetake.provenance import now
from onetake.upkeep.amending import amend
from onetake.upkeep.holding import Held, holding_of
from onetake.upkeep.limits import SECONDS, TookTooLongError, at_most
from onetake.upkeep.spoken import Kept, Spoken, Told, kept, slot_of


def chained(path: Path, entry: Entry) -> list[Held]:
    """Return the entries of a cassette that hold the answer of one of them: to be asked before it is recorded again.

    Args:
        path: Its file.
        entry: What is in it.

    Returns:
        As they were read, in the order of the conversation. None of those whose answer another ordinal gives too.

    Raises:
        StoreError: The cassette cannot be read.
    """
    holding = holding_of(next(list_folders(path.parent)))
    held = {one.path.name: one for one in holding.read() if one.entry} if holding else {}
    with suppress(TookTooLongError), at_most(SECONDS):
        spoken = Spoken(kept(one.path, one.entry) for one in held.values() if one.entry)
        found = _holders(spoken, kept(path, entry))
        return [held[one.kept.path.name] for one in sorted(found, key=_place)]
    return []


def mark(held: Held, origin: Entry) -> bool:
    """Note in an entry that it holds an old answer; what records it again takes the note away.

    Args:
        held: Its file, as it was read.
        origin: The entry that was recorded again.

    Returns:
        False if the file holds another interaction by now, or none; nothing was written.

    Raises:
        FormatError, SecretLeftError, StoreError: As for `amend`; nothing was written.
    """
    note = {"from": slot_of(origin.key, origin.ordinal), "at": now()}
    return held.entry is not None and amend(held.path, held.entry, lambda said: {**said, "chained": note})


def _holders(spoken: Spoken, origin: Kept) -> set[Told]:
    own = next((one for one in spoken.told if (one.kept.key, one.kept.ordinal) == (origin.key, origin.ordinal)), None)
    if own is None:
        return set()
    others = [one for one in spoken.asked[own.said.state] if one is not own.kept]
    repeated = (one for one in spoken.repeated() if one.before == own.said.state and one.is_given_by([own.kept]))
    found = {holder for one in repeated if not one.is_given_by(others) for holder, _ in one.holders}
    left = [own, *found]
    for before in left:  # it grows while it is gone through
        new = [one for one in spoken.following.get(before.kept.reply, ()) if before.kept.reply and one not in found]
        found.update(new)
        left += new
    return found


def _place(one: Told) -> tuple[int, str, Path]:
    return len(one.said.turns), one.kept.at, one.kept.path
