from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import AfterValidator, BaseModel

from onetake.contract import Contract
from onetake.decide import Found
from onetake.errors import InteractionNotFound
from onetake.model import Cut, Mode, Response
from onetake.settings import MaxAge
from onetake.steps import Policy
from onetake.validity import UNKNOWN, Validity, moment, when

LABEL = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
TIGHT = {"type": "object", "properties": {"label": {"enum": ["bug", "idea"]}}, "required": ["label"]}


def labels(schema=LABEL, version=1, name="labels", **more):
    return Contract(schema, name=name, schema_version=version, **more)


@pytest.fixture
def entry(direct):
    """Make an entry: *text* under *contracts*."""

    def make(text='{"label": "bug"}', *contracts, **fields):
        talk = direct(contracts=contracts)
        talk.call("q", text)
        return replace(talk.entries()[0], **fields)

    return make


def test_times_are_read_in_one_way_whoever_wrote_them():
    same = ["2026-01-02T01:00:00Z", "2026-01-02T10:00:00+09:00", "2026-01-02T01:00:00", "2026-01-02T01:00:00.000000Z"]
    assert {when(text) for text in same} == {datetime(2026, 1, 2, 1, tzinfo=UTC)}
    for text in ("soon", "", None, 5):
        assert (moment(text), when(text)) == (None, UNKNOWN)
    ends = ["0001-01-01T00:00:01Z", "9999-12-31T23:59:59-10:00", "2026-01-02"]
    assert sorted([*ends, "soon"], key=when) == ["soon", ends[0], ends[2], ends[1]]


def word(entry, *contracts, **policy):
    validity = Validity(Policy(mode=Mode.NONE, root=Path(), **policy))
    return validity.of(entry, contracts), validity.why(entry, contracts)


