"""Where progress is shown."""

from __future__ import annotations

import io
import json

import pytest

from onetake.batch.progress import Tally, facts
from onetake.batch.showing import KINDS, LIVE_S, PLAIN_S, shown
from onetake.errors import UsageError


class Terminal(io.StringIO):
    def isatty(self):
        return True


def said():
    tally = Tally(0.0, 10, room=4)
    tally.settled(None, 1.0, asked=1, keys=1)
    return facts(tally, 2.0)


@pytest.mark.parametrize("kind", KINDS)
def test_only_a_terminal_gets_a_block_and_only_by_itself(kind):
    for to, is_live in ((io.StringIO(), False), (Terminal(), kind == "auto")):
        shows = shown(kind, to)
        if kind == "none":
            assert shows is None
            continue
        assert shows.every == (LIVE_S if is_live else PLAIN_S)
        shows.show(said())
        shows.show(said())
        shows.close()
        assert to.getvalue().count("1/10" if kind != "json" else '"done": 1') == (
            3 if is_live else 2
        )  # the last block is left
        assert ("\x1b[" in to.getvalue()) is is_live


def test_a_line_is_one_line_and_json_is_json():
    plain, as_json = io.StringIO(), io.StringIO()
    shown("plain", plain).show(said())
    assert plain.getvalue().count("\n") == 1
    shown("json", as_json).show(said())
    assert json.loads(as_json.getvalue()) == said()


def test_an_unknown_kind_is_told():
    with pytest.raises(UsageError, match="auto, plain, json, none"):
        shown("fancy", io.StringIO())


def test_where_standard_error_is_closed_nothing_is_shown():
    assert [shown(kind, None) for kind in KINDS] == [None] * len(KINDS)
