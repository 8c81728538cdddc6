"""What changed between two requests, in a word: the prompt, a parameter, a field that an SDK upgrade added."""

from __future__ import annotations

import re
from collections.abc import Iterable

from onetake.compare import Difference
from onetake.dialects.fields import Field, field
from onetake.printable import one_line

_FIRST = re.compile(r"body(?:\$)?\.([A-Za-z_]\w*)")
_LAST = re.compile(r"\.([A-Za-z_]\w*)$")
_ONE_SIDED = ("added", "removed")


def changes(differences: Iterable[Difference]) -> tuple[str, ...]:
    """Say what changed, each once, in the order of the differences.

    Returns:
        `the prompt changed`, `the model changed`, `the tools changed`, `field seed added`, `header x removed`,
        `parameter temperature changed`, …
    """
    return tuple(dict.fromkeys(map(_change, differences)))


def _change(one: Difference) -> str:
    thing = _thing(one)
    is_whole = thing.startswith(("field ", "header ")) and one.kind in _ONE_SIDED
    return f"{thing} {one.kind if is_whole else 'changed'}"


def _thing(one: Difference) -> str:
    part, _, name = one.path.partition(".")
    if part in ("url", "method"):
        return "the URL" if part == "url" else "the method"
    if part == "headers":
        return f"header {one_line(name, 60)}"
    first, last = _FIRST.match(one.path), _LAST.search(one.path)
    if first is None:
        return "the body"
    what = field((first[1],))
    is_prompt = what in (Field.PROMPT, Field.ARGUMENTS)
    is_inside = last is not None and last.start() >= first.end()
    if last and one.kind in _ONE_SIDED and (is_inside or not is_prompt):
        return f"field {one_line(last[1], 60)}"
    if what in (Field.PARAMETER, Field.OTHER):
        return f"{'parameter' if what is Field.PARAMETER else 'field'} {one_line(first[1], 60)}"
    return what.value