def aged(entry, days):
    moment = (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return replace(entry, provenance={**entry.provenance, "recorded_at": moment})


def test_an_entry_of_the_same_contract_is_valid(entry):
    assert word(entry('{"label": "bug"}', labels()), labels()) == (Found.VALID, "")
    assert word(entry("no json"), *()) == (Found.VALID, "")


def test_another_schema_version_is_stale_whatever_the_answer(entry):
    found, why = word(entry('{"label": "bug"}', labels()), labels(version=2))
    assert (found, why) == (Found.STALE, "it was recorded under labels schema_version 1, which is 2 today")


def test_another_version_is_stale_whatever_the_contract_is_called(entry):
    recorded = entry('{"label": "bug"}', labels(name="k"))
    found, why = word(recorded, labels(name="k2", version=5))
    assert (found, why) == (
        Found.STALE,
        "it was recorded under k schema_version 1, which is k2 schema_version 5 today",
    )
    assert word(recorded, labels(name="k2"))[0] is Found.VALID
    assert word(recorded, labels(TIGHT, name="k2"))[0] is Found.VALID
    assert word(entry('{"label": "noise"}', labels(name="k")), labels(TIGHT, name="k2"))[0] is Found.STALE


def test_an_entry_without_a_contract_has_no_version_to_compare(entry):
    assert word(entry('{"label": "bug"}'), labels(version=7))[0] is Found.VALID


def test_a_contract_whose_own_code_breaks_on_a_stored_answer_is_a_refusal_and_asks_for_no_other(direct):
    talk = direct()
    talk.call("q", '{"label": "bug"}')
    broken = (Contract({}, name="c", on=lambda request: 1 / 0),)
    for mode in ("none", "once", "new_episodes"):
        with pytest.raises(InteractionNotFound, match=r"today's contract broke on it \(ZeroDivisionError"):
            direct(talk.store, mode, contracts=broken).ask("q")


def test_a_name_from_a_file_is_printable(entry):
    recorded = entry('{"label": "bug"}', labels())
    hostile = replace(recorded, contract=replace(recorded.contract, name="\x1b[31mk\nx"))
    assert word(hostile, labels(version=2))[1].isprintable()


def test_a_tightened_schema_never_replays_a_frozen_bug(entry):
    frozen, right = entry('{"label": "noise"}', labels()), entry('{"label": "bug"}', labels())
    found, why = word(frozen, labels(TIGHT))
    assert found is Found.STALE
    assert why.startswith("it breaks today's contract (violation)\n$.label: expected ")
    assert word(right, labels(TIGHT))[0] is Found.VALID


def test_an_entry_without_a_contract_is_judged_by_todays(entry):
    assert word(entry('{"label": "bug"}'), labels())[0] is Found.VALID
    assert word(entry("just words"), labels())[0] is Found.STALE


def test_an_answer_cut_by_length_is_stale_once_a_contract_stands(entry, direct):
    cut = entry(direct.said('{"label": "bug"}', finish="length"))
    assert word(cut)[0] is Found.VALID
    assert word(cut, labels()) == (Found.STALE, "it breaks today's contract (length)")


def no_bugs(label):
    if label == "bug":
        raise ValueError("bugs are called faults")
    return label


class Loose(BaseModel):
    """Any label."""

    label: str


class Strict(BaseModel):
    """The same schema, with a validator that is not in it."""

    label: Annotated[str, AfterValidator(no_bugs)]


def test_a_types_own_validator_judges_whatever_the_digest(entry):
    old, new = Contract(Loose, name="label"), Contract(Strict, name="label")
    assert old.digest == new.digest
    stored = entry('{"label": "bug"}', old)
    assert word(stored, old)[0] is Found.VALID
    found, why = word(stored, new)
    assert found is Found.STALE
    assert "bugs are called faults" in why


def test_of_several_contracts_the_one_that_selects_counts(entry):
    tags = Contract({"type": "object"}, name="tags", on="tool:tag", schema_version=9)
    stored = entry('{"label": "bug"}', tags, labels())
    assert word(stored, tags, labels())[0] is Found.VALID
    assert word(stored, tags, labels(version=3))[0] is Found.STALE


def test_a_kept_answer_needs_a_session_that_keeps_its_kind(entry):
    kept = entry(verdict="kept:status:429", response=Response(429))
    assert word(kept, keep=("status:429",))[0] is Found.VALID
    assert word(kept, keep=("status:4xx",))[0] is Found.VALID
    found, why = word(kept, keep=("status:5xx", "length"))
    assert found is Found.UNKEPT
    assert 'keep=["status:429"]' in why
    assert word(entry("no json", verdict="kept:violation"), labels(), keep=("violation",)) == (Found.VALID, "")


def test_a_left_answer_is_not_judged(entry):
    left = Response(200, (), b"no json", cut=Cut.LEFT)
    assert word(entry(verdict="left:7", response=left), labels())[0] is Found.VALID


@pytest.mark.parametrize(
    "verdict",
    ["good:", "left:abc", "left:-5", "left:99999", "kept:", "kept:nonsense", "kept:status:abc", "kept:status:429"],
)
def test_a_verdict_that_the_gate_never_gives_is_never_valid(entry, verdict):
    kinds = ("nonsense", "status:abc", "status:429", "status:4xx", "")
    found, why = word(entry("no json", verdict=verdict), labels(), keep=kinds)
    assert (found, why) == (Found.UNKEPT, f"its verdict {verdict!r} is none that the gate gives")


def test_a_reject_is_never_valid(entry):
    assert word(entry(verdict="reject:violation"), keep=("violation",))[0] is Found.UNKEPT


@pytest.mark.parametrize(("then", "found"), [("fail", Found.EXPIRED), ("rerecord", Found.STALE), ("warn", Found.VALID)])
def test_the_age_counts_from_the_recording(entry, then, found):
    limit = MaxAge(90, then)
    assert word(aged(entry(), 91), max_age=limit)[0] is found
    assert word(aged(entry(), 89), max_age=limit) == (Found.VALID, "")
    if found is not Found.VALID:
        assert word(aged(entry(), 91), max_age=limit)[1] == "it was recorded 91 days ago, and max_age allows 90"


@pytest.mark.parametrize("text", ["", "yesterday", "2020-01-01", "2020-01-01T00:00:00", None, 7])
def test_a_time_that_a_hand_has_broken_stops_nothing(entry, text):
    found, _ = word(entry(provenance={"recorded_at": text}), max_age=MaxAge(90, "fail"))
    assert found is (Found.EXPIRED if str(text).startswith("2020") else Found.VALID)


def test_an_old_answer_is_warned_of_once_a_session(direct, capsys):
    talk = direct()
    for prompt in ("one", "two"):
        talk.call(prompt, "a")
    for stored in talk.entries():
        talk.engine.cassette.put(aged(stored, 91))
    for limit, said in ((MaxAge(90, "warn"), 1), (MaxAge(120, "warn"), 0)):
        replaying = direct(talk.store, "none", max_age=limit)
        capsys.readouterr()
        assert [replaying.call(prompt) for prompt in ("one", "two")] == ["a", "a"]
        told = capsys.readouterr().err
        assert told.count("it was recorded 91 days ago, and max_age allows 90") == said
        assert told.count("onetake:") == said


def test_an_old_answer_is_refused_or_recorded_anew_as_the_settings_say(direct):
    talk = direct()
    talk.call("q", "old")
    talk.engine.cassette.put(aged(talk.entries()[0], 91))
    for mode in ("none", "once", "new_episodes"):
        with pytest.raises(InteractionNotFound, match="the stored interaction is too old"):
            direct(talk.store, mode, max_age=MaxAge(90, "fail")).ask("q")
    with pytest.raises(InteractionNotFound, match="91 days ago"):
        direct(talk.store, "none", max_age=MaxAge(90, "rerecord")).ask("q")
    assert direct(talk.store, "new_episodes", max_age=MaxAge(90, "rerecord")).call("q", "new") == "new"
    assert direct(talk.store, "none", max_age=MaxAge(90, "fail")).call("q") == "new"


def test_no_replay_renews_an_entry(direct):
    talk = direct()
    talk.call("q", "old")
    stored = aged(talk.entries()[0], 91)
    talk.engine.cassette.put(stored)
    direct(talk.store, "none").call("q")
    assert talk.entries() == [stored]


def test_an_entry_that_was_replaced_is_judged_again(direct):
    validity = Validity(Policy(mode=Mode.NONE, root=Path()))
    contracts = (labels(),)
    talk = direct()
    talk.call("q", "no json")
    old = talk.entries()[0]
    assert validity.of(old, contracts) is Found.STALE
    assert validity.of(old, ()) is Found.VALID
    direct(talk.store, "all").call("q", '{"label": "bug"}')
    assert validity.of(talk.entries()[0], contracts) is Found.VALID


def test_memory_stays_flat_over_a_batch_and_what_was_just_judged_is_remembered(entry):
    judged = []
    seen = Annotated[str, AfterValidator(lambda text: judged.append(text) or text)]
    contract = Contract(dict[str, seen], name="labels")
    validity, stored = Validity(Policy(mode=Mode.NONE, root=Path())), entry()
    for number in range(2000):
        for _ in range(2):
            assert validity.of(replace(stored, key=f"{number:064x}"), (contract,)) is Found.VALID
    assert len(judged) == 2000
    assert validity.of(replace(stored, key=f"{1500:064x}"), (contract,)) is Found.VALID
    assert len(judged) == 2000
    assert validity.of(replace(stored, key=f"{0:064x}"), (contract,)) is Found.VALID
    assert len(judged) == 2001
