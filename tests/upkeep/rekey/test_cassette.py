"""What becomes of the entries of one cassette, before anything is done."""

from __future__ import annotations

import json
import signal
import sys

import pytest

from onetake.errors import UsageError
from onetake.settings import key_rules
from onetake.upkeep.entry_checks import Keyers
from onetake.upkeep.projects import Projects
from onetake.upkeep.prune.sidecars import holding_at
from onetake.upkeep.rekey import cassette
from onetake.upkeep.rekey.cassette import CassetteRekeying
from onetake.upkeep.rekey.found import Choices, Rekeying
from onetake.upkeep.rekey.grouping import Group
from onetake.upkeep.rekey.rekeying import rekey
from onetake.upkeep.ruling import Ruling

TRACE = '[key]\nignore = ["$.trace"]\n'
CHOICES = Choices(dropped=key_rules({"replace": [{"pattern": "^(alpha|beta|gamma)$", "with": "word"}]}))
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a timer that sends signals")


@pytest.fixture
def planned(folder):
    """Return a function that plans the one cassette; also what stays as it is."""

    def plan(choices=Choices()):  # noqa: B008 (frozen)
        project = Projects(folder.root, importing=False).of(folder.root)
        found = Rekeying()
        ruling = Ruling(project, choices.added, choices.dropped)
        place = holding_at(folder.root / "cassettes/test_a/test_b")
        return CassetteRekeying(place, project, ruling, Keyers(), choices, found), found

    return plan


def traced(folder, trace, prompt="Hello"):
    return folder.direct.chat(prompt, trace=trace)


def test_entries_that_come_to_one_key_are_one_group_in_the_order_of_their_ordinals(folder, planned):
    paths = folder.record(*[(traced(folder, 1), f"answer {n}") for n in range(3)], contract=None)
    folder.settings(top=TRACE)
    plan, found = planned()
    ((), (group,)) = plan.rounds
    by_ordinal = {folder.load(path).ordinal: path for path in paths}
    assert {ordinal: one.path for one, ordinal in group.members} == by_ordinal
    assert (found.moves, found.left, found.collisions) == ([], [], [])
    assert all(path.is_file() for path in paths)


