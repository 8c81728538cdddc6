"""Whether the files that a contract watches are others than when an entry was recorded, as far as git can tell.

It is asked only where digests do not say that they are the same. Then history may still prove that a file was only
renamed, or that what it says is another thing: a commit had the digest. Where it proves neither, nobody knows: a digest
holds the names, too. What an entry has no digest of is compared with the commit that it was recorded at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from itertools import combinations, groupby
from pathlib import Path, PurePosixPath
from typing import Any

from onetake.contract.watch import base_of, content_of, digest_of, selects, watched
from onetake.printable import one_line
from onetake.upkeep.commits import Change, Commits

_FOLLOWED = 50
"""Watched files whose renames are looked for; where there are more, only the changes of all together are."""

_FEW_PATHS = 8
"""Watched paths of which it is tried whether some were watched before the others were."""

_LOOKED_AT = 20
"""Changes whose contents are read at once."""

_UNDONE = 100
"""Changes that are undone, one commit after the other, to find what the files said when an entry was recorded."""


class Since(StrEnum):
    """What became of the watched files since an entry was recorded."""

    SAME = "same"
    CHANGED = "changed"
    OTHER = "other"
    """They have another digest, for what they say or for their names alone."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Past:
    """What history says.

    Args:
        since: The finding.
        why: Which change it was, or why nobody knows; in a few words that may be printed. May be empty.
    """

    since: Since
    why: str = ""


