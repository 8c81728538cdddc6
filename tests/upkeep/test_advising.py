"""The decision table: total, and each line where it stands."""

from __future__ import annotations

from itertools import product

from onetake.upkeep.advising import TABLE, Advice, Facts, advise
from onetake.upkeep.findings import Code

ORDER = {
    "secret": Advice.SECRET,
    "broken": Advice.BROKEN,
    "orphan": Advice.ORPHAN,
    "bumped": Advice.SCHEMA_BUMPED,
    "breaks": Advice.BREAKS_CONTRACT,
    "predates": Advice.PREDATES_PARSER,
    "doubtful": Advice.PROBE_FIRST,
}


def test_every_combination_of_facts_has_the_first_advice_that_holds():
    for held in product((True, False), repeat=len(ORDER)):
        facts = dict(zip(ORDER, held, strict=True))
        first = next((ORDER[name] for name, holds in facts.items() if holds), Advice.REPLAY)
        assert advise(Facts(**facts)) is first, facts


def test_the_table_has_every_advice_in_the_order_in_which_they_hold():
    assert list(TABLE) == [*ORDER.values(), Advice.REPLAY]
    assert all(row.when and row.then for row in TABLE.values())


def test_each_advice_but_replay_is_a_code_of_the_check():
    assert {advice.value for advice in Advice} - {code.value for code in Code} == {"replay"}
