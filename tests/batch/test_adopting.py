"""Replies to earlier words, taken over for an edit that a person calls one of words alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.batch.adopting import adopt, as_plain, refusal
from onetake.batch.remembering import Asked
from onetake.cassette import Cassette
from onetake.testing.provider import openai_chat


@pytest.fixture
def filled(filling):
    """A batch of two requests that was run; the third record asks what the first asks, the fourth is no record."""
    filling.write({"m": "a"}, {"m": "b"}, {"m": "a"}, "no record")
    filling.fill()
    return filling


def taken(filling, *, reason="", writes=True, before=None, **ask):
    """Adopt for the edited job what the one before was told."""
    old = before or Asked(filling.job().ask, None, "answer", 0, "d" * 64)
    filling.ask |= ask
    batch = filling.opened()
    try:
        return refusal(batch, old) or as_plain(adopt(batch, old, reason, writes=writes))
    finally:
        batch.close()


def entries(filling):
    batch = filling.opened()
    cassette = Cassette(batch.store)
    found = [cassette.load(*slot) for slot in batch.store.names()]
    batch.close()
    return found


def test_the_same_answers_stand_under_the_new_words_and_nobody_is_asked(filled):
    rows, count = filled.rows(), filled.provider.count
    found = taken(filled, prompt="Say {m}\n", reason="a line end")
    assert found == {
        "difference": "prompt differs by one trailing newline",
        "records": 4,
        "entries": 2,
        "stored": 0,
        "shared": 1,
        "left": [{"reason": "a bad line", "count": 1, "example": 4}],
    }
    assert (filled.rows(), filled.provider.count) == (rows, count)
    assert not filled.fill()[1].attempts
    new = [one for one in entries(filled) if "adopted" in one.provenance]
    said = new[0].provenance["adopted"]
    assert {one.provenance["adopted"]["from"] for one in new} == {one.key for one in entries(filled)} - {
        one.key for one in new
    }
    assert (said["reason"], said["changed"]) == ("a line end", ["body$.messages[0].content"])
    assert "recorded_at" in new[0].provenance, "the answer is as old as it was"


def test_without_writing_nothing_is_written_and_again_finds_it_done(filled):
    before = Asked(filled.job().ask, None, "answer", 0)
    assert taken(filled, before=before, prompt="Say  {m}", writes=False)["entries"] == 2
    assert len(entries(filled)) == 2
    assert taken(filled, before=before)["entries"] == 2
    again = taken(filled, before=before)
    assert (again["entries"], again["stored"]) == (0, 3)


def test_what_a_kill_left_out_is_taken_over_by_the_next_call(filled, monkeypatch):
    before = Asked(filled.job().ask, None, "answer", 0)

    def killed(batch, line, entry):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("onetake.batch.adopting._write", killed)
        with pytest.raises(KeyboardInterrupt):
            taken(filled, before=before, prompt="Say {m}.")
    assert taken(filled, before=before)["entries"] == 2


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        ({"model": "n"}, "more than the prompt differs: model was 'm', is 'n'"),
        ({"params": {"seed": 1}}, "more than the prompt differs: params.seed was not there, is 1"),
        ({}, "the prompt does not differ"),
        (
            {"prompt": "Say {m} {n}"},
            "more than words differ: the prompt names other fields of the record (n)",
        ),
    ],
)
def test_more_than_other_words_is_refused(filled, ask, why):
    assert taken(filled, **ask) == why


def test_another_sent_schema_is_refused(filled):
    before = Asked(filled.job().ask, {"type": "object"}, "answer", 0)
    assert taken(filled, before=before, prompt="Say {m}!") == "more than the prompt differs: another schema is sent"


def test_a_reply_that_another_schema_judged_is_left(filled, tmp_path):
    (tmp_path / "s.json").write_text('{"type": "string"}')
    found = taken(filled, prompt="Say {m}!", schema=tmp_path / "s.json")
    why = {one["reason"]: one["count"] for one in found["left"]}
    assert (found["entries"], sum(why.values())) == (0, 4)


def test_bad_replies_and_their_repairs_are_asked_anew(filling, tmp_path):
    (tmp_path / "s.json").write_text('{"properties": {"x": {"type": "integer"}}, "required": ["x"]}')
    filling.ask |= {"schema": tmp_path / "s.json"}
    filling.run |= {"repairs": 1}
    filling.write({"m": "a"}, {"m": "b"})
    filling.provider.script(map(openai_chat, ("no object", '{"x": 1}', '{"x": 2}')))
    filling.fill()
    rows = filling.rows()
    assert rows == [{"x": 2}, {"x": 1}], "the repair came last"
    found = taken(filling, prompt="Say {m}\n")
    why = "the earlier reply is kept:violation: it is asked anew"
    assert (found["entries"], found["left"]) == (1, [{"reason": why, "count": 1, "example": 1}])
    assert filling.rows() == ["needed", rows[1]]


def test_what_the_earlier_job_did_not_ask_is_left(filled):
    filled.write({"m": "a"}, {"m": "new"})
    (left,) = taken(filled, prompt="Say {m}!")["left"]
    assert (left["count"], left["example"]) == (1, 2)


def test_two_requests_that_are_one_now_share_no_answer(filling):
    filling.ask |= {"prompt": "{a} {b}"}
    filling.write({"a": "x", "b": "y z"}, {"a": "x y", "b": "z"}, {"a": "x", "b": "yz"}, {"a": "xy", "b": "z"})
    filling.fill()
    rows = filling.rows()
    found = taken(filling, prompt="{a}{b}")
    why = "records that were two requests are one now"
    assert (found["entries"], found["left"]) == (0, [{"reason": why, "count": 2, "example": 3}])
    assert filling.rows() == [rows[3], rows[2], "needed", "needed"], "neither gets the other's answer"
    assert found["stored"] == 2, "under the new words they ask what others asked under the old"


def test_a_record_that_was_never_asked_gets_no_answer_of_another(filling):
    filling.ask |= {"prompt": "{a}-{b}"}
    filling.write({"a": "x", "b": "yz"})
    filling.fill()
    filling.write({"a": "x", "b": "yz"}, {"a": "xy", "b": "z"}, {"a": "x", "b": "yz"})
    left = {one["reason"]: one["count"] for one in taken(filling, prompt="{a}{b}")["left"]}
    assert left == {"records that were two requests are one now": 3}
    assert filling.rows() == ["needed"] * 3


def test_what_was_adopted_before_keeps_all_places_that_were_changed(filled):
    first = Asked(replace(filled.job().ask), None, "answer", 0)
    taken(filled, before=first, prompt="Say {m}!")
    second = Asked(filled.job().ask, None, "answer", 0)
    assert taken(filled, before=second, prompt="Say {m}!!")["entries"] == 2
    places = [one.provenance["adopted"]["changed"] for one in entries(filled) if "adopted" in one.provenance]
    assert places == [["body$.messages[0].content"]] * 4


def test_a_folder_of_entries_gives_its_replies_as_well(filling):
    filling.run |= {"store": filling.folder / "calls"}
    filling.write({"m": "a"}, {"m": "b"})
    filling.fill()
    rows = filling.rows()
    assert taken(filling, prompt="Say {m}\n")["entries"] == 2
    assert filling.rows() == rows
