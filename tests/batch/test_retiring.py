"""Replies that are to be asked again."""

from __future__ import annotations

import pytest

from onetake.batch.claims import making
from onetake.batch.resolving import Failure
from onetake.batch.retiring import retire
from onetake.batch.running import run
from onetake.contract import Contract
from onetake.errors import UsageError
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
    found = retire(batch, out, {Failure.INVALID})
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
    assert retire(batch, out, {Failure.REFUSED}).replies == 0
    batch.close()
    assert filling.rows(repairs=1) == [{"x": "a"}, "invalid", "invalid"]


def test_nothing_is_moved_under_a_run(filling, out):
    batch = filling.opened(filling.job(repairs=1))
    with making(out), pytest.raises(UsageError, match="another run"):
        retire(batch, out, {Failure.INVALID})
    batch.close()
    assert filling.rows(repairs=1) == [{"x": "a"}, "invalid", "invalid"]
