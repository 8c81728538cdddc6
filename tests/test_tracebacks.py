"""What belongs to an error, and where the program's part of a traceback ends."""

from __future__ import annotations

import os
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from onetake.errors import InteractionNotFound
from onetake.ledger import Ledger
from onetake.tracebacks import end_at_callers_line, end_before_ours, family


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


def test_frames_of_ours_at_the_end_are_cut_off_and_those_between_stay():
    error = _raised(lambda: [*map(Ledger().expecting().gen.throw, [InteractionNotFound("no interaction", "x")])])
    outer = ValueError("of the program")
    outer.__cause__ = error
    end_before_ours(outer)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[-1] == "<lambda>"
    assert outer.__traceback__ is None


def test_a_traceback_of_nothing_but_ours_stays():
    error = _raised(lambda: [*map(Ledger().expecting().gen.throw, [InteractionNotFound("no interaction", "x")])])
    while not error.__traceback__.tb_frame.f_code.co_filename.endswith("ledger.py"):
        error.__traceback__ = error.__traceback__.tb_next
    end_before_ours(error)
    assert error.__traceback__ is not None


def test_a_sealed_programs_traceback_ends_in_its_client_or_in_its_own_line(tmp_path):
    import httpx

    import onetake

    def ask():
        with onetake.use_cassette(tmp_path / "c", mode="none"):
            httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "m", "messages": []})

    error = _raised(ask)
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    assert any(f"{os.sep}httpx{os.sep}" in file for file in files)
    assert not any(file.startswith(str(Path(onetake.__file__).parent)) for file in files)
