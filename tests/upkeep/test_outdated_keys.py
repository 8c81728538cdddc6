"""An entry that the settings of today key otherwise is found by no replay, and the check says so."""

from __future__ import annotations

import pytest

from onetake.key import Keyer
from onetake.settings import key_rules
from onetake.upkeep.findings import Code
from onetake.upkeep.rekey.rekeying import rekey

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
