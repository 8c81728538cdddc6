"""An interaction that one cassette holds twice is named, at the entry that is one too many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.scrub import Scrubber
from onetake.settings import load_settings
from onetake.upkeep.checking import check


@pytest.fixture
def imported(folder, answer):
    """Return a function that records a call, and says that it was imported."""

    def make(asked, position=0, *, place="cassettes/a", **provenance):
        chat = folder.direct.chat(asked, trace=1)
        request = replace(chat, headers=(*chat.headers, ("x-a", "1")))
        scrubber = Scrubber(key_headers=load_settings(folder.root).key.headers)
        before = set((folder.root / place).glob("*.json"))
        (path,) = set(folder.record((request, answer), contract=None, folder=place, scrubber=scrubber)) - before
        folder.rewrite(path, imported_from={"path": "a.yaml", "position": position}, **provenance)
        return path

    return make


def twice(found):
    return [one for one in found if one.code == "imported-twice"]


def test_two_entries_of_one_position_are_told_and_others_are_not(folder, imported):
    paths = sorted([imported("x"), imported("y")])
    imported("z", 1)
    imported("x", place="cassettes/b")
    imported("adopted", adopted={"from": "0" * 64})
    (found,) = twice(folder.findings())
    assert (found.severity, found.path) == ("warning", paths[1])
    assert found.message == f"position 0 of a.yaml is here twice: {paths[0].name} has it too"
    assert found.mend.startswith("keep one of them, and delete the other: onetake diff ")
    assert found.line == folder.line_of(paths[1], '  "provenance"')
    assert twice(check(folder.root, shared_from=1).findings) == [found]


@pytest.mark.parametrize(("rule", "is_outdated"), [('ignore = ["$.trace"]', True), ('headers = ["x-a"]', False)])
def test_of_two_the_one_that_was_keyed_by_other_rules_is_to_be_deleted(folder, imported, rule, is_outdated):
    old = imported("x")
    folder.settings(top=f"[key]\n{rule}\n")
    new = imported("x")
    assert ("outdated-key" in folder.codes()) is is_outdated
    (found,) = twice(folder.findings())
    assert found.path == old
    assert found.mend == f"delete this one: {found.mend.partition(': ')[2]}"
    assert found.message.endswith(f"{new.name} has it too")


def test_a_copy_that_no_replay_reads_is_another_finding(folder, imported):
    path = imported("x")
    path.with_name(f"copy-{path.name}").write_bytes(path.read_bytes())
    assert "imported-twice" not in folder.codes()
    assert "duplicate" in folder.codes()