def test_what_a_group_tells_names_the_new_files(folder, planned):
    (path,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    folder.settings(top=TRACE)
    plan, _ = planned()
    ((), (group,)) = plan.rounds
    (move,) = group.told()
    assert isinstance(group, Group)
    assert (move.path, move.new_key, move.key) == (path, group.key, folder.load(path).key)
    assert move.new_path == path.with_name(f"chat-gpt-5-{group.key[:16]}.json")


def test_each_round_makes_room_for_the_next(folder, planned, monkeypatch):
    """The new key of one entry begins as the stored one of another, which has to go first."""
    folder.record(*[(traced(folder, n, f"number {n}"), str(n)) for n in range(2)], contract=None)
    folder.settings(top=TRACE)
    plan, _ = planned()
    ((), groups) = plan.rounds
    waiting, going = groups
    before = waiting.members[0][0]
    blocked = Group(going.members[0][0].key, waiting.members)
    rounds = plan._in_rounds([blocked, going])
    assert rounds == [[going], [blocked]]
    assert before in {one for one, _ in blocked.members}


def test_entries_that_would_change_places_stay_and_are_told(folder, planned):
    folder.record(*[(traced(folder, n, f"number {n}"), str(n)) for n in range(2)], contract=None)
    folder.settings(top=TRACE)
    plan, found = planned()
    ((), (a, b)) = plan.rounds
    (first, _), (second, _) = a.members[0], b.members[0]
    assert plan._in_rounds([Group(second.key, a.members), Group(first.key, b.members)]) == []
    assert [one.met.paths for one in found.collisions] == [(first.path,), (second.path,)]
    assert all("change places" in one.why for one in found.collisions)


def test_an_entry_is_read_again_only_as_long_as_its_file_is_the_same(folder, planned):
    (path,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    folder.settings(top=TRACE)
    plan, _ = planned()
    mover = plan.rounds[1][0].members[0][0]
    data, entry = plan.read(path, mover.digest)
    assert (data, entry.key) == (path.read_bytes(), mover.new_key)
    folder.rewrite(path, vouched={"reason": "read"})
    assert plan.read(path, mover.digest) is None


def test_sidecars_that_a_stopped_run_left_are_found_by_what_they_hold(folder, planned, streamed):
    request, response = streamed
    body = response.body.replace(b"bug", b"badge-123456")
    (path,) = folder.record((request, type(response)(200, response.headers, body)), contract=None)
    (side,) = (path.parent / "_raw").iterdir()
    folder.settings(top='[scrub]\npatterns = ["badge-[0-9]{6}"]\n')
    assert planned()[0].left_over() == set()
    path.unlink()
    folder.record(("other", "text"), contract=None)
    assert planned()[0].left_over() == {side.name.split(".")[0]}


def test_a_setting_that_is_wrong_is_no_entrys_fault(folder):
    folder.record((traced(folder, 1), "Good day."), contract=None)
    folder.settings(top='[scrub]\npatterns = ["("]\n')
    with pytest.raises(UsageError, match="scrub"):
        rekey(folder.root)


def test_rules_of_an_entry_that_are_damaged_are_its_own_fault(folder):
    (path,) = folder.record((traced(folder, 1), "Good day."), contract=None)
    tree = json.loads(path.read_text())
    tree["key_spec"]["rules"] = {"ignore": ["trace"]}
    path.write_text(json.dumps(tree))
    (left,) = rekey(folder.root, writes=True).left
    assert (left.path, "damaged" in left.why) == (path, True)


@pytest.fixture
def exploding(folder):
    """An entry whose own key rule takes for ever, and one that is moved."""
    paths = folder.record((f"{'a' * 60}!", "bad"), (traced(folder, 1), "good"), contract=None)
    bad = next(path for path in paths if "a" * 60 in path.read_text())
    tree = json.loads(bad.read_text())
    tree["key_spec"]["rules"] = {"replace": [{"pattern": "(a+)+$", "with": "x"}]}
    bad.write_text(json.dumps(tree))
    return bad, next(path for path in paths if path != bad)


@posix
def test_a_rule_of_an_entry_that_explodes_holds_nobody_up(folder, exploding, monkeypatch):
    bad, good = exploding
    monkeypatch.setattr(cassette, "SECONDS", 0.5)
    before = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        folder.settings(top=TRACE)
        found = rekey(folder.root, writes=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
    assert [(one.path, "TookTooLong" in one.why) for one in found.left] == [(bad, True)]
    assert [move.path for move in found.moves] == [good]
    assert bad.is_file()


def test_what_a_stopped_run_made_is_recognised_by_reading_each_file_a_few_times(folder, planned):
    number = 10
    paths = folder.record(*[(traced(folder, n), "Good day.") for n in range(number)], contract=None)
    old = {path: path.read_bytes() for path in paths}
    folder.settings(top=TRACE)
    rekey(folder.root, writes=True)
    for path, data in old.items():
        path.write_bytes(data)
    opened = []

    def note(event, arguments):
        if event == "open" and str(arguments[0]).endswith(".json") and opened is not None:
            opened.append(arguments[0])

    sys.addaudithook(note)
    plan, found = planned()
    reads, opened = len(opened), None
    ((), (group,)) = plan.rounds
    assert sorted(ordinal for _, ordinal in group.members) == list(range(number))
    assert found.collisions == []
    assert reads <= 3 * 2 * number


def test_answers_of_one_key_that_part_begin_at_0_each_behind_gaps_that_stay(folder, planned):
    """Then one of them cannot be read: whose it was nobody knows, and each that stands behind it leaves a place."""
    folder.settings(top='[key]\nreplace = [{ pattern = "^(alpha|beta)$", with = "word" }]\n')
    words = ("alpha", "beta", "alpha", "beta", "beta")
    folder.record(*[(folder.direct.chat(word), f"{n}") for n, word in enumerate(words)], contract=None)
    folder.settings()
    plan, _ = planned(CHOICES_OF_WORDS)
    assert told(plan, folder) == {("alpha", 0): 0, ("alpha", 2): 1, ("beta", 1): 0, ("beta", 3): 1, ("beta", 4): 2}
    next(path for path in plan.holding.paths if folder.load(path).ordinal == 1).write_text("{}")
    plan, _ = planned(CHOICES_OF_WORDS)
    assert told(plan, folder) == {("alpha", 0): 0, ("alpha", 2): 2, ("beta", 3): 1, ("beta", 4): 2}


CHOICES_OF_WORDS = Choices(dropped=key_rules({"replace": [{"pattern": "^(alpha|beta)$", "with": "word"}]}))


def told(plan, folder):
    """The ordinal that each entry gets, by what was asked and the ordinal that it has."""
    found = {}
    for one, ordinal in (member for groups in plan.rounds for group in groups for member in group.members):
        asked = json.loads(folder.load(one.path).request.body)["messages"][0]["content"]
        found[asked, one.ordinal] = ordinal
    return found
