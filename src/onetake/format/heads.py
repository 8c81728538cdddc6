"""What an entry says of itself and of the answer, read without its bodies: a fraction of the time of reading it whole.

Only for bytes that are known to be as they were written: what stands between is not looked at.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from onetake.errors import FormatError
from onetake.format import FORMAT_VERSION
from onetake.format.answers import unfold_answer
from onetake.format.entryjson import parse_entry
from onetake.format.forms import unfold
from onetake.format.sidecar import Side
from onetake.model import Answer

_ORIGIN, _ANSWER, _BODIES, _REST = (
    f'\n  "{name}": {{'.encode() for name in ("provenance", "answer", "request", "key_spec")
)
"""As `layout` writes a member of an entry: no string holds a line end, and deeper ones are indented more."""
_NAME = re.compile(rb',\n  "key": "([0-9a-f]{64})",\n  "ordinal": (0|[1-9][0-9]{0,8})\n\}\n')
"""As it ends: with all that differs from one entry of a batch to the next, besides answer and bodies."""
_FRAMES = 64
_VALUES = frozenset((dict, list))


class Head(NamedTuple):
    """The parts of an entry's file that are no bodies, as parsed and unchecked.

    Args:
        verdict: The gate's word.
        contract: Name, version and digest of what judged it; None without.
        answer: The tree of the answer; None without.
        recipe: What the key was made by.
        scrub: What it was scrubbed by.
        rules: The key rules that were in force.
        key: 64 hex digits.
        ordinal: 0 or more.
    """

    verdict: Any
    contract: Any
    answer: Any
    recipe: Any
    scrub: Any
    rules: Any
    key: Any
    ordinal: Any

    def value(self, side: Side) -> Any:
        """Return the JSON value that the first choice's text is, where the entry shows it as one; else None.

        The tree is changed in place: a head gives its answer once.

        Raises:
            FormatError: A form in it is malformed, or a sidecar missing or damaged.
        """
        choices = self.answer.get("choices") if type(self.answer) is dict else None
        choice = choices[0] if type(choices) is list and choices else None
        shown = choice.get("json") if type(choice) is dict and "tool_calls" not in choice else None
        return unfold(shown, side, values=True) if type(shown) in _VALUES else None

    def said(self, side: Side) -> Answer | None:
        """Return the answer, None where there is none; as `value`, once.

        Raises:
            FormatError: As `value` does.
        """
        return None if self.answer is None else unfold_answer(self.answer, side)


def is_adopted(data: bytes) -> bool:
    """Tell whether an entry's answer was given to another request, by the bytes of its file."""
    return data.find(b'"adopted": {', max(data.find(_ORIGIN), 0), max(data.find(_ANSWER), 0)) > 0


def read_head(data: bytes) -> Head | None:
    """Read the head of an entry; None where the file is not laid out as it is written, or of another version.

    Args:
        data: The bytes of its file.
    """
    origin, answer, bodies, rest = data.find(_ORIGIN), data.find(_ANSWER), data.find(_BODIES), data.rfind(_REST)
    if not 0 < origin < answer < bodies < rest:
        return None
    name = _NAME.search(data, rest)
    try:
        if name is not None and name.end() == len(data):
            frame = _frame(data[:origin] + data[rest : name.start()])
            said = parse_entry(b"{" + data[answer : bodies - 1] + b"}").get("answer")
            return frame and Head(*frame[:2], said, *frame[3:6], name[1].decode(), int(name[2]))
        return _head(parse_entry(data[:origin] + data[answer:bodies] + data[rest:]))
    except FormatError:
        return None


@lru_cache(maxsize=_FRAMES)
def _frame(data: bytes) -> Head | None:
    """Read what all entries of a batch have in common, once."""
    return _head(parse_entry(data + b"}"))


def _head(tree: dict[str, Any]) -> Head | None:
    spec = tree.get("key_spec")
    if tree.get("onetake") != FORMAT_VERSION or type(spec) is not dict:
        return None
    return Head(
        tree.get("verdict"),
        tree.get("contract"),
        tree.get("answer"),
        spec.get("recipe"),
        spec.get("scrub"),
        spec.get("rules", {}),
        tree.get("key"),
        tree.get("ordinal"),
    )
