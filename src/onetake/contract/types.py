"""What a contract may be given as: a mapping, a file, or a type that pydantic can describe.

pydantic is imported only here, and only when a type is given.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from onetake import strictjson
from onetake.contract.violations import excerpt, violations
from onetake.errors import UsageError
from onetake.model import Violation

if TYPE_CHECKING:
    from pydantic import ValidationError


def type_name(described: Any) -> str:
    """Return the qualified name of a type: `Ticket`, `list[Ticket]`, `Ticket | None`, `Literal['a', 'b']`."""
    origin, inner = get_origin(described), get_args(described)
    if origin is Annotated:
        return type_name(inner[0])
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, inner))}]"
    if origin in (Union, types.UnionType):
        return " | ".join(map(type_name, inner))
    if inner and origin is not None:
        return f"{type_name(origin)}[{', '.join(map(type_name, inner))}]"
    if described in (type(None), ...):
        return "None" if described is type(None) else "..."
    named = getattr(described, "__qualname__", None) or getattr(described, "__name__", None)
    return str(named or described)


class TypeJudge:
    """A type's own validation, by pydantic.

    Args:
        described: A model, dataclass, TypedDict, Literal, `list[Model]`, `Annotated[…]`: what pydantic takes.

    Raises:
        UsageError: pydantic is not installed, or cannot describe the type.
    """

    def __init__(self, described: Any) -> None:
        try:
            import pydantic
            from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
            from pydantic.json_schema import GenerateJsonSchema
        except ImportError:
            raise UsageError("a type as contract needs pydantic 2: install onetake[pydantic]") from None

        class Quiet(GenerateJsonSchema):
            """Says nothing of defaults that are no JSON: a default is no part of a contract."""

            ignored_warning_kinds = GenerateJsonSchema.ignored_warning_kinds | {"non-serializable-default"}

        self.name = type_name(described)
        try:
            self._adapter = pydantic.TypeAdapter(described)
            self.schema = self._adapter.json_schema(schema_generator=Quiet)
        except (PydanticUserError, PydanticUndefinedAnnotation, TypeError) as error:
            raise UsageError(f"{excerpt(self.name)} is no type that pydantic can describe: {error}") from None

    def check(self, value: Any) -> tuple[Violation, ...]:
        """Return what the type itself refuses in a JSON value that fits its schema.

        In pydantic's JSON mode and the type's own strictness, as the program reads it.
        """
        from pydantic import ValidationError

        try:
            self._adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            return violations(self._refused(error, value))
        except Exception as error:  # noqa: BLE001  a validator that breaks on an answer has not accepted it
            return (Violation("$", self._accepted(f"{type(error).__name__}: {error}"), excerpt(value)),)
        return ()

    def _accepted(self, why: str) -> str:
        return f"what {self.name} accepts ({excerpt(why)[1:-1]})"

    def _refused(self, error: ValidationError, value: Any) -> Iterator[tuple[Sequence[str | int], str, str]]:
        for line in error.errors(include_url=False, include_context=False):
            steps = _steps(line["loc"], value, missing=line["type"] == "missing")
            found = "missing" if line["type"] == "missing" else excerpt(line["input"])
            why = line["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
            yield steps, self._accepted(why), found


def _steps(loc: tuple[int | str, ...], value: Any, *, missing: bool) -> list[str | int]:
    """Follow pydantic's location into the value; labels of unions and validators in it are no steps."""
    steps: list[str | int] = []
    for index, step in enumerate(loc):
        if isinstance(value, dict) and step in value:
            steps.append(step)
            value = value[str(step)]
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            steps.append(step)
            value = value[step]
        elif missing and index == len(loc) - 1:
            steps.append(step)
    return steps


@dataclass(frozen=True, slots=True)
class Given:
    """A schema as it was given: its own name if it has one, the type's judge, and whether all formats must be known."""

    schema: Mapping[str, Any]
    name: str | None = None
    judge: TypeJudge | None = None
    formats: bool = True


def read(schema: Any) -> Given:
    """Read what a contract was given.

    Raises:
        UsageError: It is no mapping, file or type, or the file or type cannot be read.
    """
    if isinstance(schema, Given):
        return schema
    if isinstance(schema, Mapping):
        return Given(schema)
    if isinstance(schema, str | Path):
        return _read_file(Path(schema))
    if schema is None or isinstance(schema, bool | int | float | bytes | list | tuple | set):
        raise UsageError(f"{excerpt(schema)} is no contract: give a JSON Schema, a file that holds one, or a type")
    judge = TypeJudge(schema)
    return Given(judge.schema, judge.name, judge, formats=False)


def _read_file(path: Path) -> Given:
    try:
        schema = strictjson.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"schema file {path.as_posix()!r} cannot be read: {error.strerror}") from None
    except strictjson.NotStrictError as error:
        raise UsageError(f"schema file {path.as_posix()!r} is no JSON: {error}") from None
    if not isinstance(schema, dict):
        raise UsageError(f"schema file {path.as_posix()!r} holds {excerpt(schema)}, and no JSON Schema")
    return Given(schema, path.stem)