class History:
    """The past of the files that one contract watches.

    Args:
        root: The settings' folder.
        watch: As in the contract.
        scrub: Takes secrets out of a text: what a commit says of itself is not ours.
    """

    def __init__(self, root: Path, watch: Sequence[str | Path], scrub: Callable[[str], str]) -> None:
        self._root = root.absolute()
        self._watch = tuple(watch)
        self._scrub = scrub
        self._commits = Commits(self._root)
        self._at: dict[str, Past] = {}
        self._paths: dict[str, frozenset[int]] = {}
        self._counted: dict[tuple[str, str], str] = {}
        self._once: set[str] = set()

    def since(self, digests: Sequence[str], provenance: Mapping[str, Any]) -> Past:
        """Say what became of the watched files.

        Args:
            digests: Those of the watched files that the entry was recorded or reviewed under, none of them today's.
            provenance: The entry's own: the commit it was recorded at counts, where nothing was changed then.
        """
        if not self._renamed.isdisjoint(digests):
            return Past(Since.SAME)
        if digests and self._parts.isdisjoint(digests):
            return Past(Since.CHANGED if self._had(digests) else Since.OTHER, self.last)
        return self._since_commit(provenance)

    @cached_property
    def last(self) -> str:
        """The last change of a watched file in a few words, or why git does not tell it; may be empty."""
        if self._commits.why_none:
            return self._commits.why_none
        if uncommitted := self._uncommitted():
            return uncommitted
        for change in self._moving():
            if change.is_first and self._commits.is_shallow:
                break
            return self._told(change)
        if self._commits.is_over:
            return "git was too slow to say"
        return "this clone is shallow" if self._commits.is_shallow else ""

    def _since_commit(self, provenance: Mapping[str, Any]) -> Past:
        commit = provenance.get("commit")
        if self._commits.why_none:
            return Past(Since.UNKNOWN, self._commits.why_none)
        if not isinstance(commit, str) or not Commits.is_name(commit):
            return Past(Since.UNKNOWN, "it names no commit that it was recorded at")
        if provenance.get("dirty"):
            return Past(Since.UNKNOWN, f"files were changed and not committed then, at commit {commit[:12]}")
        if commit not in self._at:
            self._at[commit] = self._compared(commit)
        return self._at[commit]

    def _compared(self, commit: str) -> Past:
        """Compare today's files with those of a commit, under the names that they may have had then."""
        if outside := next((name for name in self._contents if not self._commits.is_inside(name)), ""):
            return Past(Since.UNKNOWN, f"{one_line(outside, 80)} lies outside of the repository")
        then = self._files(commit)
        if self._commits.is_over:
            return Past(Since.UNKNOWN, "git was too slow to say")
        if then is None:
            return Past(Since.UNKNOWN, f"its commit {commit[:12]} is not in this clone (squashed, rebased or shallow)")
        read = self._commits.contents(tuple(then.values()))
        if read.keys() != set(then.values()):
            return Past(Since.UNKNOWN, f"this clone does not have all files of its commit {commit[:12]}")
        had = {name: self._content(name, digest, read) for name, digest in then.items()}
        if had == self._contents or any(self._was(names, had) for names in self._earlier):
            return Past(Since.SAME)
        return Past(Since.CHANGED, self.last)

    def _was(self, names: Mapping[str, str], had: Mapping[str, str]) -> bool:
        """Tell whether a commit had today's files under the names of then, and no other watched one."""
        return had == {then: content_of(then, self._files_today[name]) for name, then in names.items()}

    def _files(self, commit: str) -> dict[str, str] | None:
        """Return the files of a commit that are watched, or are under another name; None where it is not there."""
        renamed = {then for names in self._earlier for name, then in names.items() if then != name}
        found = self._commits.files(commit, [*self._bases, *sorted(renamed)])
        if found is None:
            return None
        return {name: digest for name, digest in found.items() if name in renamed or self._naming(name)}

    def _content(self, name: str, digest: str, read: Mapping[str, bytes]) -> str:
        """Return what counts of a content that git has; the same is read once for all commits that have it."""
        known = (PurePosixPath(name).suffix, digest)
        if known not in self._counted:
            self._counted[known] = content_of(name, read[digest])
        return self._counted[known]

    @cached_property
    def _files_today(self) -> dict[str, bytes]:
        return watched(self._watch, self._root)

    @cached_property
    def _contents(self) -> dict[str, str]:
        return {name: content_of(name, data) for name, data in self._files_today.items()}

    @cached_property
    def _bases(self) -> list[str]:
        return list(dict.fromkeys(base_of(given, self._root) for given in self._watch))

    @cached_property
    def _renamed(self) -> frozenset[str]:
        """The digests that today's contents have under their earlier names."""
        contents = ({then: content_of(then, self._files_today[name]) for name, then in names.items()}
                    for names in self._earlier)  # fmt: skip
        return frozenset(map(digest_of, contents))

    @cached_property
    def _parts(self) -> frozenset[str]:
        """The digests of today's files if fewer paths were watched: an entry that has one is older than the others."""
        return frozenset(self._digests(self._contents))

    @cached_property
    def _followed(self) -> dict[str, list[Change]]:
        """The changes of each watched file under all names that it had; of none where they are many."""
        names = self._contents if len(self._contents) <= _FOLLOWED else ()
        return {name: self._commits.renames(name) for name in names}

    @cached_property
    def _earlier(self) -> list[dict[str, str]]:
        """What the watched files were called before each commit that renamed some of them, newest first."""
        moved = [
            (change, name)
            for name, changes in self._followed.items()
            for change in changes
            if change.before != change.name
        ]
        moved.sort(key=lambda one: self._age(one[0]))
        names = {name: name for name in self._contents}
        states = []
        for _, together in groupby(moved, lambda one: one[0].commit):
            names = names | {name: change.before for change, name in together}
            states.append(names)
        return states

    @cached_property
    def _order(self) -> dict[str, int]:
        """The commits that bear on the watched files, under whatever names, by their places in git's own order."""
        own = {
            name for changes in self._followed.values() for change in changes for name in (change.name, change.before)
        }
        return self._commits.order([*self._bases, *sorted(own)])

    def _age(self, change: Change) -> tuple[int, int, str]:
        """Return what changes are sorted by, newest first; one that waits to be committed is the newest."""
        place = self._order.get(change.commit, len(self._order)) if change.commit else -1
        return place, -change.time, change.commit

    def _uncommitted(self) -> str:
        """Name a watched file that is not as it was committed, and say so; empty where there is none."""
        if self._files("HEAD") is None:
            return ""
        for name, content in self._contents.items():
            if (was := self._committed.get(name)) != content:
                return f"{one_line(name, 80)} is {'changed, and ' if was else ''}not committed"
        return ""

    @cached_property
    def _committed(self) -> dict[str, str]:
        """What the last commit has of the watched files, under today's names or earlier ones."""
        files = self._files("HEAD") or {}
        read = self._commits.contents(tuple(files.values()))
        return {name: self._content(name, digest, read) for name, digest in files.items() if digest in read}

    def _had(self, digests: Sequence[str]) -> bool:
        """Tell whether the watched files had one of these digests by some commit."""
        while self._once.isdisjoint(digests):
            state = next(self._states, None)
            if state is None:
                return False
            self._once |= self._digests(state)
        return True

    @cached_property
    def _states(self) -> Iterator[dict[str, str]]:
        return self._undone()

    def _undone(self) -> Iterator[dict[str, str]]:
        """Find what the watched files said by the last commit, and before each one that changed them, newest first."""
        state = dict(self._committed)
        yield state
        changes = self._changes[:_UNDONE]
        read = self._commits.contents([change.old for change in changes])
        for _, together in groupby(changes, lambda change: change.commit):
            undone = list(together)
            for change in undone:
                state.pop(change.name, None)
            state |= {one.before: self._content(one.before, one.old, read) for one in undone if one.old in read}
            yield state

    def _digests(self, contents: Mapping[str, str]) -> set[str]:
        """Return the digest that files have, and those that they have if fewer paths are watched."""
        few = range(len(self._watch) if len(self._watch) <= _FEW_PATHS else 0)
        chosen = (frozenset(some) for number in few[1:] for some in combinations(few, number))
        parts = ({n: said for n, said in contents.items() if some & self._naming(n)} for some in chosen)
        return {digest_of(contents), *map(digest_of, parts)}

    @cached_property
    def _changes(self) -> list[Change]:
        """The changes of watched files that are committed, newest first."""
        own = [change for changes in self._followed.values() for change in changes if change.commit]
        known = {(change.commit, change.name) for change in own}
        others = [change for change in self._commits.changes(self._bases) if self._naming(change.name)]
        found = own + [change for change in others if (change.commit, change.name) not in known]
        return sorted(found, key=self._age)

    def _moving(self) -> Iterator[Change]:
        """Find the changes that moved what counts of a file, newest first."""
        for start in range(0, len(self._changes), _LOOKED_AT):
            some = self._changes[start : start + _LOOKED_AT]
            read = self._commits.contents([digest for change in some for digest in (change.old, change.new)])
            yield from (change for change in some if self._moves(change, read))

    def _moves(self, change: Change, read: Mapping[str, bytes]) -> bool:
        """Tell whether a change moved what counts; one whose contents are not all here may have."""
        if change.old not in read or change.new not in read:
            return True
        old, new = self._content(change.before, change.old, read), self._content(change.name, change.new, read)
        return old != new

    def _naming(self, name: str) -> frozenset[int]:
        """Return which of the watched paths name a file, by their places; none where it is not watched."""
        if name not in self._paths:
            given = enumerate(self._watch)
            self._paths[name] = frozenset(place for place, path in given if selects(path, name, self._root))
        return self._paths[name]

    def _told(self, change: Change) -> str:
        subject = one_line(self._scrub(change.subject), 80)
        return f"{one_line(change.name, 80)}, last in {change.commit[:12]}{_day(change.time)}: {subject}"


def _day(seconds: int) -> str:
    try:
        return f" of {datetime.fromtimestamp(seconds, UTC).date().isoformat()}"
    except (OverflowError, ValueError, OSError):  # a commit may say anything
        return ""
