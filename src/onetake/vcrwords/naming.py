"""The names of cassettes' files: those that pytest-recording gives to tests, and their endings."""

from __future__ import annotations

import re

ENDINGS = tuple(end + packed for end in (".yaml", ".yml", ".json") for packed in ("", ".gz"))
"""How the names of cassettes end; of two of one name the first is the test's own."""

_FORBIDDEN = re.compile(r"""[<>?%*:|"'/\\]""")


def file_name(test: str) -> str:
    """Return the name of a test's cassette, without its ending.

    Args:
        test: As pytest has it, behind its class: `TestA.test_b[c/d]`.

    Source: pytest-recording 0.14, its fixture `default_cassette_name`.
    """
    return _FORBIDDEN.sub("-", test)


def without_ending(name: str) -> str:
    """Return a cassette's name without what tells a file's format: `test_a[x.y]` of `test_a[x.y].yaml.gz`."""
    low = name.lower()
    return next((name[: -len(end)] for end in (*ENDINGS, ".gz") if low.endswith(end) and len(name) > len(end)), name)
