"""A change as it is shown, on a terminal, in a comment or as JSON: contract and provenance first, then what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from onetake.cli import output
from onetake.cli.diff import compared
from onetake.cli.readable import body_value, entry_data, finishes, request_text, response_text, said
from onetake.cli.show import origin
from onetake.compare import Difference, value_differences
from onetake.model import Entry, Headers
from onetake.printable import block, one_line, spelled
from onetake.review.change import Change, Kind
from onetake.review.reading import Read

_T = TypeVar("_T")

_LONGEST_TEXT = 200_000
"""Characters of a text that are looked at: what lies behind them is not shown."""
_LONGEST_LINE = 400
_MOST_BESIDE = 20
"""Differences of a response that are told where the answer is the same."""
_BY_ITSELF = frozenset({"$.recorded_at", "$.commit", "$.dirty"})
"""What differs in the provenance of whatever is recorded again."""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of what is shown.

    Args:
        name: `request`, `answer`, `contract`, `provenance`, `other`, `violations` or `check`.
        lines: Each printable, and short.
        is_diff: Whether its lines begin as those of a diff do: `+` is now, `-` was.
    """

    name: str
    lines: tuple[str, ...]
    is_diff: bool = False


def heading(change: Change) -> str:
    """Return what a change is, and where, on one line."""
    return f"{change.kind}: {told(change.path)}"


def told(path: Path) -> str:
    """Return a path as it may be shown: whoever named a file may have put anything into its name."""
    return spelled(output.scrubbed_path(path))


def facts(read: Read) -> list[tuple[str, str]]:
    """Return where an entry comes from, by name, and what it is compared with."""
    found = [("cannot be read", read.why)] if read.why else []
    if (entry := read.entry) is not None:
        found += tried(lambda: list(origin(entry)), lambda why: [("cannot be told", why)])
    if read.old is not None or read.against:
        found.append(("compared", f"with {read.against}"))
    if read.change.kind is Kind.MOVED and read.change.before:
        found.append(("moved", f"from {told(read.change.before)}"))
    if read.unseen:
        found.append(("unseen", f"differs, and the scrub rules keep no such header: {', '.join(read.unseen)}"))
    if read.change.lacks:
        found.append(("lacks", "\n".join(read.change.lacks)))
    return [(name, "\n".join(_lines(value))) for name, value in found if value]


def sections(read: Read) -> list[Section]:
    """Return what differs, or all of an entry that nothing is compared with; empty parts are left out."""
    if read.entry is None:
        return []
    entry, old = read.entry, read.old
    found = tried(
        lambda: list(_compared(entry, old) if old else _alone(entry)),
        lambda why: [Section("request and answer", (f"cannot be shown: {why}",))],
    )
    broken = tuple(one_line(str(violation), _LONGEST_LINE) for violation in entry.violations)
    checked = tuple(
        one_line(f"{one.severity}: {one.code}: {one.message}".replace("\n", "; "), _LONGEST_LINE)
        for one in read.findings
    )
    found += [Section("violations", broken), Section("check", checked)]
    return [one for one in found if one.lines]


def data(read: Read, differing: dict[str, list[Difference]]) -> dict[str, Any]:
    """Return a change as JSON data.

    Args:
        read: It.
        differing: As `differences` gives it.
    """
    change, entry = read.change, read.entry
    contract = entry.contract if entry else None
    return {
        "kind": change.kind.value,
        "path": output.scrubbed_path(change.path),
        "cassette": output.scrubbed_path(change.folder) if change.folder else None,
        "moved_from": output.scrubbed_path(change.before) if change.kind is Kind.MOVED and change.before else None,
        "lacks": list(change.lacks),
        "accepted": change.is_accepted,
        "unreadable": read.why or None,
        "key": entry.key if entry else None,
        "ordinal": entry.ordinal if entry else None,
        "verdict": entry.verdict if entry else None,
        "contract": {"name": contract.name, "schema_version": contract.schema_version} if contract else None,
        "provenance": dict(entry.provenance) if entry else {},
        "compared_with": read.against or None,
        "differences": {part: [_difference(one) for one in listed] for part, listed in differing.items()},
        "unseen": list(read.unseen),
        "violations": [
            {"path": one.path, "expected": one.expected, "found": one.found}
            for one in (entry.violations if entry else ())
        ],
        "findings": [
            {"code": one.code.value, "severity": one.severity.value, "message": one.message} for one in read.findings
        ],
    }


