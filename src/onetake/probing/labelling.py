"""Whether an answer is labelled as the stored one: the places that the project declares, by value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from onetake import picking
from onetake.jsonpath import Path, show
from onetake.probing import labels
from onetake.probing.allowing import Expected
from onetake.probing.findings import Finding, Kind, Label, Severity
from onetake.probing.heard import Heard


def label_findings(
    recorded: Heard, live: Heard, again: Heard | None, paths: Sequence[Path], expected: Expected
) -> Iterator[tuple[Label, Finding | None]]:
    """Yield each label that either answer has, and the finding where they differ.

    Args:
        recorded: The stored answer.
        live: The fresh one.
        again: The fresh one of the second time; None where it was asked once.
        paths: Into the parts that a contract judges, else into the texts.
        expected: Says which parts those are.
    """
    was, now, then = (None if one is None else _parts(one, expected) for one in (recorded, live, again))
    for path in paths:
        first, second = _at(was, path), _at(now, path)
        if not first and not second:
            continue
        differs = not labels.equal(first, second)
        noise = None if again is None else not labels.equal(second, _at(then, path))
        # Where the model answers itself otherwise, another answer than the stored one says nothing of the model.
        grade = Severity.INFO if noise else Severity.WARNING
        found = Finding("", show(path), grade, Kind.LABEL, _value(first), _value(second))
        yield Label(show(path), differs, noise), found if differs else None


def _parts(heard: Heard, expected: Expected) -> list[Any]:
    """Return the values that labels are looked for in: JSON where a text holds it, else the text."""
    judged, texts = [], []
    for choice in heard.choices:
        judged += [call.arguments for call in choice.tool_calls if expected.selects(f"tool:{call.name}")]
        if choice.text is not None and not choice.tool_calls:
            texts.append(picking.value_or_text(choice.text))
    return judged or texts


def _at(parts: list[Any] | None, path: Path) -> list[Any]:
    return [value for part in parts or () for value in labels.at(part, path)]


def _value(found: list[Any]) -> Any:
    return found[0] if len(found) == 1 else found or None
