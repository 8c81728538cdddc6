"""How a job was edited, in words: the reason why what another job asked is no answer to this one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onetake.batch.job import Ask
from onetake.batch.remembering import Asked
from onetake.printable import excerpt, one_line

_FIELDS = ("base_url", "api", "model")
_TEXTS = ("system", "prompt")
_WIDTH = 60


def edit(before: Asked, now: Ask, schema: Mapping[str, Any] | None = None) -> str:
    """Say in one line what of a job is another than it was.

    Args:
        before: What was asked.
        now: What is asked.
        schema: The schema that is sent now; None for none.
    """
    said = [*_fields(before.ask, now), *_texts(before.ask, now), *_rest(before, now, schema)]
    return "; ".join(said) or "the job was edited"


def edit_of_text(before: Asked, now: Ask) -> str:
    """Say in one line how the words of a job were edited: its prompt, and what the system says.

    Args:
        before: What was asked.
        now: What is asked.

    Returns:
        Empty where they are the same.
    """
    return "; ".join(_texts(before.ask, now))


def edit_besides(before: Asked, now: Ask, schema: Mapping[str, Any] | None = None) -> str:
    """Say in one line what of a job is another than it was, besides its words; empty where nothing is.

    Args:
        before: What was asked.
        now: What is asked.
        schema: The schema that is sent now; None for none.
    """
    return "; ".join([*_fields(before.ask, now), *_rest(before, now, schema)])


def _fields(old: Ask, now: Ask) -> list[str]:
    return [
        f"{name} was {_short(getattr(old, name))}, is {_short(getattr(now, name))}"
        for name in _FIELDS
        if getattr(old, name) != getattr(now, name)
    ]


def _texts(old: Ask, now: Ask) -> list[str]:
    return list(filter(None, (_text(name, getattr(old, name), getattr(now, name)) for name in _TEXTS)))


def _rest(before: Asked, now: Ask, schema: Mapping[str, Any] | None) -> list[str]:
    return _params(before.ask.params, now.params) + ["another schema is sent"] * (before.schema != schema)


def _text(name: str, old: str, new: str) -> str:
    """Say how a text was changed; white space at its end cannot be seen in an excerpt."""
    if old == new:
        return ""
    if old.rstrip("\n") == new.rstrip("\n"):
        lines = abs(len(old) - len(new))
        return f"{name} differs by {'one trailing newline' if lines == 1 else f'{lines} trailing newlines'}"
    if old.split() == new.split():
        return f"{name} differs in white space alone"
    first, second = excerpt(old, new, 20)
    return f'{name} was "{first}", is "{second}"'


def _params(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    names = [name for name in {**old, **new} if old.get(name) != new.get(name) or (name in old) is not (name in new)]
    return [f"params.{name} was {_value(old, name)}, is {_value(new, name)}" for name in names]


def _value(params: Mapping[str, Any], name: str) -> str:
    return _short(params[name]) if name in params else "not there"


def _short(value: object) -> str:
    return one_line(repr(value), _WIDTH)
