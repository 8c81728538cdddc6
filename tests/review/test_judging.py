from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.errors import UsageError
from onetake.model import Cut
from onetake.review.judging import UNJUDGED, as_kept, judged, refusal
from onetake.upkeep.projects import Projects


@pytest.fixture
def kept(desk):
    """Return a function that says what a reject becomes: (entry or None, why not, sidecars)."""

    def become(entry):
        path = desk.aside("rejects", entry)
        return as_kept(entry, path.parent, Projects(desk.root, importing=False).of(desk.root))

    return become


def test_a_reject_is_kept_as_the_kind_that_it_was_refused_for(desk, kept):
    entry, why, sides = kept(desk.reject())
    assert (entry, why) == (replace(desk.reject(), verdict="kept:violation"), "")
    assert list(sides) == [f"_schemas/{desk.contract.digest}.json"]


def test_one_that_meets_todays_contract_is_good(desk, kept):
    desk.declare({"type": "object", "properties": {"label": {}}})
    entry, why, _ = kept(desk.reject())
    assert (entry.verdict, entry.violations, why) == ("good", (), "")
    assert entry.contract.schema != desk.contract.digest


def test_one_whose_contract_is_declared_nowhere_is_judged_by_the_schema_beside_it(desk, kept):
    desk.declare(None)
    assert kept(desk.reject())[0].verdict == "kept:violation"
    entry = kept(desk.reject("other", {"label": "meets it"}))[0]
    assert (entry.verdict, entry.contract) == ("good", desk.contract.ref(desk.root))


def test_one_whose_contract_cannot_be_read_is_kept_by_nobody(desk, kept):
    desk.declare(None)
    entry = desk.reject()
    other = replace(entry.contract, schema="0" * 64)
    assert kept(replace(entry, contract=other))[:2] == (None, UNJUDGED)


@pytest.mark.parametrize("reason", ["json", "secret", "", "made up"])
def test_a_kind_that_no_session_keeps_is_refused(desk, kept, reason):
    entry, why, _ = kept(desk.reject(verdict=f"reject:{reason}"))
    assert entry is None
    assert why.startswith("no session keeps an answer that was refused for this")


def test_one_that_is_bad_in_another_way_today_is_refused(desk, kept):
    entry, why, _ = kept(desk.reject(verdict="reject:length"))
    assert (entry, why) == (None, "the gate says reject:violation of it today, and said reject:length")


def test_an_answer_that_was_cut_is_kept(desk, kept):
    whole = desk.entry()
    response = replace(whole.response, cut=Cut.PROVIDER)
    entry, _, _ = kept(replace(whole, response=response, verdict="reject:cut", contract=None))
    assert entry.verdict == "kept:cut"


def test_a_refusal_names_what_is_wrong(desk):
    path = desk.aside("rejects", desk.reject())
    by_today = judged(desk.reject(), path.parent, Projects(desk.root, importing=False).of(desk.root))
    assert by_today.is_known
    assert refusal(by_today).startswith("the gate says reject:violation; $.label: expected ")


def test_nothing_is_written_under_a_contract_that_watches_what_is_not_there(desk, kept):
    desk.declare({"type": "object", "properties": {"label": {}}})
    settings = desk.root / "onetake.toml"
    settings.write_text(f'{settings.read_text()}watch = ["gone.py"]\n')
    with pytest.raises(UsageError, match=r"contract 'items' watches 'gone\.py', and there is no such file"):
        kept(desk.reject())
