"""How two shapes differ: what came, what went, what is of another type; each graded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from onetake.jsonpath import Path
from onetake.probing.findings import Kind, Severity
from onetake.probing.shapes import FORM_WORDS, Shape

_Fields = dict[str, Shape]


@dataclass(frozen=True, slots=True)
class Change:
    """One place where two shapes differ.

    Args:
        path: Where, None for the items of a list.
        severity: Its grade, as far as the shapes alone can say.
        kind: `added`, `removed`, `type`, `null` or `enum`.
        recorded: The types or words of the first shape, joined by `or`; None where it has nothing there.
        live: Those of the second.
        replaced: Whether what went has something new beside it, which may be its new name.
    """

    path: Path
    severity: Severity
    kind: Kind
    recorded: str | None
    live: str | None
    replaced: bool = False


def changes(recorded: Shape, live: Shape, path: Path = ()) -> Iterator[Change]:
    """Say how a shape differs from the one that is stored.

    Null stands for a value that is not there: what becomes null is graded as what goes, what was null as what comes.
    A list without items has no shape, and differs from none. What only held the model's words may be absent.
    """
    yield from _types(recorded, live, path)
    yield from _words(recorded, live, path)
    yield from _forms(recorded, live, path)
    if recorded.items and live.items:
        yield from changes(recorded.items, live.items, (*path, None))


def _types(recorded: Shape, live: Shape, path: Path) -> Iterator[Change]:
    was, now = recorded.types - {"null"}, live.types - {"null"}
    if was and now - was:
        yield Change(path, Severity.ERROR, Kind.TYPE, _joined(was), _joined(now))
    elif was and "null" in live.types and "null" not in recorded.types:
        grade = Severity.INFO if recorded.said else Severity.WARNING
        yield Change(path, grade, Kind.NULL, _joined(was), _joined(live.types))
    elif now and not was and recorded.types:
        yield Change(path, Severity.INFO, Kind.NULL, "null", _joined(now))


def _words(recorded: Shape, live: Shape, path: Path) -> Iterator[Change]:
    if recorded.words and live.words and recorded.words.isdisjoint(live.words):
        yield Change(path, Severity.ERROR, Kind.ENUM, _joined(recorded.words), _joined(live.words))


def _forms(recorded: Shape, live: Shape, path: Path) -> Iterator[Change]:
    """Compare the objects that say the same of themselves: others have other fields, and are not each other's."""
    was, now = recorded.forms, live.forms
    if len(was) == len(now) == 1 and "" in (*was, *now):
        yield from _fields(was[next(iter(was))], now[next(iter(now))], path)
        return
    for word in sorted(was.keys() & now.keys()):
        yield from _fields(was[word], now[word], path)
    if was and now and was.keys().isdisjoint(now):
        yield Change((*path, _named(was)), Severity.ERROR, Kind.ENUM, _joined(was), _joined(now))
        return
    # Sorts of items come and go with what the model says.
    for word in sorted(was.keys() ^ now.keys()) if was and now else ():
        if word in was:
            yield Change(path, Severity.INFO, Kind.REMOVED, word, None)
        else:
            yield Change(path, Severity.INFO, Kind.ADDED, None, word)


def _fields(was: _Fields, now: _Fields, path: Path) -> Iterator[Change]:
    has_new = not now.keys() <= was.keys()
    for name in {**was, **now}:
        here = (*path, name)
        if name not in now:
            grade = Severity.INFO if was[name].said and not has_new else Severity.WARNING
            yield Change(here, grade, Kind.REMOVED, _joined(was[name].types), None, has_new)
        elif name not in was:
            yield Change(here, Severity.INFO, Kind.ADDED, None, _joined(now[name].types))
        else:
            yield from changes(was[name], now[name], here)


def _named(forms: dict[str, _Fields]) -> str:
    """Return the name under which the objects say what they are."""
    return next(name for fields in forms.values() for name in FORM_WORDS if name in fields)


def _joined(words: Iterable[str]) -> str:
    return " or ".join(sorted(words))
