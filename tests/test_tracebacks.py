"""What belongs to an error, and where the program's part of a traceback ends."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onetake.errors import InteractionNotFound
from onetake.ledger import Ledger
from onetake.tracebacks import cut_uncaught, end_at_callers_line, end_before_ours, family


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


@pytest.fixture
def hooks(monkeypatch):
    """Python's own hooks for what nobody catches, put back at the end."""
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    return monkeypatch


def test_what_ends_a_program_or_a_thread_is_shown_to_the_programs_own_line(hooks, capsys):
    cut_uncaught()
    error = _raised(lambda: [*map(Ledger().expecting().gen.throw, [InteractionNotFound("no interaction", "x")])])
    sys.excepthook(type(error), error, error.__traceback__)
    shown = capsys.readouterr().err
    assert "in <lambda>" in shown and "ledger.py" not in shown
    assert shown.endswith("InteractionNotFound: no interaction: x\n")

    def fail():
        Ledger().expecting().gen.throw(InteractionNotFound("no interaction", "y"))

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()
    shown = capsys.readouterr().err
    assert "in fail" in shown and "ledger.py" not in shown and "no interaction: y" in shown


def test_another_error_is_shown_whole_and_a_programs_own_hook_stays(hooks, capsys):
    cut_uncaught()
    error = _raised(lambda: Ledger().expecting().gen.throw(ValueError("own")))
    sys.excepthook(type(error), error, error.__traceback__)
    assert "ledger.py" in capsys.readouterr().err
    hooks.setattr(sys, "excepthook", print)
    cut_uncaught()
    assert sys.excepthook is print


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
