"""What is wrong with a whole cassette."""

from __future__ import annotations

import json
import shutil

import pytest

from onetake.upkeep.checking import check


def test_another_json_file_in_a_cassette_is_nobodys_business(folder):
    (path,) = folder.record()
    path.with_name("notes.json").write_text('{"text": "onetake"}')
    assert folder.codes() == []


def test_two_files_of_one_key_and_ordinal(folder):
    (path,) = folder.record()
    shutil.copy(path, path.with_name(f"zebra-{path.name}"))
    twin = f"cassettes/test_a/test_b/zebra-{path.name}"
    read = f"{path.name} has the same key and ordinal in its name, and is read in the place of this one"
    other = "its name has another decoration than an entry of this request has"
    assert folder.check() == [("duplicate", twin, read), ("decoration", twin, other)]


def test_kept_answers_are_listed(folder, direct):
    (path,) = folder.record(("x", direct.said("no JSON")), keep=["violation"])
    (found,) = folder.findings()
    assert (found.code, found.severity, found.path) == ("kept", "info", path)
    assert "kept:violation" in found.message


@pytest.mark.parametrize(
    ("repeats", "test", "severity"),
    [("", "", "info"), ("", "t.py::test", None), ("sequence", "", None), ("same", "t.py::test", "warning")],
)
def test_differing_answers_to_one_request(folder, answer, repeats, test, severity):
    other = json.dumps({"label": "wish", "tags": []})
    folder.record(("x", answer), ("x", other), ("y", answer), ("y", answer), test=test)
    folder.settings(top=f'repeats = "{repeats}"' if repeats else "")
    found = folder.findings()
    assert [(one.code, one.severity) for one in found] == ([("differing-answers", severity)] if severity else [])


def test_an_answer_that_is_missing_before_another_is_found_and_recorded_again_by_its_test(folder, answer):
    first, second, third = folder.record(("x", answer), ("x", answer), ("x", answer), test="t.py::test")
    first.unlink()
    (found,) = folder.findings()
    assert (found.code, found.severity, found.path) == ("missing-answer", "warning", second)
    assert found.message.startswith("answer number 0 to this request is missing, and this is number 1: ")
    assert found.mend.endswith("; or record it: pytest --record-mode=new_episodes t.py::test")
    second.write_bytes(b"")
    assert folder.codes() == ["broken", "missing-answer"]
    second.unlink(), third.rename(first)
    assert "missing-answer" not in folder.codes()


def test_the_findings_of_one_file_are_together(folder, answer):
    paths = folder.record(("x", answer), ("x", '{"label": "wish", "tags": []}'))
    for path in paths:
        folder.edit(path, '"good"', '"kept:length"')
    folder.settings(top='repeats = "same"')
    told = [(one.code, one.path) for one in folder.findings()]
    first, second = paths
    assert set(told) == {("differing-answers", first), ("kept", first), ("kept", second)}
    assert [path for _, path in told] in ([first, first, second], [second, first, first])


def test_sidecars_that_are_damaged_missing_or_named_by_nobody(folder, streamed):
    (path,) = folder.record(streamed)
    assert folder.codes() == []
    (raw,) = (path.parent / "_raw").iterdir()
    (schema,) = (path.parent / "_schemas").iterdir()
    whole, text = raw.read_bytes(), schema.read_text()
    raw.write_bytes(whole + b"x")
    assert folder.codes() == ["broken"]
    raw.rename(raw.with_name(f"{'0' * 64}.sse"))
    (found,) = folder.findings()
    assert (found.code, found.path) == ("broken", path)
    assert f"the sidecar _raw/{raw.name} is missing" in found.message
    raw.write_bytes(whole)
    unused = f"cassettes/test_a/test_b/_raw/{'0' * 64}.sse"
    assert folder.check() == [("unused-sidecar", unused, "no entry of this cassette names it")]
    (folder.root / unused).unlink()
    schema.write_text(text.replace('"string"', '"number"', 1))
    assert [one[:2] for one in folder.check()] == [("broken", f"cassettes/test_a/test_b/_schemas/{schema.name}")]


def test_copies_with_crlf_load_and_are_clean(folder, streamed, answer):
    folder.record(streamed, ("one", answer))
    for path in (folder.root / "cassettes").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert folder.codes() == []


def test_each_cassette_counts_under_the_settings_nearest_to_it(folder):
    sub = folder.root / "sub"
    sub.mkdir()
    (path,) = folder.record(folder="sub/cassettes/a")
    (sub / "onetake.toml").write_text('[contracts.items]\nschema = "own.json"\nschema_version = 3\n')
    shutil.copy(folder.root / "items.json", sub / "own.json")
    assert [one[:2] for one in folder.check()] == [("schema-bumped", path.relative_to(folder.root).as_posix())]
    assert [one.code for one in check(sub).findings] == ["schema-bumped"]
