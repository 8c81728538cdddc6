from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from onetake.key import Keyer
from onetake.model import Cut, Response
from onetake.review.editing import Draft, draft_of, edited, sweep_drafts

SECRET = "sk-proj-" + "Ab3dEf6hIj" * 5


@pytest.fixture
def edit(desk):
    """Return a function that replaces bytes in the draft of a change, and hands it in: what was decided."""

    def change(path, old, new):
        read, _ = desk.read(path)
        draft = draft_of(read)
        assert isinstance(draft, Draft), draft
        text = draft.path.read_bytes()
        assert text.count(old) == 1, text.decode()
        draft.path.write_bytes(text.replace(old, new))
        return edited(read, draft), draft

    return change


def test_an_edited_response_gives_the_answer_and_is_judged_again(desk, edit):
    path = desk.put(desk.entry(said={"label": "ok"}))
    before, was = path.read_bytes(), desk.load(path)
    done, draft = edit(path, b'"ok"', b'"better"')
    assert done.said == "edited, and passed by the gate as good; what it was is in the trash"
    now = desk.load(path)
    assert now.response.body == was.response.body.replace(b"ok", b"better")
    assert now.answer.choices[0].text == '{"label": "better"}'
    assert (now.key, now.ordinal, now.request) == (was.key, was.ordinal, was.request)
    assert now.provenance["edited"]["at"]
    assert desk.trash == [before]
    assert desk.read(path)[0].findings == ()
    assert not draft.path.exists()


def test_an_answer_that_breaks_the_contract_is_refused_and_the_text_kept(desk, edit):
    path = desk.put(desk.entry(said={"label": "ok"}))
    before = path.read_bytes()
    done, draft = edit(path, b'"ok"', b"3")
    assert not done.is_done
    assert done.said.startswith("the gate says reject:violation; $.label: expected ")
    assert done.said.endswith("your text is kept, and to edit again goes on with it")
    assert path.read_bytes() == before
    read, _ = desk.read(path)
    assert draft_of(read) == draft
    assert b'"label": 3' in draft.path.read_bytes()


def test_a_text_that_was_refused_goes_when_its_change_is_decided_on_or_is_no_more(desk, edit):
    one, two = desk.put(desk.entry("one", {"label": "ok"})), desk.put(desk.entry("two", {"label": "ok"}))
    first, second = (edit(path, b'"ok"', b"3")[1].path for path in (one, two))
    found = desk.changes()
    sweep_drafts(found, [])
    assert first.exists()
    assert second.exists()
    sweep_drafts(found, [change for change in found.found if change.path == one])
    assert not first.exists()
    assert second.exists()
    desk.commit()
    sweep_drafts(desk.changes(start="cassettes"), [])
    assert second.exists()
    sweep_drafts(desk.changes(), [])
    assert not second.exists()


def test_a_reject_that_passes_now_is_an_entry(desk, edit):
    path = desk.aside("rejects", desk.reject())
    data = path.read_bytes()
    done, _ = edit(path, b'"label": 1', b'"label": "one"')
    (entered,) = (desk.root / "cassettes" / "a").glob("*.json")
    assert done.said == f"edited, and passed by the gate: it is in the cassette now: cassettes/a/{entered.name}"
    entry = desk.load(entered)
    assert (entry.verdict, entry.violations, entry.contract) == ("good", (), desk.contract.ref(desk.root))
    assert not path.exists()
    assert desk.trash == [data]


def test_a_reject_that_still_is_one_stays_where_it_is(desk, edit):
    path = desk.aside("rejects", desk.reject())
    done, _ = edit(path, b'"label": 1', b'"label": 2')
    assert not done.is_done
    assert path.exists()
    assert not (desk.root / "cassettes").exists()


def test_what_was_kept_for_its_kind_stays_kept(desk, edit):
    path = desk.put(desk.reject(verdict="kept:violation"))
    done, _ = edit(path, b'"label": 1', b'"label": 22')
    assert done.said.startswith("edited, and passed by the gate as kept:violation")
    (violation,) = desk.load(path).violations
    assert violation.found == "22"


def test_a_stream_is_edited_as_it_came(desk, edit):
    events = [{"choices": [{"index": 0, "delta": {"content": '{"label": "ok"}'}, "finish_reason": "stop"}]}]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    entry = desk.entry(response=Response(200, (("content-type", "text/event-stream"),), body.encode()))
    path = desk.put(entry)
    done, _ = edit(path, b"ok", b"fine")
    assert done.is_done, done
    assert desk.load(path).answer.choices[0].text == '{"label": "fine"}'
    assert desk.load(path).response.body == body.replace("ok", "fine").encode()


