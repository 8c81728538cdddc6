"""Whether an answer is labelled as the stored one: the places that the project declares, by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onetake.jsonpath import Path, show
from onetake.probing import labels
from onetake.probing.allowing import Expected
from onetake.probing.findings import Finding, Kind, Label, Severity
from onetake.probing.heard import NOTHING, Heard
from onetake.probing.texts import said_json


def label_findings(
    recorded: Heard, live: Heard, again: Heard | None, paths: Sequence[Path], expected: Expected
) -> Iterator[tuple[Label | None, Finding | None]]:
    """Yield each label that either answer has, and the finding where they differ.

    Of a path that leads nowhere because an answer is prose there is no label, and a finding: nobody knows.

    Args:
        recorded: The stored answer.
        live: The fresh one.
        again: The fresh one of the second time; None where it was asked once.
        paths: Into the parts that a contract judges, else into the texts.
        expected: Says which parts those are.
    """
    was, now, then = ([] if one is None else _parts(one, expected) for one in (recorded, live, again))
    nowhere = [_NOWHERE if any(isinstance(part, str) for part in parts) else None for parts in (was, now)]
    for path in paths:
        first, second = _at(was, path), _at(now, path)
        if not first and not second:
            if any(nowhere):
                yield None, Finding("", show(path), Severity.WARNING, Kind.LABEL, *nowhere)
            continue
        differs = not labels.equal(first, second)
        noise = None if again is None else not labels.equal(second, _at(then, path))
        # Where the model answers itself otherwise, another answer than the stored one says nothing of the model.
        grade = Severity.INFO if noise else Severity.WARNING
        found = Finding("", show(path), grade, Kind.LABEL, _value(first, path), _value(second, path))
        yield Label(show(path), differs, noise), found if differs else None


_NOWHERE = "no JSON to look in"


def _parts(heard: Heard, expected: Expected) -> list[Any]:
    """Return the values that labels are looked for in: JSON where a text holds it, else the text.

    Words beside a tool call are none.
    """
    judged, texts = [], []
    for choice in heard.choices:
        judged += [call.arguments for call in choice.tool_calls if expected.selects(f"tool:{call.name}")]
        value = said_json(choice.text, is_held=True)
        if isinstance(value, dict | list) or (choice.text is not None and not choice.tool_calls):
            texts.append(choice.text if value is NOTHING else value)
    return judged or texts


def _at(parts: list[Any], path: Path) -> list[list[Any]]:
    """Return what is at a path in each of the parts that have something there."""
    return [found for part in parts if (found := labels.at(part, path))]


def _value(found: list[list[Any]], path: Path) -> Any:
    values = [labels.shown(one, path) for one in found]
    return values[0] if len(values) == 1 else values or None