def differences(read: Read) -> dict[str, list[Difference]]:
    """Return how an entry differs from what it is compared with, part by part; nothing where it is with nothing."""
    now, old = read.entry, read.old
    return tried(lambda: _parts(now, old), lambda why: {}) if now and old else {}


def _parts(now: Entry, old: Entry) -> dict[str, list[Difference]]:
    """Return the parts that every entry has, and as `other` whatever differs beside them, so that nothing hides."""
    found = compared(now, old)
    same_answer = not found["answer"]
    a, b = (_others(entry, whole=not found["request"], says_same=same_answer) for entry in (now, old))
    return {**found, "other": value_differences(a, b, _MOST_BESIDE)}


def _others(entry: Entry, *, whole: bool, says_same: bool) -> dict[str, Any]:
    """Return what a comparison under the rules of the key leaves out, and what no part has.

    Args:
        entry: It.
        whole: Whether the request's body is among it: where the request differs, it is shown there.
        says_same: Whether the response is among it: what is recorded anew has other dates, ids and counts.
    """
    data = entry_data(entry)
    request = {"method": entry.request.method, "url": entry.request.url, "headers": _by_name(entry.request.headers)}
    if whole:
        request["body"] = body_value(entry.request.body)
    rest = {name: data[name] for name in ("key", "key_spec", "dialect", "scrubbed", "extra")}
    if not says_same:
        return {"request": request, **rest}
    response = {name: data["response"][name] for name in ("status", "decoded", "cut")}
    response |= {"headers": _by_name(entry.response.headers), "body": body_value(entry.response.body)}
    return {"request": request, "response": response, "metrics": data["metrics"], **rest}


def _by_name(headers: Headers) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value)
    return found


def tried(make: Callable[[], _T], otherwise: Callable[[str], _T]) -> _T:
    """Return what is made of an entry; where that breaks on what others wrote into it, something else.

    Args:
        make: Makes it.
        otherwise: Makes something else, given why.
    """
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - whatever an entry was made to do to what shows it, the others are shown
        return otherwise(one_line(f"{type(error).__name__}: {error}", _LONGEST_LINE))


def in_short(read: Read, differing: dict[str, list[Difference]]) -> str:
    """Say on one line what is the matter with a change."""
    if read.why:
        return f"cannot be read: {one_line(read.why, 120)}"
    parts = ("contract", "request", "answer")
    found = [f"{part}: {len(differing[part])}" for part in parts if differing.get(part)]
    if read.change.kind in (Kind.RERECORDED, Kind.MOVED) and read.old is not None and not found:
        found = ["says the same"]
    others = len(differing.get("other", ())) + len(read.unseen)
    found += [f"other: {others}"] if others else []
    found += [f"lacks {len(read.change.lacks)} of its files"] if read.change.lacks else []
    errors = [one.code.value for one in read.errors]
    broken = len(read.entry.violations) if read.entry else 0
    return ", ".join([*found, *([f"violations: {broken}"] if broken else []), *dict.fromkeys(errors)])


def _compared(now: Entry, old: Entry) -> Iterator[Section]:
    found = _parts(now, old)
    for part in ("contract", "request", "answer", "provenance"):
        listed = [one for one in found[part] if part != "provenance" or one.path not in _BY_ITSELF]
        if listed:
            yield Section(part, tuple(line for one in listed for line in _diff_lines(one)), is_diff=True)
        elif part in ("request", "answer"):
            yield Section(part, ("the same",))
    if found["other"]:
        yield Section("other", tuple(line for one in found["other"] for line in _diff_lines(one)), is_diff=True)


def _alone(entry: Entry) -> Iterator[Section]:
    yield Section("request", _lines(request_text(entry.request)))
    text = said(entry)
    finish = finishes(entry)
    lines = _lines(text) if text else _lines(response_text(entry.response))
    yield Section("answer", (*lines, f"(finish: {finish})") if text and finish else lines)


def _lines(text: str) -> tuple[str, ...]:
    """Return a text as lines that can be printed, none of them long."""
    return tuple(one_line(line, _LONGEST_LINE) for line in block(text[:_LONGEST_TEXT]).split("\n"))


def _diff_lines(one: Difference) -> Iterator[str]:
    yield f"  {one_line(one.path, _LONGEST_LINE)}{': only the order differs' if one.kind == 'order' else ''}"
    if one.kind != "added":
        yield f"- {one.stored}"
    if one.kind != "removed":
        yield f"+ {one.asked}"


def _difference(one: Difference) -> dict[str, str]:
    return {"path": one.path, "kind": one.kind, "was": one.stored, "is": one.asked}
