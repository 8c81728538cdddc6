"""An entry that the settings of today key otherwise is found by no replay, and the check says so."""

from __future__ import annotations

import pytest

from onetake.key import Keyer
from onetake.settings import key_rules
from onetake.upkeep.advising import Advice
from onetake.upkeep.findings import Code
from onetake.upkeep.rekey.rekeying import rekey
from onetake.upkeep.statuses import status

TRACE = '[key]\nignore = ["$.trace"]\n'


def record(folder, **policy):
    return folder.record((folder.direct.chat("Hello", trace=1), "Good day."), contract=None, **policy)[0]


def test_a_rule_that_the_settings_got_is_found_missing_until_it_is_re_keyed(folder):
    path = record(folder)
    folder.settings(top=TRACE)
    (found,) = folder.findings()
    assert (found.code, found.path, found.line) == (Code.OUTDATED_KEY, path, folder.line_of(path, '"key_spec"'))
    assert found.mend.startswith("onetake rekey ")
    assert found.mend.endswith("/cassettes/test_a/test_b")
    rekey(folder.root, writes=True)
    assert folder.findings() == ()


def test_a_rule_that_touches_nothing_is_not_missed(folder):
    record(folder)
    folder.settings(top='[key]\nignore = ["$.other"]\n')
    assert folder.codes() == []


@pytest.mark.parametrize("top", ["", TRACE])
def test_a_rule_that_only_the_entry_holds_may_be_a_markers(folder, top):
    folder.settings(top=top)
    rules = key_rules({"ignore": ["$.trace", "$.messages"]})
    record(folder, keyer=Keyer(rules))
    assert folder.codes() == []


def test_a_markers_rules_count_behind_those_of_the_settings(folder):
    record(folder, keyer=Keyer(key_rules({"ignore": ["$.messages"]})))
    folder.settings(top=TRACE)
    assert folder.codes() == ["outdated-key"]
    folder.settings(top='[key]\nignore = ["$.messages"]\n')
    assert folder.codes() == []


def test_a_wrong_rule_of_the_settings_is_a_wrong_use(folder):
    from onetake.errors import UsageError

    record(folder)
    folder.settings(top='[key]\nignore = ["trace"]\n')
    with pytest.raises(UsageError, match="must start with"):
        folder.findings()


def test_a_secret_that_the_rules_know_is_scrubbed_by_rekey(folder):
    folder.record(("I am badge-123456", "Hello."), contract=None)
    folder.settings(top='[scrub]\npatterns = ["badge-[0-9]{6}"]\n')
    (found,) = folder.findings()
    assert found.code is Code.SECRET
    assert "onetake rekey " in found.mend
    rekey(folder.root, writes=True)
    assert folder.findings() == ()


@pytest.mark.parametrize("is_committed_first", [True, False])
def test_a_rule_that_left_the_settings_is_told_where_git_knows_that_they_held_it(folder, git, is_committed_first):
    """Once it was there where the entry was recorded, and once only in the last commit."""
    git(folder.root, "init", "-q")
    folder.settings(top=TRACE)
    if is_committed_first:
        git(folder.root, "add", "-A")
        git(folder.root, "commit", "-qm", "A rule")
    path = record(folder)
    git(folder.root, "add", "-A")
    git(folder.root, "commit", "-qm", "An entry")
    folder.settings(top="")
    if is_committed_first:
        git(folder.root, "commit", "-qam", "No rule")
    (found,) = folder.findings()
    assert (found.code, found.path) == (Code.OUTDATED_KEY, path)
    assert found.mend.startswith("onetake rekey ")
    (one,) = status(folder.root).entries
    assert (one.advice, one.command) == (Advice.BROKEN, found.mend)
    rekey(folder.root, writes=True)
    assert folder.codes() == []


def test_a_rule_that_no_commit_knows_is_told_by_what_a_run_missed_without_it(folder):
    folder.settings(top=TRACE)
    record(folder)
    folder.settings(top="")
    assert folder.codes() == []
    folder.miss(folder.direct.chat("Hello", trace=1), contract=None)
    assert folder.codes() == ["outdated-key"]
    rekey(folder.root, writes=True)
    assert folder.codes() == []
