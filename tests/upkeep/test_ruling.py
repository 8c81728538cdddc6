"""Which key rules hold for an entry: the settings' of today, and those that its session had besides."""

from __future__ import annotations

import os
import subprocess
import time
from datetime import UTC, datetime

import pytest

from onetake.errors import InteractionNotFound, UsageError
from onetake.format import load_entry
from onetake.key import Keyer
from onetake.model import Mode
from onetake.options import Options, joined
from onetake.session_run import SessionRun
from onetake.settings import KeyRules, key_rules, load_settings
from onetake.steps import Flow
from onetake.upkeep.rekey.found import Choices
from onetake.upkeep.rekey.rekeying import rekey
from onetake.upkeep.ruling import written

TRACE = '[key]\nignore = ["$.trace"]\n'
OWN = key_rules({"ignore": ["$.own"]})
CASSETTE, TEST = "cassettes/test_a/test_b", "tests/test_a.py::test_b"


def record(folder, own=KeyRules(), prompt="Hello", **fields):  # noqa: B008 (frozen)
    """Record a call with a trace and a field of its own, as a session with key rules of its own does."""
    keyer = Keyer(joined(load_settings(folder.root).key, own))
    request = folder.direct.chat(prompt, trace=1, own=1, **fields)
    return folder.record((request, "Good day."), contract=None, keyer=keyer)[0]


def rules_of(path):
    return load_entry(path.read_bytes(), lambda name: None).key_spec.rules


def test_rules_of_a_marker_are_kept_and_a_healthy_project_stays_as_it_is(folder):
    folder.settings(top=TRACE)
    record(folder, OWN)
    found = rekey(folder.root, writes=True)
    assert (found.moves, dict(found.kept)) == ([], {'ignore = ["$.own"]': 1})


def test_a_new_rule_of_the_settings_stands_before_those_of_a_marker(folder):
    record(folder, OWN)
    folder.settings(top=TRACE)
    (move,) = rekey(folder.root, writes=True).moves
    assert rules_of(move.new_path) == {"ignore": ["$.trace", "$.own"]}
    assert rekey(folder.root, writes=True).moves == []


def test_a_rule_that_the_user_drops_goes(folder):
    record(folder, OWN)
    (move,) = rekey(folder.root, Choices(dropped=OWN), writes=True).moves
    assert rules_of(move.new_path) == {}
    assert folder.check() == []


def test_a_rule_of_the_settings_cannot_be_dropped_beside_them(folder):
    folder.settings(top=TRACE)
    with pytest.raises(UsageError, match=r'--drop: ignore = \["\$.trace"\] is in \[key\] of the settings: take it out'):
        rekey(folder.root, Choices(dropped=key_rules({"ignore": ["$.trace", "$.own"]})))


def test_a_rule_that_a_marker_got_is_added(folder):
    record(folder)
    (move,) = rekey(folder.root, Choices(added=OWN), writes=True).moves
    assert rules_of(move.new_path) == {"ignore": ["$.own"]}
    assert rekey(folder.root, Choices(added=OWN), writes=True).moves == []
    assert rekey(folder.root, writes=True).moves == []


def test_a_wrong_rule_of_the_settings_is_said_once(folder):
    record(folder)
    folder.settings(top='[key]\nignore = ["trace"]\n')
    with pytest.raises(UsageError, match="must start with"):
        rekey(folder.root)


# What git knows


def git(folder, *words):
    done = subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(folder.root), *words],
        check=True,
        capture_output=True,
    )
    return done.stdout.decode().strip()


def commit(folder):
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def test_a_rule_that_the_settings_held_in_the_last_commit_goes_with_them(folder):
    git(folder, "init", "-q")
    folder.settings(top=TRACE)
    path = record(folder, OWN)
    commit(folder)
    folder.settings()
    found = rekey(folder.root, writes=True)
    assert dict(found.kept) == {'ignore = ["$.own"]': 1}
    assert [move.path for move in found.moves] == [path]
    assert rules_of(found.moves[0].new_path) == {"ignore": ["$.own"]}


def test_a_rule_that_the_settings_held_where_the_entry_was_recorded_goes(folder):
    git(folder, "init", "-q")
    folder.settings(top=TRACE)
    commit(folder)
    record(folder)
    folder.settings()
    commit(folder)
    found = rekey(folder.root, writes=True)
    assert (len(found.moves), dict(found.kept)) == (1, {})
    assert rules_of(found.moves[0].new_path) == {}


@pytest.mark.parametrize("sha", ["--help", "f" * 40, ["x"], "HEAD~1"])
def test_a_commit_that_is_none_says_nothing(folder, sha):
    git(folder, "init", "-q")
    commit(folder)
    folder.settings(top=TRACE)
    path = record(folder)
    entry = load_entry(path.read_bytes(), lambda name: None)
    if isinstance(sha, str):
        folder.edit(path, entry.provenance["commit"], sha)
    folder.settings()
    found = rekey(folder.root)
    assert (found.moves, dict(found.kept)) == ([], {'ignore = ["$.trace"]': 1})


# What a run missed


