"""Caught by its name, or swallowed."""
# ruff: noqa: SIM105, BLE001, B030, RUF061, F841 - the spelling of the handlers is what is tested here

from __future__ import annotations

import asyncio
import contextlib
import unittest
from concurrent.futures import ThreadPoolExecutor

import pytest

import onetake
from onetake.errors import ContractError, InteractionNotFound
from onetake.handled import was_handled

ERRORS = (ValueError, ContractError)


def bad(error):
    raise error


def by_name(error):
    try:
        bad(error)
    except ContractError:
        return


def by_dotted_name(error):
    try:
        bad(error)
    except (KeyError, onetake.Refusal) as caught:
        assert caught is error


def by_tuple(error):
    try:
        bad(error)
    except ERRORS:
        pass


def by_raises(error):
    with pytest.raises(ContractError) as caught:
        bad(error)
    assert caught.value is error


def by_raises_keyword(error):
    with pytest.raises(expected_exception=ContractError):
        bad(error)


def by_raises_made_before(error):
    expecting = pytest.raises(ContractError)
    with expecting:
        bad(error)


def by_raises_call(error):
    pytest.raises(ContractError, bad, error)


def by_assert_raises(error):
    case = unittest.TestCase()
    with case.assertRaises(ContractError):
        bad(error)


def by_assert_raises_call(error):
    unittest.TestCase().assertRaises(ContractError, bad, error)


def by_suppress(error):
    with contextlib.suppress(ContractError):
        bad(error)


def by_own_manager(error):
    @contextlib.contextmanager
    def expecting():
        with pytest.raises(ContractError):
            yield

    with expecting():
        bad(error)


def by_future(error):
    with ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(bad, error).result()
        except ContractError:
            pass


def by_await(error):
    async def task():
        bad(error)

    async def main():
        try:
            await asyncio.create_task(task())
        except ContractError:
            pass

    asyncio.run(main())


def after_cleaning_up(error):
    try:
        try:
            bad(error)
        except BaseException:
            cleaned = True
            raise
    except ContractError:
        pass


def after_cleaning_up_by_name(error):
    try:
        try:
            bad(error)
        except BaseException as caught:
            raise caught
    except ContractError:
        pass


@pytest.mark.parametrize("catch", [value for name, value in sorted(globals().items()) if name[:3] in ("by_", "aft")])
def test_handled(catch):
    error = ContractError("violation", "POST /a")
    catch(error)
    assert was_handled(error)


def broad(error):
    try:
        bad(error)
    except BaseException:
        pass


def bare(error):
    try:
        bad(error)
    except:  # noqa: E722
        pass


def broad_inside_a_name(error):
    try:
        try:
            bad(error)
        except BaseException:
            pass
    except ContractError:
        pass


def broad_that_names_it_by_the_way(error):
    try:
        bad(error)
    except ContractError if error is None else BaseException:
        pass


def broad_in_another_function(error):
    try:
        broad(error)
    except ContractError:
        pass


def broad_raises(error):
    with pytest.raises(BaseException):  # noqa: B017
        bad(error)


def gathered(error):
    async def task():
        bad(error)

    async def main():
        await asyncio.gather(task(), return_exceptions=True)

    asyncio.run(main())


def never_asked_for(error):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(bad, error)


def another_name(error):
    try:
        try:
            bad(error)
        except InteractionNotFound:
            pass
    except BaseException:
        pass


SWALLOWING = [
    broad,
    bare,
    broad_inside_a_name,
    broad_that_names_it_by_the_way,
    broad_in_another_function,
    broad_raises,
    gathered,
    never_asked_for,
    another_name,
]


@pytest.mark.parametrize("swallow", SWALLOWING)
def test_swallowed(swallow):
    error = ContractError("violation", "POST /a")
    swallow(error)
    assert not was_handled(error)


def test_where_the_source_cannot_be_read_nothing_is_held_against_the_program():
    error = ContractError("violation", "POST /a")
    exec("try:\n    bad(error)\nexcept BaseException:\n    pass", {"bad": bad, "error": error})
    assert was_handled(error)


def test_looking_names_up_calls_nothing_of_the_program():
    class Watched:
        @property
        def errors(self):
            looked.append(1)
            return ContractError

    looked = []
    watched = Watched()
    error = ContractError("violation", "POST /a")
    try:
        bad(error)
    except watched.errors:
        pass
    looked.clear()
    assert not was_handled(error)
    assert looked == []
