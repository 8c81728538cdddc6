from __future__ import annotations

from dataclasses import replace

import pytest

from onetake.format import dump_entry
from onetake.model import KeySpec

SECRET = "sk-proj-" + "Ab3dEf6hIj" * 5


def test_an_entry_is_compared_with_what_git_has(desk):
    path = desk.put(desk.entry(said={"label": "old"}))
    desk.commit()
    desk.put(desk.entry(said={"label": "new"}))
    read, _ = desk.read()
    assert (read.against, read.why, read.findings) == ("HEAD", "", ())
    assert [one.answer.choices[0].text for one in (read.old, read.entry)] == ['{"label": "old"}', '{"label": "new"}']
    assert (read.data, read.stored) == (path.read_bytes(), desk.load(path))


def test_a_new_one_is_compared_with_the_gone_one_that_is_most_like_it(desk):
    near, far = desk.put(desk.entry("Say the tags of this line.")), desk.put(desk.entry("Something else altogether?"))
    desk.commit()
    near.unlink()
    far.unlink()
    new = desk.put(desk.entry("Say the tags of that line."))
    read, _ = desk.read(new)
    assert read.against == f"{near.name}, which is gone"
    gone, _ = desk.read(near)
    assert (gone.entry.request.body, gone.old, gone.stored) == (read.old.request.body, None, None)


def test_another_port_of_the_same_provider_is_told_by_the_rules_for_origins(desk):
    near = desk.entry("Say the tags of this line.")
    moved = desk.entry("Say the tags of that line.")
    old = desk.put(replace(near, request=replace(near.request, url="http://127.0.0.1:4000/v1/chat/completions")))
    desk.commit()
    old.unlink()
    new = desk.put(replace(moved, request=replace(moved.request, url="http://127.0.0.1:5000/v1/chat/completions")))
    assert desk.read(new)[0].against == ""
    with (desk.root / "onetake.toml").open("a", encoding="utf-8") as file:
        file.write('[key.origins]\n"http://127.0.0.1:*" = "local"\n')
    assert desk.read(new)[0].against == f"{old.name}, which is gone"


def test_what_lies_aside_is_compared_with_the_entry_in_its_place(desk):
    stored = desk.put(desk.entry("one", {"label": "stored"}))
    desk.commit()
    waits = desk.aside("pending", desk.entry("one", {"label": "waits"}))
    read, _ = desk.read(waits)
    assert read.against == "the entry that the cassette has"
    assert read.old.answer.choices[0].text == '{"label": "stored"}'
    edited = desk.aside("rejects", desk.reject("one, edited"))
    assert desk.read(edited)[0].against == f"{stored.name}, the entry most like it"
    alone = desk.aside("rejects", desk.reject("Quite another question " * 9))
    read, _ = desk.read(alone)
    assert (read.against, read.old) == ("", None)


def test_what_the_check_says_is_told_of_entries_and_not_of_rejects(desk):
    bad = desk.put(desk.entry(said={"label": 1}))
    (found,) = (read := desk.read(bad)[0]).findings
    assert found.code.value == "breaks-contract"
    assert read.errors == (found,)
    refused = desk.aside("rejects", desk.reject())
    assert desk.read(refused)[0].findings == ()


def test_an_answer_that_is_not_that_of_the_response_is_told(desk):
    entry = desk.entry()
    path = desk.put(replace(entry, answer=desk.entry(said={"label": "forged"}).answer))
    assert [one.code.value for one in desk.read(path)[0].errors] == ["broken"]


def test_sidecars_are_read_where_git_has_them(desk):
    body = bytes(range(256)) * 20
    audio = replace(desk.entry(), answer=None, dialect=None, contract=None)
    path = desk.put(replace(audio, response=replace(audio.response, body=body, headers=())))
    desk.commit()
    for side in (path.parent / "_raw").iterdir():
        side.unlink()
    path.unlink()
    read, _ = desk.read()
    assert read.entry.response.body == body


HOSTILE = {
    "pattern": {"key_spec": KeySpec("k1", "s1", {"replace": [{"pattern": "(", "with": ""}]})},
    "rules": {"key_spec": KeySpec("k1", "s1", {"ignore": 3})},
    "recipe": {"key_spec": KeySpec("k99", "s1")},
    "verdict": {"verdict": "\x1b[2Jgood"},
    "dialect": {"dialect": "no-such/1"},
    "provenance": {"provenance": {"test": {"a": 1}, "vouched": 3, "adopted": [], "imported_from": 1}},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_others_wrote_into_an_entry_stops_nothing(desk, kind):
    path = desk.put(desk.entry())
    path.write_bytes(dump_entry(replace(desk.entry(), **HOSTILE[kind]))[0])
    read, _ = desk.read(path)
    assert read.why or read.entry is not None
    assert SECRET not in read.why


@pytest.mark.parametrize("data", [b"", b"{", b"\xff" * 50, b'{"onetake": 1, "x": ' + b"[" * 60_000])
def test_what_cannot_be_read_says_why(desk, data):
    path = desk.put(desk.entry())
    desk.commit()
    path.write_bytes(data)
    read, _ = desk.read(path)
    assert read.why
    assert (read.entry, read.data) == (None, data)


def test_why_it_cannot_be_read_holds_no_secret(desk):
    path = desk.put(desk.entry())
    path.write_bytes(f'{{"onetake": 1, "verdict": "{SECRET}", "{SECRET}": 1}}'.encode())
    assert SECRET not in desk.read(path)[0].why


def test_an_entry_that_git_has_damaged_is_compared_with_nothing_and_says_so(desk):
    path = desk.put(desk.entry())
    good = path.read_bytes()
    path.write_bytes(b"{")
    desk.commit()
    path.write_bytes(good)
    read, _ = desk.read(path)
    assert read.old is None
    assert read.against.startswith("HEAD (unreadable there: ")
