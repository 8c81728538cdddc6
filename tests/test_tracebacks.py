"""What belongs to an error, and where the program's part of a traceback ends."""

from __future__ import annotations

import traceback
from concurrent.futures import ThreadPoolExecutor

from onetake.errors import InteractionNotFound
from onetake.ledger import Ledger
from onetake.tracebacks import end_at_callers_line, family


def _raised(call):
    try:
        call()
    except BaseException as error:  # noqa: BLE001
        return error
    raise AssertionError("nothing was raised")


def test_a_family_is_cause_context_and_members_once_each():
    cause, context, member = ValueError("cause"), KeyError("context"), OSError("member")
    group = BaseExceptionGroup("group", [member])
    group.__cause__, group.__context__, member.__context__ = cause, context, group
    assert list(family(group)).count(group) == 1
    assert set(family(group)) == {group, cause, context, member}


def test_the_last_line_of_the_program_stays_when_the_call_went_through_a_pool():
    refusal = InteractionNotFound("no interaction", "x")
    with ThreadPoolExecutor(1) as pool:
        error = _raised(pool.submit(_raise, refusal).result)
    end_at_callers_line(error)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[0] == "_raised"
    assert names[-1] == "_raise"


def _raise(error):
    raise error


def test_what_lies_below_the_callers_line_is_cut_off():
    refusal = InteractionNotFound("no interaction", "x")
    error = _raised(lambda: [*map(Ledger().expecting().gen.throw, [refusal])])
    assert traceback.extract_tb(error.__traceback__)[-1].filename.endswith("ledger.py")
    end_at_callers_line(error)
    assert traceback.extract_tb(error.__traceback__)[-1].name == "<lambda>"


def test_a_refusal_that_was_not_raised_is_left_alone():
    refusal = InteractionNotFound("no interaction", "x")
    end_at_callers_line(refusal)
    assert refusal.__traceback__ is None
    assert refusal.args == InteractionNotFound("no interaction", "x").args
