"""The keys of a job's requests, for those who only look: a batch that is finished needs no request, just its key."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from onetake.batch.asking import Asking
from onetake.key import Keyer, canonical

_PROMPT, _SYSTEM = "\ue000onetake: the prompt\ue000", "\ue000onetake: the system\ue000"
"""What stands in a request for its two texts while it is taken apart."""


class Keys:
    """Keys records as `keyer.key(asking.request(record))` does, in a fraction of its time.

    All requests of a template are one text but for what a record says; so the text that is hashed is taken apart once,
    and put together with each record's own words.

    Args:
        asking: Makes the requests.
        keyer: What they are keyed by; under rules of its own each request is keyed as a whole.
    """

    def __init__(self, asking: Asking, keyer: Keyer) -> None:
        self._asking = asking
        self._keyer = keyer
        self._parts = _parts(asking, keyer) if asking.is_template and not keyer.spec() else None

    def of(self, data: Mapping[str, Any]) -> str:
        """Return the key of a record's request, 64 hex digits.

        Raises:
            MissingFieldError: The record lacks a field that the prompt names.
        """
        if self._parts is None:
            return self._keyer.key(self._asking.request(data))
        prompt, system = self._asking.texts(data)
        if not system and self._asking.has_system:  # then the request has none, which is another text
            return self._keyer.key(self._asking.request(data))
        texts = {_PROMPT: prompt, _SYSTEM: system, "": ""}
        written = [part + canonical.dumps(texts[place]) if place else part for part, place in self._parts]
        return sha256(canonical.encode("".join(written))).hexdigest()


def _parts(asking: Asking, keyer: Keyer) -> list[tuple[str, str]] | None:
    """Return the pieces of the hashed text, each with the place behind it; None where they cannot be told."""
    places = (_PROMPT, _SYSTEM) if asking.has_system else (_PROMPT,)
    text = keyer.text(asking.of(_PROMPT, _SYSTEM if asking.has_system else ""))
    marks = {canonical.dumps(place): place for place in places}
    if any(text.count(mark) != 1 for mark in marks):
        return None
    parts, last = [], 0
    for at, mark in sorted((text.index(mark), mark) for mark in marks):
        parts.append((text[last:at], marks[mark]))
        last = at + len(mark)
    return [*parts, (text[last:], "")]