def test_a_final_line_end_of_the_editor_is_not_the_persons(desk):
    response = Response(200, (("content-type", "text/plain"), ("content-length", "5")), b"hello")
    path = desk.put(desk.entry(response=response, contract=None, answer=None, dialect=None))
    entry = desk.load(path)
    other = replace(entry, request=replace(entry.request, url="https://example.com/x"))
    path.unlink()
    path = desk.put(replace(other, key=Keyer().key(other.request)))
    read, _ = desk.read(path)
    draft = draft_of(read)
    draft.path.write_bytes(b"hello\n")
    assert edited(read, draft).said == "nothing was edited"
    draft = draft_of(read)
    draft.path.write_bytes(b"hello you\n")
    assert edited(read, draft).is_done
    now = desk.load(path).response
    assert (now.body, dict(now.headers)["content-length"]) == (b"hello you", "9")


def test_a_secret_that_is_written_in_is_scrubbed(desk, edit):
    path = desk.put(desk.entry(said={"label": "ok"}))
    done, _ = edit(path, b'"ok"', f'"{SECRET}"'.encode())
    assert done.is_done
    assert SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("text", [b"", b"{", b"[1]", b'{"$json": 1}', b"\xff", b"[" * 5000])
def test_a_draft_that_is_none_any_more_is_told(desk, text):
    path = desk.put(desk.entry())
    before = path.read_bytes()
    read, _ = desk.read(path)
    draft = draft_of(read)
    draft.path.write_bytes(text)
    done = edited(read, draft)
    assert not done.is_done
    assert "this is not what was opened" in done.said
    assert path.read_bytes() == before


def test_nothing_edited_leaves_nothing_behind(desk):
    path = desk.put(desk.entry())
    read, _ = desk.read(path)
    draft = draft_of(read)
    assert edited(read, draft).said == "nothing was edited"
    assert not draft.path.exists()
    assert desk.trash == []


def test_what_is_no_text_is_not_edited(desk):
    audio = desk.entry(response=Response(200, (), b"\xff\x00" * 9), answer=None, dialect=None, contract=None)
    path = desk.put(audio)
    assert draft_of(desk.read(path)[0]).said == "its body is no text: record it again"
    encoded = Response(200, (("content-encoding", "gzip"),), gzip.compress(b"{}"))
    desk.put(desk.entry(response=encoded, answer=None, dialect=None, contract=None))
    assert "as the provider encoded it" in draft_of(desk.read(path)[0]).said
    desk.commit()
    path.unlink()
    assert draft_of(desk.read()[0]).said == "there is no response to edit"


def test_what_was_changed_meanwhile_is_not_written_over(desk):
    path = desk.put(desk.entry(said={"label": "ok"}))
    read, _ = desk.read(path)
    draft = draft_of(read)
    draft.path.write_bytes(draft.path.read_bytes().replace(b"ok", b"mine"))
    desk.put(desk.entry(said={"label": "theirs"}))
    done = edited(read, draft)
    assert done.said == "it has changed since it was shown: look at it again"
    assert "theirs" in desk.load(path).answer.choices[0].text
    assert draft.path.exists()


def test_an_answer_whose_contract_cannot_be_read_is_not_judged_by_nobody(desk, edit):
    entry = desk.entry(said={"label": "ok"})
    path = desk.put(replace(entry, contract=replace(entry.contract, name="other", schema="0" * 64)))
    done, _ = edit(path, b'"ok"', b'"fine"')
    assert done.said.startswith("its contract cannot be read here, so nothing would judge it: try --import")


def test_what_its_caller_left_early_is_as_long_as_it_is(desk, edit):
    left = replace(desk.entry(), contract=None, answer=None, dialect=None, verdict="left:5")
    body = b'data: {"choices": []}\n\n'
    response = Response(200, (("content-type", "text/event-stream"),), body, cut=Cut.LEFT)
    path = desk.put(replace(left, response=response, verdict=f"left:{len(body)}"))
    done, _ = edit(path, b"[]", b"[ ]")
    assert done.is_done, done
    assert desk.load(path).verdict == f"left:{len(body) + 1}"
