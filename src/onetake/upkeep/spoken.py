"""The conversations of one cassette: which request goes on from which, and with what answer between the two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from onetake.dialects import Dialect
from onetake.dialects.conversations import Conversation, Turn, Words, conversation, response_id, words_in, words_of
from onetake.model import Answer, Entry, Request
from onetake.upkeep.entry_checks import dialect_of
from onetake.validity import moment

_BY_ID = "openai-responses/"
"""Dialects in which a request can go on from the id of a response."""

_ID = "$.previous_response_id"


class Kept(NamedTuple):
    """What of an entry bears on conversations, to be kept in mind."""

    path: Path
    key: str
    ordinal: int
    dialect: str
    request: Request
    answer: Answer | None
    provenance: Mapping[str, Any]
    ignored: Any
    """The places in its body that do not count for its key."""
    reply: str
    """The id of its response, where one can go on from that."""

    @property
    def at(self) -> str:
        """When it was recorded, in UTC and in one form, so that texts compare as times; empty where it does not say."""
        at = moment(self.provenance.get("recorded_at"))
        try:
            return at.astimezone(UTC).isoformat(timespec="microseconds") if at else ""
        except OverflowError:  # at an end of time
            return ""

    @property
    def mark(self) -> str:
        """The key and ordinal of the entry whose old answer it was marked to hold; empty where it was not."""
        mark = self.provenance.get("chained")
        return str(mark.get("from")) if isinstance(mark, dict) else ""

    @property
    def words(self) -> set[Words]:
        """What it gives."""
        return set(map(words_of, self.answer.choices)) if self.answer else set()


def slot_of(key: str, ordinal: int) -> str:
    """Return how a mark names an entry."""
    return f"{key}-{ordinal}"


def kept(path: Path, entry: Entry) -> Kept:
    """Take out of an entry what bears on conversations."""
    dialect = entry.dialect or ""
    reply = response_id(entry.response) if dialect.startswith(_BY_ID) else ""
    ignored = entry.key_spec.rules.get("ignore", ())
    return Kept(path, entry.key, entry.ordinal, dialect, entry.request, entry.answer, entry.provenance, ignored, reply)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """An entry, and the conversation in its request."""

    kept: Kept
    dialect: Dialect
    said: Conversation


@dataclass(frozen=True, slots=True)
class Repeated:
    """An answer as requests repeat it.

    Args:
        before: The state of the conversation that it was the answer in.
        words: What the model said.
        holders: The entries whose requests repeat it, each with its place among the answers there, from 1.
    """

    before: bytes
    words: Words
    holders: tuple[tuple[Told, int], ...]

    def is_given_by(self, givers: Iterable[Kept]) -> bool:
        """Tell whether one of some entries gives this answer."""
        return any(self.words in giver.words for giver in givers)


class Spoken:
    """The conversations of some entries.

    Args:
        entries: Those of one cassette.
    """

    def __init__(self, entries: Iterable[Kept]) -> None:
        dialects: dict[str, Dialect | None] = {}
        self.told: list[Told] = []
        for one in entries:
            if one.dialect not in dialects:
                dialects[one.dialect] = dialect_of(one.dialect)
            dialect = dialects[one.dialect]
            said = conversation(dialect, one.request) if dialect else None
            if dialect and said:
                self.told.append(Told(one, dialect, said))

    @cached_property
    def asked(self) -> Mapping[bytes, list[Kept]]:
        """The entries by the states of conversations that they are the answers in."""
        found: dict[bytes, list[Kept]] = defaultdict(list)
        for one in self.told:
            found[one.said.state].append(one.kept)
        return found

    @cached_property
    def replies(self) -> Mapping[str, list[Kept]]:
        """The entries by the ids of their responses."""
        found: dict[str, list[Kept]] = defaultdict(list)
        for one in self.told:
            if one.kept.reply:
                found[one.kept.reply].append(one.kept)
        return found

    @cached_property
    def following(self) -> Mapping[str, list[Told]]:
        """The entries whose requests go on from a response by its id, by that."""
        found: dict[str, list[Told]] = defaultdict(list)
        for one in self.told:
            if one.said.follows and _ID not in one.kept.ignored:
                found[one.said.follows].append(one)
        return found

    def repeated(self) -> Iterator[Repeated]:
        """Yield each answer that requests repeat, where an entry's whole request stands before it."""
        turns: dict[bytes, Turn] = {}
        holders: dict[bytes, list[tuple[Told, int]]] = defaultdict(list)
        for one in self.told:
            for place, turn in enumerate(one.said.turns, 1):
                if turn.before in self.asked:
                    turns[turn.after] = turn
                    holders[turn.after].append((one, place))
        for after, found in holders.items():
            one, _ = found[0]
            words = words_in(one.dialect, one.kept.request, turns[after])
            if words is not None:
                yield Repeated(turns[after].before, words, tuple(found))
