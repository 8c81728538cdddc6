"""Media types, with the parameters that say what the bytes are."""

from __future__ import annotations

import re

_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;"]*)')


def media_type(content_type: str) -> str:
    """Return a content-type as the key has it: type and parameter names in lower case, parameters sorted.

    The same bytes are another question under another rate or charset. The boundary of a multipart body is random, and
    `charset=utf-8` says what is understood without it: both are left out.

    Args:
        content_type: The header's value, empty where there is none.
    """
    media = content_type.partition(";")[0]
    found = [(name.lower(), value.strip().strip('"')) for name, value in _PARAMETER.findall(content_type[len(media) :])]
    told = [pair for pair in found if pair[0] != "boundary" and (pair[0], pair[1].lower()) != ("charset", "utf-8")]
    return "".join([media.strip().lower(), *(f";{name}={value}" for name, value in sorted(told))])
