"""Headers as vcrpy's files have them, in every shape, and what a filter put in the place of a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from onetake.importers.tagged import name_of
from onetake.model import Headers

_REDACTED = re.compile(r"[\W_]*(?:redacted|filtered|removed|scrubbed|masked|hidden|censored)[\W_]*|\*{2,}|x{4,}", re.I)


def headers_of(raw: Any) -> tuple[Headers, int]:
    """Return headers as pairs, and how many values a filter had replaced: those say nothing, and are left out.

    Args:
        raw: A mapping of names to a value or to a list of values, a list of pairs, or a list of header lines.
    """
    found = [(name, value) for name, value in _pairs(raw) if name]
    kept = tuple((name, value) for name, value in found if not _REDACTED.fullmatch(value))
    return kept, len(found) - len(kept)


def _pairs(raw: Any) -> Iterator[tuple[str, str]]:
    if isinstance(raw, dict):
        for name, values in raw.items():
            for value in values if isinstance(values, list) else [values]:
                yield str(name), _text(value)
    for one in raw if isinstance(raw, list) else ():
        if isinstance(one, list) and len(one) == 2:
            for value in one[1] if isinstance(one[1], list) else [one[1]]:
                yield name_of(one[0]), _text(value)
        elif isinstance(one, str | bytes) and ":" in _text(one):
            name, _, value = _text(one).partition(":")
            yield name.strip(), value.strip()


def _text(value: Any) -> str:
    """Return a header's value; bytes as Latin-1, which loses none of them."""
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    return " ".join(("" if value is None else str(value)).splitlines()).strip()
