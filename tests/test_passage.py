"""How a body ends that is closed: left by its caller, or torn away with it."""

from __future__ import annotations

import asyncio

import pytest

from onetake.errors import InteractionNotFound
from onetake.passage import is_interrupted


def _seen_at_exit(error):
    """Return what is said while a block ends with an error, seen from the block's own `__exit__`."""
    seen = []

    class Closing:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            seen.append(is_interrupted())

    with pytest.raises(type(error)), Closing():
        raise error
    return seen[0]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()], ids=repr)
def test_torn_away(error):
    assert _seen_at_exit(error)


@pytest.mark.parametrize("error", [ValueError("parse"), InteractionNotFound("no", "x"), GeneratorExit()], ids=repr)
def test_left(error):
    assert not _seen_at_exit(error)


def test_nothing_on_its_way():
    assert not is_interrupted()


def test_a_generator_between_is_asked_why_it_is_closed():
    seen = []

    def between():
        try:
            yield
        finally:
            seen.append(is_interrupted())

    for error in (asyncio.CancelledError(), ValueError()):
        values = between()
        next(values)
        try:
            raise error
        except BaseException:  # noqa: BLE001 - it must be on its way while the generator is closed
            values.close()
    assert seen == [True, False]
