"""Entries that the model may answer otherwise by now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest

from onetake.upkeep.mends import Command
from onetake.upkeep.probed import ProbeBook


def told(folder):
    return [(one.path.name, one.message) for one in folder.findings() if one.code == "probe-first"]


def test_an_entry_is_doubted_once_it_is_older_than_probe_after(folder):
    (path,) = folder.record()
    folder.rewrite(path, recorded_at="2020-01-01T00:00:00Z")
    assert told(folder) == []
    folder.settings(top="probe_after = 100000")
    assert told(folder) == []
    folder.settings(top="probe_after = 90.5")
    ((name, message),) = told(folder)
    assert name == path.name
    assert message.startswith("it was recorded ") and message.endswith(" days ago, and probe_after allows 90.5")


def probed(folder, path, outcome, days=0):
    """Put a probe on record, of some days ago."""
    at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    ProbeBook(folder.root).note({"at": at}, [(sha256(path.read_bytes()).hexdigest(), outcome)])


def test_a_probe_that_agreed_lately_answers_the_doubt_and_one_that_found_drift_confirms_it(folder):
    (path,) = folder.record()
    folder.rewrite(path, recorded_at="2020-01-01T00:00:00Z")
    folder.settings(top="probe_after = 90")
    (doubt,) = (one for one in folder.findings() if one.code == "probe-first")
    assert doubt.mend.startswith("onetake probe ") and doubt.mend.endswith(" --oldest")
    probed(folder, path, "agreed", days=89)
    assert told(folder) == []
    probed(folder, path, "agreed", days=91)
    assert len(told(folder)) == 1
    probed(folder, path, "drifted", days=1)
    (doubt,) = (one for one in folder.findings() if one.code == "probe-first")
    assert "; the probe of 20" in doubt.message and doubt.message.endswith(" found drift")
    assert doubt.mend.startswith("pytest --record-mode=all ")
    probed(folder, path, "failed")
    assert told(folder)[0][1].endswith(" found drift"), "what could not be checked says nothing new"


def test_br_178_a_probe_moves_no_age_and_holds_for_the_file_that_it_saw_alone(folder):
    (path,) = folder.record()
    folder.rewrite(path, recorded_at="2020-01-01T00:00:00Z")
    folder.settings(top="probe_after = 90")
    before = path.read_bytes()
    probed(folder, path, "agreed")
    assert told(folder) == []
    assert path.read_bytes() == before
    folder.rewrite(path, recorded_at="2020-01-02T00:00:00Z")
    assert len(told(folder)) == 1


@pytest.mark.parametrize("at", [None, "", "soon", 7, "9999-12-31T23:59:59+14:00", "2020-01-01"])
def test_a_date_that_is_none_is_of_no_age(folder, at):
    (path,) = folder.record()
    folder.settings(top="probe_after = 1e300")
    folder.rewrite(path, recorded_at=at)
    assert told(folder) == []


def test_another_model_that_is_served_since_is_named_at_the_older_entries(folder, answer):
    old, new, other = folder.record(("a", answer), ("b", answer), ("c", answer))
    folder.rewrite(old, model_asked="gpt-5", model_served="gpt-5-2026-01", recorded_at="2026-01-01T00:00:00Z")
    folder.rewrite(new, model_asked="gpt-5", model_served="gpt-5-2026-06", recorded_at="2026-06-01T00:00:00Z")
    folder.rewrite(other, model_asked="gpt-5-mini", model_served="mini-1", recorded_at="2026-01-01T00:00:00Z")
    assert told(folder) == [(old.name, "'gpt-5' was served by 'gpt-5-2026-01', and by 'gpt-5-2026-06' since")]


def test_a_newly_served_model_is_probed_first_and_what_drifts_is_recorded_again(folder, answer):
    """As an entry is that is older than `probe_after`."""
    old, new = folder.record(("a", answer), ("b", answer))
    folder.rewrite(old, model_asked="gpt-5", model_served="one", recorded_at="2026-01-01T00:00:00Z")
    folder.rewrite(new, model_asked="gpt-5", model_served="two", recorded_at="2026-06-01T00:00:00Z")
    (doubt,) = folder.findings()
    probe = f"onetake probe {old.parent.as_posix()} --oldest"
    assert (doubt.path, doubt.mend, type(doubt.mend)) == (old, probe, Command)
    probed(folder, new, "drifted")
    (doubt,) = folder.findings()
    assert (doubt.path, doubt.mend) == (old, probe), "the other one was probed"
    probed(folder, old, "drifted")
    (doubt,) = folder.findings()
    assert doubt.message.startswith("'gpt-5' was served by 'one', and by 'two' since; the probe of 20")
    assert doubt.mend == "pytest --record-mode=all tests/test_a.py::test_b"
    assert doubt.line == folder.line_of(old, '"provenance"')
    probed(folder, old, "agreed")
    assert folder.findings() == ()
    folder.rewrite(new, recorded_at="2999-01-01T00:00:00Z")
    (doubt,) = folder.findings()
    assert (doubt.path, doubt.mend) == (old, probe), "it was probed before the other model was met"


def test_another_host_or_project_serves_what_it_likes(folder, direct, answer):
    (old,) = folder.record(("a", answer))
    (azure,) = folder.record(
        (direct.chat("a", url="https://x.example.com/v1/chat/completions"), answer), folder="tapes/b"
    )
    folder.rewrite(old, model_served="x-1", recorded_at="2026-01-01T00:00:00Z")
    folder.rewrite(azure, model_served="x-2", recorded_at="2026-06-01T00:00:00Z")
    assert told(folder) == []
    (same,) = folder.record(("b", answer), folder="other/c")
    folder.rewrite(same, model_served="x-2", recorded_at="2026-06-01T00:00:00Z")
    assert [name for name, _ in told(folder)] == [old.name]
    (folder.root / "other" / "onetake.toml").write_bytes(b"")
    assert told(folder) == []


@pytest.mark.parametrize("wrong", [7, None, ["x"], {"a": 1}])
def test_a_provenance_of_other_types_is_passed_over(folder, answer, wrong):
    old, new = folder.record(("a", answer), ("b", answer))
    folder.rewrite(old, model_asked="m", model_served=wrong, recorded_at="2026-01-01T00:00:00Z")
    folder.rewrite(new, model_asked="m", model_served="m-1", recorded_at="2026-06-01T00:00:00Z")
    assert told(folder) == []
