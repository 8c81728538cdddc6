"""The book of refusals."""
# ruff: noqa: BLE001 - programs swallow like this

from __future__ import annotations

import io
import sys
import threading

import pytest

from onetake.errors import ContractError, InteractionNotFound, UnreadableEntry, UsageError
from onetake.ledger import Ledger, is_same


def miss(name="x"):
    return InteractionNotFound("no interaction", name)


def test_a_refusal_is_said_at_once_and_stays_open(capsys):
    ledger = Ledger()
    refusal = miss("POST /a")
    ledger.write(refusal)
    assert capsys.readouterr().err == "onetake: no interaction: POST /a\n"
    assert ledger.all == ledger.open == (refusal,)


@pytest.mark.parametrize("broken", [None, "closed"])
def test_a_missing_or_closed_standard_error_hides_no_refusal(monkeypatch, broken):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr(sys, "stderr", stream if broken else None)
    ledger = Ledger()
    ledger.write(miss())
    assert len(ledger.open) == 1


def test_an_expected_refusal_that_comes_through_is_swallowed_and_acknowledged():
    ledger = Ledger()
    refusal = miss()
    with ledger.expecting() as expected:
        ledger.write(refusal)
        raise refusal
    assert expected.refusals == (refusal,)
    assert (ledger.open, ledger.all) == ((), (refusal,))


def test_an_expected_refusal_may_come_in_another_thread():
    ledger = Ledger()
    with ledger.expecting() as expected:
        thread = threading.Thread(target=ledger.write, args=(miss(),))
        thread.start()
        thread.join()
    assert len(expected.refusals) == 1
    assert ledger.open == ()


def test_refusals_of_before_and_after_stay_open():
    ledger = Ledger()
    before, after = miss("before"), miss("after")
    ledger.write(before)
    with ledger.expecting():
        ledger.write(miss("inside"))
    ledger.write(after)
    assert ledger.open == (before, after)


def test_a_group_of_expected_refusals_is_swallowed_and_a_mixed_one_is_not():
    ledger = Ledger()

    def raise_group(*others):
        refusal = miss()
        ledger.write(refusal)
        raise BaseExceptionGroup("tasks", [BaseExceptionGroup("inner", [refusal]), *others])

    with ledger.expecting():
        raise_group()
    with pytest.raises(BaseExceptionGroup), ledger.expecting():
        raise_group(ValueError("own"))
    assert ledger.open == ()


def test_a_refusal_of_another_ledger_is_not_swallowed():
    with pytest.raises(InteractionNotFound), Ledger().expecting():
        raise miss()


def test_another_error_goes_through_and_the_refusal_counts_as_expected():
    ledger = Ledger()
    with pytest.raises(ValueError, match="own"), ledger.expecting():
        ledger.write(miss())
        raise ValueError("own")
    assert ledger.open == ()


def test_a_block_without_a_refusal_is_a_mistake():
    with pytest.raises(UsageError, match="ended without a refusal"), Ledger().expecting():
        pass


def test_a_contract_error_is_open_unless_it_was_caught_by_its_name():
    ledger = Ledger()
    named, swallowed = ContractError("violation", "POST /a"), ContractError("violation", "POST /b")
    ledger.write(named)
    ledger.write(swallowed)
    with pytest.raises(ContractError):
        raise named
    try:
        raise swallowed
    except BaseException:
        pass
    assert ledger.open == (swallowed,)


def test_a_refusal_of_another_kind_than_expected_is_neither_swallowed_nor_acknowledged():
    ledger = Ledger()
    other, swallowed, wanted = miss("raised"), miss("swallowed"), ContractError("violation", "POST /a")
    with pytest.raises(InteractionNotFound), ledger.expecting(ContractError):
        ledger.write(other)
        raise other
    with ledger.expecting(ContractError) as expected:
        ledger.write(swallowed)
        ledger.write(wanted)
        raise wanted
    assert expected.refusals == (wanted,)
    assert ledger.open == (other, swallowed)


def test_a_block_without_a_refusal_of_the_expected_kind_is_a_mistake():
    ledger = Ledger()
    with pytest.raises(UsageError, match="ended without a ContractError"), ledger.expecting(ContractError):
        ledger.write(miss())
    for wrong in (ValueError, "ContractError", None):
        with pytest.raises(UsageError, match="takes a class of refusals"), ledger.expecting(wrong):
            pass


def test_what_is_said_is_noted_once_and_refusals_are_no_notes(capsys):
    ledger = Ledger()
    for text in ("cut by the limit", "old", "cut by the limit"):
        ledger.say(text)
    ledger.write(miss())
    assert ledger.notes == ("cut by the limit", "old")
    assert capsys.readouterr().err.count("cut by the limit") == 2


def test_an_error_is_the_same_as_its_copy_and_as_its_twin():
    refusal = InteractionNotFound("absent", "POST /")
    copy, other = InteractionNotFound("absent", "POST /"), InteractionNotFound("absent", "GET /")
    for one in (refusal, refusal.as_exception()):
        assert is_same(one, refusal)
        assert is_same(one, copy)
        assert is_same(one, copy.as_exception())
        assert not is_same(one, other)
        assert not is_same(one, UnreadableEntry("absent", "POST /"))
        assert not is_same(ValueError(str(one)), one)
