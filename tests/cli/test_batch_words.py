"""Words for money and for what a killed run left."""

from __future__ import annotations

import pytest

from onetake.cli.batch_words import dollars, may_have_been_billed, offer_to_pack, price
from onetake.stores import open_store
from onetake.upkeep import packing


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (0, "$0.00"),
        (12345.678, "$12,345.68"),
        (1, "$1.00"),
        (0.5, "$0.5"),
        (0.000012, "$0.000012"),
        (1e-9, "under $0.000001"),
    ],
)
def test_dollars(cost, said):
    assert dollars(cost) == said


def test_a_price_that_is_not_known_is_said():
    assert price(None, None, "no list has it") == "unknown: no list has it"
    assert price(1, None, "") == "$1.00 or more: params.max_tokens would say how much more"
    assert (price(1, 2, ""), price(2, 2, "")) == ("$1.00 to $2.00", "$2.00")


def test_calls_that_may_have_been_billed():
    said = [may_have_been_billed(count) for count in (0, 1, 2)]
    assert said == ["", *(f"up to {n} may have been billed without a stored reply" for n in ("1 call", "2 calls"))]


@pytest.mark.parametrize(("name", "most", "offers"), [("calls", 2, True), ("calls", 3, False), ("calls.db", 2, False)])
def test_a_folder_of_very_many_replies_is_offered_one_file(project, capsys, monkeypatch, name, most, offers):
    store = open_store(project / name)
    for digit in "abc":
        store.add(digit * 64, 0, b"{}")
    monkeypatch.setattr(packing, "_MANY", most)
    offer_to_pack(project / name, store)
    store.close()
    said = capsys.readouterr().out
    assert said.startswith("calls: 3 entries, each a file and an fsync of its own") is offers
    assert said.endswith("\n  onetake store pack calls calls.db\n") is offers
