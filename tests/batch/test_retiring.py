"""Replies that are to be asked again."""

from __future__ import annotations

from contextlib import closing, nullcontext

import pytest

from onetake.batch.claims import making
from onetake.batch.failures import Failure
from onetake.batch.retiring import retire
from onetake.batch.running import run
from onetake.contract import Contract
from onetake.errors import UsageError
from onetake.store_users import alone
from onetake.testing.provider import openai_chat


@pytest.fixture
def out(filling):
    """The output of a batch whose second reply was bad, and its repair too."""
    filling.contract = Contract({"type": "object", "properties": {"x": {"type": "string"}}}, name="x")
    filling.provider.script([openai_chat(json={"x": said}) for said in ("a", 1, 2)])
    filling.write({"m": "a"}, {"m": "b"}, {"m": "b"})
    batch = filling.opened(filling.job(repairs=1))
    run(batch, filling.folder / "rows.jsonl")
    batch.close()
    assert filling.rows(repairs=1) == [{"x": "a"}, "invalid", "invalid"]
    return filling.folder / "rows.jsonl"


def test_the_whole_chain_goes_to_the_trash_once_and_what_is_good_stays(filling, out):
    batch = filling.opened(filling.job(repairs=1))
    found = retire(batch, {Failure.INVALID})
    batch.close()
    assert found.replies == 2
    assert filling.rows(repairs=1) == [{"x": "a"}, "needed", "needed"]
    trash = filling.folder / ".onetake/trash/calls"
    assert len(list(trash.glob("*.json"))) == 2
    filling.provider.script([openai_chat(json={"x": "b"})])
    batch = filling.opened(filling.job(repairs=1))
    assert run(batch, out).exit_code == 0
    batch.close()
    assert filling.rows(repairs=1) == [{"x": "a"}, {"x": "b"}, {"x": "b"}]


def test_other_classes_stay(filling, out):
    batch = filling.opened(filling.job(repairs=1))
    assert retire(batch, {Failure.REFUSED}).replies == 0
    batch.close()
    assert filling.rows(repairs=1) == [{"x": "a"}, "invalid", "invalid"]


def cannot_ask(filling, what):
    """A context in which a run of the batch cannot begin."""
    if what == "credential":
        filling.ask["api_key_env"] = "NO_SUCH_KEY"
    elif what == "price":
        filling.run["max_cost"] = 1.0
    elif what == "output":
        return making(filling.folder / "rows.jsonl")
    elif what == "store":
        return alone(filling.folder / "calls.db")
    return nullcontext()


@pytest.mark.parametrize("what", ["credential", "price", "output", "store"])
def test_nothing_is_moved_where_nothing_can_be_asked(filling, out, what):
    moved = []
    hindered = cannot_ask(filling, what)
    with hindered, closing(filling.opened(filling.job(repairs=1))) as batch, pytest.raises(UsageError):
        run(batch, out, retire=lambda: moved.append(retire(batch, {Failure.INVALID})))
    assert moved == []
    filling.ask.pop("api_key_env", None)
    assert filling.rows(repairs=1) == [{"x": "a"}, "invalid", "invalid"]


def test_a_run_asks_again_for_what_it_retires(filling, out):
    filling.provider.script([openai_chat(json={"x": "b"})])
    with closing(filling.opened(filling.job(repairs=1))) as batch:
        ended = run(batch, out, retire=lambda: retire(batch, {Failure.INVALID}))
    assert (ended.exit_code, ended.outcome.tally.calls) == (0, 1)
    assert filling.rows(repairs=1) == [{"x": "a"}, {"x": "b"}, {"x": "b"}]
