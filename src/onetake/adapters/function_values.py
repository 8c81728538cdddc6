"""What goes into and comes out of a decorated function, so that a replay returns what the call did."""

from __future__ import annotations

import functools
import inspect
import json
import math
import typing
from collections.abc import Callable
from typing import Any

from onetake.dialects.function_call import BYTES, TEXT, VALUE
from onetake.errors import UsageError
from onetake.model import Response, header


def arguments_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> bytes:
    """Return a call's arguments as a JSON object: bound by the signature, defaults applied, `self` and `cls` left out.

    Raises:
        UsageError: An argument is no JSON value and no pydantic model: what has no plain value cannot be keyed.
    """
    bound = _signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    named = {
        name: value
        for number, (name, value) in enumerate(bound.arguments.items())
        if not (number == 0 and _is_receiver(name, value))
    }
    return _dumps({name: _plain(value, f"the argument {name!r}") for name, value in named.items()})


def to_response(value: Any) -> Response:
    """Return a function's value as a response: text, bytes or a JSON value.

    Raises:
        UsageError: The value is none of these, so that its replay could not equal it.
    """
    if isinstance(value, str):
        return _response(TEXT, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return _response(BYTES, value)
    return _response(VALUE, _dumps(to_value(value)))


def to_value(value: Any) -> Any:
    """Return what a function gave as a JSON value; a pydantic model becomes its fields. Raises as `to_response`."""
    return _plain(value, "the value that the function gave")


def value_of(response: Response, function: Callable[..., Any]) -> Any:
    """Return what a stored response was: text, bytes, a JSON value, or a model of the function's return type."""
    kind = header(response.headers, "content-type")
    if kind == TEXT:
        return response.body.decode("utf-8", "surrogatepass")
    if kind == BYTES:
        return response.body
    return as_returned(json.loads(response.body), function)


def as_returned(value: Any, function: Callable[..., Any]) -> Any:
    """Return a JSON value as the pydantic model that the function's return annotation names, or as it is."""
    model = _model(function)
    return value if model is None else model.model_validate(value)


def check_returned(value: Any, function: Callable[..., Any]) -> None:
    """Refuse, before anything is stored, a model that a replay could not build again.

    Raises:
        UsageError: The value is a model and the function's return annotation does not name its type.
    """
    if hasattr(value, "model_dump") and type(value) is not _model(function):
        name = type(value).__qualname__
        raise UsageError(
            f"{function.__qualname__} returned a {name}: annotate it with -> {name}, so that a replay builds the same"
        )


def _is_receiver(name: str, value: Any) -> bool:
    """Tell `self` and `cls` from an argument that is only called so: a class label named `cls` must count."""
    return name == "self" or (name == "cls" and isinstance(value, type))


@functools.cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


@functools.cache
def _model(function: Callable[..., Any]) -> Any:
    """Return the pydantic model of the return annotation (or of what a generator yields), None if there is none."""
    try:
        told = typing.get_type_hints(function).get("return")
    except NameError:
        return None
    given = typing.get_args(told)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        told = given[0] if given else None
    return told if hasattr(told, "model_validate") else None


def _response(kind: str, body: bytes) -> Response:
    return Response(200, (("content-type", kind),), body)


def _plain(value: Any, what: str) -> Any:
    """Return a value as JSON values only. Tuples, sets, dates and the like would come back as something else."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if type(value) is list:
        return [_plain(item, what) for item in value]
    if type(value) is dict and all(isinstance(name, str) for name in value):
        return {name: _plain(item, what) for name, item in value.items()}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise UsageError(
        f"{what} is of type {type(value).__qualname__}: only JSON values and pydantic models can be recorded"
    )


def _dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
