"""What a project declares to be secret, checked."""

from __future__ import annotations

import re

from onetake import jsonpath
from onetake.errors import UsageError

_ORDINARY = 'Say "hello, World" 1234567890 times.\n'
"""A text without a secret, in which a pattern must not find nothing, nor all of it."""


def declared_path(text: str) -> jsonpath.Path:
    """Read a path whose value is secret.

    Raises:
        UsageError: It is none, or names the whole body.
    """
    try:
        path = jsonpath.parse(text)
    except UsageError as error:
        raise UsageError(f"scrub.paths: {error}") from None
    if not path:
        raise UsageError("scrub.paths: $ names the whole body; name the secret in it, as in $.metadata.session")
    return path


def declared_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern of what is secret.

    Raises:
        UsageError: It is none, or matches nothing at all, or any text.
    """
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"scrub.patterns: {text!r} is no regular expression: {error}") from None
    if any(not found.group() for found in pattern.finditer(_ORDINARY)):
        raise UsageError(f"scrub.patterns: {text!r} also matches nothing at all; say what the secret looks like")
    if pattern.fullmatch(_ORDINARY) or all(map(pattern.fullmatch, "aZ1.")):
        raise UsageError(f"scrub.patterns: {text!r} matches any text; say what the secret looks like")
    return pattern
