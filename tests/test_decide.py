"""Every cell of the one decision, and the page that prints it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from onetake.decide import Action, Found, decide, never_goes_live, reads_nothing, records, refuses, replaces_everything
from onetake.model import Mode

COLUMNS = ["valid", "stale", "absent", "exhausted", "unreadable", "unkept", "expired", "pending"]
ROWS = {
    (Mode.NONE, False): "replay refuse refuse refuse refuse refuse refuse refuse",
    (Mode.NONE, True): "replay refuse refuse refuse refuse refuse refuse refuse",
    (Mode.ONCE, False): "replay refuse refuse refuse refuse refuse refuse replay",
    (Mode.ONCE, True): "replay refuse record record refuse refuse refuse replay",
    (Mode.NEW_EPISODES, False): "replay replace record record refuse refuse refuse replay",
    (Mode.NEW_EPISODES, True): "replay replace record record refuse refuse refuse replay",
    (Mode.ALL, False): "replace replace record record replace replace replace replace",
    (Mode.ALL, True): "replace replace record record replace replace replace replace",
    (Mode.OFF, False): "pass pass pass pass pass pass pass pass",
    (Mode.OFF, True): "pass pass pass pass pass pass pass pass",
}
PAGE = Path(__file__).parents[1] / "docs/reference/modes.md"
_MEANT = {
    Action.REPLAY: "replay",
    Action.RECORD: "live, record",
    Action.REPLACE: "live, replace",
    Action.PASS: "live",
    Action.REFUSE: "refuse",
}


@pytest.mark.parametrize(("mode", "found", "being_made"), list(product(Mode, Found, (False, True))))
def test_every_cell(mode, found, being_made):
    wanted = ROWS[mode, being_made].split()[COLUMNS.index(found)]
    assert decide(mode, found, being_made=being_made) == wanted


@pytest.mark.parametrize(
    ("mode", "word"),
    [
        (Mode.NONE, ()),
        (Mode.ONCE, ("records",)),
        (Mode.NEW_EPISODES, ("records",)),
        (Mode.ALL, ("records", "replaces everything")),
        (Mode.OFF, ("reads nothing",)),
    ],
)
def test_what_is_asked_of_a_mode_by_name(mode, word):
    asked = {"records": records, "replaces everything": replaces_everything, "reads nothing": reads_nothing}
    assert tuple(name for name, ask in asked.items() if ask(mode)) == word


@pytest.mark.parametrize(("mode", "found"), list(product(Mode, Found)))
def test_what_a_finished_cassette_refuses(mode, found):
    assert refuses(mode, found) is (ROWS[mode, False].split()[COLUMNS.index(found)] == "refuse")


def table() -> str:
    """Print the table of the page from the function."""
    lines = ["| mode | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|"]
    for mode in Mode:
        for being_made, name in ((True, f"`{mode}`, being made"), (False, f"`{mode}`")):
            cells = [_MEANT[decide(mode, Found(column), being_made=being_made)] for column in COLUMNS]
            if being_made and ROWS[mode, True] == ROWS[mode, False]:
                continue
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def test_the_page_prints_the_table_of_the_function():
    assert table() in PAGE.read_text(encoding="utf-8")


def test_only_one_mode_never_goes_live():
    assert [mode for mode in Mode if never_goes_live(mode)] == [Mode.NONE]
