"""Every fault of one entry is found in a real, recorded one that was changed at one place."""

from __future__ import annotations

import re

import pytest


def torn(folder, path):
    path.write_bytes(path.read_bytes()[:-40])


def merged(folder, path):
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:3], "<<<<<<< HEAD", *lines[3:]]), encoding="utf-8")


def reworded(folder, path):
    folder.edit(path, "Sort this", "Sort that")


BROKEN = {
    "torn": (torn, "unreadable entry: torn"),
    "merged": (merged, "unreadable entry: merge conflict markers (line 4)"),
    "emptied": (lambda folder, path: path.write_bytes(b""), "unreadable entry: torn"),
    "of a newer version": (
        lambda folder, path: folder.edit(path, '"onetake": 1', '"onetake": 99'),
        "unreadable entry: written by a newer onetake (format 99",
    ),
    "of a newer recipe": (
        lambda folder, path: folder.edit(path, '"recipe": "k1"', '"recipe": "k9"'),
        "keyed under recipe 'k9', scrubbed under 's1': a newer onetake wrote it",
    ),
    "of an unknown rule": (
        lambda folder, path: folder.edit(path, '"scrub": "s1"', '"scrub": "s1", "rules": {"fold": ["$.a"]}'),
        "key rule 'fold' is unknown",
    ),
    "another question": (reworded, "its request does not give the stored key; it gives "),
    "another answer": (
        lambda folder, path: path.write_text(path.read_text().replace('"label": "bug"', '"label": "cat"', 1)),
        "its answer is not what openai-chat/1 reads in its response",
    ),
    "no verdict": (
        lambda folder, path: folder.edit(path, '"good"', '"splendid"'),
        "the gate gives no verdict 'splendid'",
    ),
    "good, and more": (
        lambda folder, path: folder.edit(path, '"good"', '"good:"'),
        "the gate gives no verdict 'good:'",
    ),
    "left, by its verdict alone": (
        lambda folder, path: folder.edit(path, '"good"', '"left:99999"'),
        "the gate gives no verdict 'left:99999'",
    ),
    "kept for nothing": (
        lambda folder, path: folder.edit(path, '"good"', '"kept:nonsense"'),
        "the gate gives no verdict 'kept:nonsense'",
    ),
    "kept for no status": (
        lambda folder, path: folder.edit(path, '"good"', '"kept:status:abc"'),
        "the gate gives no verdict 'kept:status:abc'",
    ),
    "an answer without its dialect": (
        lambda folder, path: folder.edit(path, '  "dialect": "openai-chat/1",\n', ""),
        "it has an answer and names no dialect that read it",
    ),
    "a dialect without its answer": (
        lambda folder, path: folder.without(path, "answer"),
        "its answer is not what openai-chat/1 reads in its response",
    ),
    "neither dialect nor answer": (
        lambda folder, path: folder.without(path, "answer", "dialect"),
        "its answer is gone: openai-chat/1 reads one in its response",
    ),
    "a reject": (
        lambda folder, path: folder.edit(path, '"good"', '"reject:cut"'),
        "its verdict is 'reject:cut': a refused answer",
    ),
    "an error": (
        lambda folder, path: folder.edit(path, '"status": 200', '"status": 429'),
        "its verdict is good, and the gate says",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_entry_is_named_and_the_others_are_still_checked(folder, answer, name):
    change, said = BROKEN[name]
    first, _ = sorted(
        folder.record(("Sort this", answer), ("two", answer)), key=lambda p: "Sort this" not in p.read_text()
    )
    change(folder, first)
    (found,) = folder.findings()
    assert (found.code, found.severity, found.path) == ("broken", "error", first)
    assert found.message.startswith(said)
    assert found.mend


@pytest.mark.parametrize(
    ("name", "line"), [("merged", "<<<<<<<"), ("another question", '"key"'), ("a reject", '"verdict"')]
)
def test_a_finding_says_the_line(folder, name, line):
    (path,) = folder.record()
    BROKEN[name][0](folder, path)
    (found,) = folder.findings()
    assert found.line == folder.line_of(path, line) > 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("chat-gpt-5-0123456789abcdef.json", "misnamed"),
        ("chat-gpt-5-{hex}-1.json", "misnamed"),
        ("greeting.json", "misnamed"),
        ("greeting-{hex}.json", "decoration"),
    ],
)
def test_a_file_of_a_wrong_name_is_noticed_and_told_the_right_one(folder, name, code):
    (path,) = folder.record()
    path.rename(path.with_name(name.format(hex=re.search("[0-9a-f]{16}", path.name)[0])))
    (found,) = folder.findings()
    assert found.code == code
    assert found.mend == f"rename it to {path.name}"
    found.path.rename(found.path.with_name(path.name))
    assert folder.codes() == []


def test_an_answer_of_a_dialect_that_is_not_installed_cannot_be_verified(folder):
    (path,) = folder.record()
    folder.edit(path, '"openai-chat/1"', '"own-chat/3"')
    (found,) = folder.findings()
    assert (found.code, found.severity, found.line) == ("unchecked", "warning", folder.line_of(path, '"dialect"'))
    assert "'own-chat/3'" in found.message


def test_an_answer_in_a_coding_that_is_not_installed_cannot_be_verified(folder):
    (path,) = folder.record(contract=None)
    text = path.read_text()
    at = text.index('"headers": [', text.index('"response"')) + len('"headers": [')
    path.write_text(text[:at] + '["content-encoding", "snappy"], ' + text[at:])
    assert folder.codes() == ["unchecked"]


def test_an_entry_of_which_nothing_says_that_its_api_was_known_has_lost_no_answer(folder):
    (path,) = folder.record(contract=None)
    folder.without(path, "answer", "dialect")
    assert folder.codes() == ["broken"]
    folder.rewrite(path, model_asked=None)
    assert folder.codes() == []
