"""What a request differs in from the one that was recorded, in one word for each place."""

from __future__ import annotations

import re
from enum import StrEnum

from onetake.dialects.fields import Field, field
from onetake.errors import UsageError
from onetake.jsonpath import parse


class Subject(StrEnum):
    """What differs, in the words of reports."""

    PROMPT = "prompt"
    MODEL = "model"
    PARAMETER = "parameter"
    TOOLS = "tool schema"
    SCHEMA = "answer schema"
    CONTEXT = "context"
    FIELD = "another field"
    HEADER = "header"
    URL = "URL"
    BODY = "body"
    RULES = "key rules"
    """The request is the same under today's key rules, and was keyed by others."""
    BYTES = "only bytes"
    """The request is the same one, spelled otherwise: order of members, white space, escapes."""


COUNTED = frozenset(Subject) - {Subject.RULES, Subject.BYTES}
"""What makes it another request."""

_SUBJECTS = {
    Field.PROMPT: Subject.PROMPT,
    Field.ARGUMENTS: Subject.PROMPT,
    Field.MODEL: Subject.MODEL,
    Field.TOOLS: Subject.TOOLS,
    Field.SCHEMA: Subject.SCHEMA,
    Field.CONTEXT: Subject.CONTEXT,
    Field.PARAMETER: Subject.PARAMETER,
    Field.OTHER: Subject.FIELD,
}
_CHOICE = re.compile(r"\$\.\w*(choice|calls|function_call)\b")
"""How tools may be called, which is no tool's schema."""


def subject_of(path: str, dialect: str | None) -> Subject:
    """Say what a place of a request is.

    Args:
        path: As `Difference` has it.
        dialect: The name of the dialect that the request speaks, if any.
    """
    if not path.startswith("body"):
        return Subject.HEADER if path.startswith("headers.") else Subject.URL
    inside = path.removeprefix("body")
    if not inside.startswith("$"):
        return Subject.BODY
    # What follows a second `$` is JSON inside a string: the member that holds it counts.
    whole = "$" + inside[1:].partition("$")[0]
    try:
        steps = [step for step in parse(whole) if step is not None]
    except UsageError:  # a name with a `$` in it, cut in the middle
        steps = list(re.findall(r"\w+", whole)[:1])
    found = _SUBJECTS[field(steps, dialect)]
    return Subject.PARAMETER if found is Subject.TOOLS and _CHOICE.match(whole) else found
