"""A closed schema, compiled: values in, violations out. Never raises on odd values and never opens a socket."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NoReturn

from onetake import jsonpath
from onetake.contract.tree import SchemaTree
from onetake.contract.violations import EXCERPT, excerpt, explain, violations
from onetake.errors import UsageError
from onetake.model import Violation

_STEPS_A_PATTERN_MAY_TAKE = 1_000_000
"""Backtracking steps; a pattern such as `(a|a?)+\\1b` is given up after about a tenth of a second."""

_DEPTH = 255
"""Levels of nesting that the validator reads."""


class Checker:
    """A closed schema, compiled as 2020-12 with formats asserted.

    Args:
        tree: The closed schema.

    Raises:
        UsageError: The validator does not take it, a pattern that cannot be compiled among the reasons.
    """

    def __init__(self, tree: SchemaTree) -> None:
        import jsonschema_rs

        self._tree = tree
        try:
            self._validator = jsonschema_rs.Draft202012Validator(
                tree.root,
                validate_formats=True,
                retriever=_refuse,
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_STEPS_A_PATTERN_MAY_TAKE),
            )
        except jsonschema_rs.ValidationError as error:
            where = jsonpath.show(tuple(error.instance_path))
            raise UsageError(f"the schema is wrong at {where}: {error.message}") from None
        except ValueError as error:
            raise UsageError(f"the schema is wrong: {error}") from None

    def check(self, value: Any) -> tuple[Violation, ...]:
        """Return what is wrong with a JSON value, sorted by path; empty where it is right."""
        odd = violations(_odd(value))
        if odd:
            return odd
        try:
            errors = list(self._validator.iter_errors(value))
        except (ValueError, RecursionError) as error:
            return (Violation("$", "a value that can be checked", excerpt(f"{error}: {excerpt(value, 40)}")),)
        return explain(errors, self._tree, value) if errors else ()


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"{uri} is not in the schema, and nothing is fetched")


def _odd(value: Any) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield what no validator can judge, as (steps, expected, found): it would be passed over or taken for null."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        steps, held = waiting.pop()
        if len(steps) > _DEPTH:
            yield (), f"at most {_DEPTH} levels of nesting", excerpt(value)
            return
        if isinstance(held, str):
            if not _is_text(held):
                yield steps, "text without lone surrogates", excerpt(held)
        elif isinstance(held, float):
            if not math.isfinite(held):
                yield steps, "a JSON number", str(held)
        elif isinstance(held, dict):
            for key, item in held.items():
                if not isinstance(key, str) or not _is_text(key):
                    yield steps, "keys that are text without lone surrogates", excerpt(key, EXCERPT)
                else:
                    waiting.append(((*steps, key), item))
        elif isinstance(held, list | tuple):
            waiting += [((*steps, index), item) for index, item in enumerate(held)]
        elif held is not None and not isinstance(held, bool | int):
            yield steps, "a JSON value", excerpt(held)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