def miss(folder, own=KeyRules(), test=TEST, prompt="Hello"):  # noqa: B008 (frozen)
    """Ask in vain, in a session with key rules of its own."""
    run = SessionRun(Options(CASSETTE, "none", key=own), load_settings(folder.root), Mode.NONE, test, owned=True)
    with pytest.raises(InteractionNotFound):
        run.session._engine.begin(folder.direct.chat(prompt, trace=2, own=2), Flow("one"), "httpx2 1.0")


def test_what_a_run_missed_tells_the_rules_that_were_in_force(folder):
    """A marker lost its rule, and the settings got one: nobody has to say so."""
    record(folder, OWN)
    folder.settings(top=TRACE)
    other = key_rules({"ignore": ["$.other"]})
    miss(folder, other)
    (move,) = rekey(folder.root, writes=True).moves
    assert rules_of(move.new_path) == {"ignore": ["$.trace", "$.other"]}


def test_what_another_test_missed_counts_where_the_own_one_missed_nothing(folder):
    record(folder)
    miss(folder, OWN, test="tests/test_a.py::test_other")
    assert len(rekey(folder.root).moves) == 1
    miss(folder, KeyRules(), test=TEST, prompt="Bye")
    assert rekey(folder.root).moves == []


def test_two_that_missed_under_other_rules_tell_nothing(folder):
    record(folder)
    miss(folder, OWN, test="tests/test_a.py::test_c")
    miss(folder, KeyRules(), test="tests/test_a.py::test_d")
    assert rekey(folder.root).moves == []


def test_what_was_missed_before_the_settings_changed_tells_nothing(folder):
    record(folder, OWN)
    miss(folder)
    folder.settings(top=TRACE)
    later = time.time() + 100
    os.utime(folder.root / "onetake.toml", (later, later))
    (move,) = rekey(folder.root, writes=True).moves
    assert rules_of(move.new_path) == {"ignore": ["$.trace", "$.own"]}


def test_volatile_counts_the_day_of_the_recording(folder):
    today = datetime.now(UTC).date().isoformat()
    path = folder.record((f"Today is {today}.", "Good day."), contract=None)[0]
    folder.settings(top='[key]\nvolatile = ["today"]\n')
    (move,) = rekey(folder.root, writes=True).moves
    assert today in rules_of(move.new_path)["today"]
    assert not path.exists()
    assert folder.check() == []
    assert rekey(folder.root, writes=True).moves == []


def test_the_days_that_an_entry_was_keyed_with_stay(folder):
    folder.settings(top='[key]\nvolatile = ["today"]\n')
    path = record(folder, prompt=f"Today is {datetime.now(UTC).date().isoformat()}.")
    days = rules_of(path)["today"]
    folder.edit(
        path, load_entry(path.read_bytes(), lambda name: None).provenance["recorded_at"], "2020-01-01T00:00:00Z"
    )
    folder.settings(top='[key]\nvolatile = ["today"]\nignore = ["$.trace"]\n')
    (move,) = rekey(folder.root, writes=True).moves
    assert rules_of(move.new_path)["today"] == days
    assert rekey(folder.root).moves == []


def test_an_entry_that_says_no_day_is_left_where_the_day_counts(folder):
    path = record(folder)
    folder.edit(path, load_entry(path.read_bytes(), lambda name: None).provenance["recorded_at"], "")
    folder.settings(top='[key]\nvolatile = ["today"]\n')
    found = rekey(folder.root)
    assert (found.moves, [one.path for one in found.left]) == ([], [path])
    assert "on which day" in found.left[0].why


# Headers


def test_a_header_that_counts_now_is_told_as_nobody_knows_what_was_sent(folder):
    record(folder)
    folder.settings(top='[key]\nheaders = ["x-tenant"]\n')
    found = rekey(folder.root)
    assert (found.moves, dict(found.headers)) == ([], {"x-tenant": 1})


def test_a_header_that_counts_no_more_goes_as_from_a_new_entry(folder):
    folder.settings(top='[key]\nheaders = ["x-tenant"]\n')
    request = folder.direct.chat("Hello", headers=(("x-tenant", "a"),))
    (path,) = folder.record((request, "Good day."), contract=None, scrubber=_scrubber(folder))
    assert "x-tenant" in path.read_text()
    folder.settings()
    (move,) = rekey(folder.root, Choices(dropped=key_rules({"headers": ["x-tenant"]})), writes=True).moves
    assert "x-tenant" not in move.new_path.read_text()
    assert rekey(folder.root).moves == []


def _scrubber(folder):
    from onetake.scrub import Scrubber

    settings = load_settings(folder.root)
    return Scrubber(settings.scrub, key_headers=settings.key.headers)


# Rules as sets

ALL = {
    "ignore": ["$.a", "$.b"],
    "ids": ["$.c"],
    "volatile": ["today"],
    "replace": [{"pattern": 'x"y', "with": "\\1"}],
    "headers": ["x-a"],
    "origins": {"https://a": "b"},
}


def test_rules_are_written_as_toml_has_them():
    import tomllib

    said = written(key_rules(ALL))
    assert key_rules(tomllib.loads(said)) == key_rules(ALL)
    assert written(KeyRules()) == ""
