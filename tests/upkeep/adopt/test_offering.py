"""Whether answers would be adopted, before `adopt` is asked."""

from __future__ import annotations

import pytest

from onetake.key import Keyer
from onetake.missed import missed_in
from onetake.upkeep.adopt.nearness import Asked
from onetake.upkeep.adopt.offering import Offers
from onetake.upkeep.adopt.planning import plan
from onetake.upkeep.packing import pack
from onetake.upkeep.statuses import status


@pytest.fixture
def offered(folder):
    """Return a function that tells whether the answers in some files are offered for what was missed."""

    def ask(*paths):
        (missed,) = missed_in(folder.root)
        rules = Keyer().spec()
        read = [(path, folder.load(path)) for path in paths]
        found = [Asked(path, one.key, one.ordinal, "", "", one.request, rules) for path, one in read]
        new = Asked(None, missed.key, missed.ordinal, missed.test, missed.at, missed.request, rules)
        return Offers(folder.root).takes(found, new, missed)

    return ask


def test_all_answers_to_a_request_go_together_or_none_does(folder, direct, answer, offered):
    paths = folder.record(("one", answer), ("one", answer.replace("bug", "wish")))
    folder.miss(direct.chat("one", store=False))
    assert offered(*paths)
    folder.edit_answer(paths[1], answer.replace("bug", "wish"), '{"label": 5, "tags": []}')
    assert not offered(*paths)
    (group,) = plan(folder.root).groups
    assert (bool(group.refused), group.adoptions) == (True, [])


def test_the_requests_decide_before_the_answers_are_read(folder, direct, offered):
    paths = folder.record()
    folder.miss(direct.chat("Sort this", model="gpt-6"))
    assert not offered(*paths)
    (missed,) = missed_in(folder.root)
    new = Asked(None, missed.key, 0, missed.test, missed.at, missed.request, {})
    assert not Offers(folder.root).takes([], new, missed), "nothing is offered of nothing"


@pytest.mark.parametrize("is_tightened", [False, True])
def test_a_store_that_is_one_file_is_judged_as_a_folder_is(folder, direct, answer, items, is_tightened):
    (path,) = folder.record(("one", answer), folder="apart/test_b")
    pack(path.parent, folder.root / "calls.db")
    path.unlink()
    folder.miss(direct.chat("one", store=False), folder="calls.db")
    folder.ran(folder="calls.db", why="tests failed")
    if is_tightened:
        items["properties"]["tags"]["maxItems"] = 2
        folder.schema(items)
    (one,) = (one for one in status(folder.root).entries if one.advice == "orphan")
    assert ("onetake adopt" in one.reason) is not is_tightened
