"""The reasons of one cassette's entries, whatever these say of themselves."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from onetake.key import Keyer
from onetake.pins import Pins
from onetake.upkeep.checking import examine
from onetake.upkeep.orphans import Usage
from onetake.upkeep.prune.prunable import CassetteReasons, Known, Prunable, Reason
from onetake.upkeep.runs import Runs
from onetake.upkeep.sparing import Sparing

FOLDER = "cassettes/test_a/test_b"


@pytest.fixture
def reasons(folder):
    """Return a function that gives the reasons of every entry of the cassette, by file name."""

    def of(*wanted, before=None):
        sparing = Sparing(folder.root, Pins(folder.root, ()), tuple)
        known = Known(folder.root, Usage(folder.root, Runs(folder.root), Keyer(), sparing.why), sparing, before)
        found = CassetteReasons(folder.root / FOLDER, known, wanted or tuple(Reason))
        for one in examine(folder.root):
            found.add(one)
        return {one.path.name: list(one.why) for one in found.result() if isinstance(one, Prunable)}

    return of


def test_only_wanted_reasons_are_named_and_an_entry_without_one_is_not(folder, answer, reasons):
    used, unused = folder.record(("one", answer), ("two", answer))
    folder.rewrite(unused, recorded_at="2026-01-01T00:00:00Z")
    folder.ran([unused], [used])
    moment = datetime(2026, 2, 1, tzinfo=UTC)
    assert reasons(before=moment) == {unused.name: [Reason.ORPHAN, Reason.SUPERSEDED, Reason.OLD]}
    assert reasons(Reason.OLD, before=moment) == {unused.name: [Reason.OLD]}
    assert reasons(Reason.STALE, Reason.REJECT, before=moment) == {}


@pytest.mark.parametrize("at", ["2026-01-01", "2026-01-01T12:00:00", "2026-01-01T12:00:00+09:00"])
def test_a_time_is_the_same_to_every_reason(folder, answer, reasons, at):
    used, unused = folder.record(("one", answer), ("two", answer))
    folder.rewrite(unused, recorded_at=at)
    folder.ran([unused], [used])
    found = reasons(Reason.ORPHAN, Reason.OLD, before=datetime(2026, 1, 2, tzinfo=UTC))
    assert found == {unused.name: [Reason.ORPHAN, Reason.OLD]}


HOSTILE = [
    {"recorded_at": 5, "test": ["x"], "adopted": {"from": 7, "at": {}}},
    {"recorded_at": "9999-99-99", "test": {"a": 1}, "adopted": "yes"},
    {"recorded_at": "2026-01", "test": "\x1b[2J", "adopted": {"from": None, "at": "2026-01-01T00:00:00"}},
    {"recorded_at": "2026-01-01T00:00:00+99:00", "pinned": None, "vouched": []},
]


@pytest.mark.parametrize("said", HOSTILE)
def test_what_a_hand_wrote_into_an_entry_is_no_reason_and_no_crash(folder, answer, reasons, said):
    paths = folder.record(("one", answer), ("two", answer))
    for path in paths:
        folder.rewrite(path, **said)
    folder.ran(paths[:1], paths[1:])
    found = reasons(Reason.ORPHAN, Reason.SUPERSEDED, Reason.OLD, before=datetime(2000, 1, 1, tzinfo=UTC))
    assert found == {}
