"""One advice for every entry, drawn from what the check finds."""

from __future__ import annotations

import pytest

from onetake.errors import StoreError, UsageError
from onetake.upkeep.advising import Advice
from onetake.upkeep.checking import examine
from onetake.upkeep.statuses import status

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3
NONE = dict.fromkeys((advice.value for advice in Advice), 0)


def advices(folder):
    return {one.path.name: one.advice.value for one in status(folder.root).entries}


def test_an_entry_that_replays_needs_nothing(folder):
    (path,) = folder.record()
    found = status(folder.root)
    (one,) = found.entries
    assert (one.path, one.key, one.ordinal) == (path, folder.load(path).key, 0)
    assert (one.advice, one.reason, one.command, one.size) == ("replay", "", "", path.stat().st_size)
    assert found.counts == {**NONE, "replay": 1}


def test_each_entry_has_the_advice_of_what_is_found(folder, answer):
    calls = [(word, answer) for word in ("fine", "torn", "secret", "breaks", "bumped", "old")]
    names = {}
    for path in folder.record(*calls):
        asked = folder.load(path).request.body.decode()
        names[next(word for word, _ in calls if f'"{word}"' in asked)] = path
    names["torn"].write_bytes(names["torn"].read_bytes()[:200])
    folder.edit(names["secret"], '"recorder"', f'"note": "{SECRET}",\n    "recorder"')
    folder.edit_answer(names["breaks"], '{"label": "bug", "tags": ["a", "b"]}', '{"label": 7, "tags": []}')
    folder.edit(names["bumped"], '"schema_version": 1', '"schema_version": 2')
    folder.settings(top="probe_after = 90")
    folder.rewrite(names["old"], recorded_at="2020-01-01T00:00:00Z")
    expected = {"fine": "replay", "torn": "broken", "secret": "secret", "breaks": "breaks-contract"}
    expected |= {"bumped": "schema-bumped", "old": "probe-first"}
    assert advices(folder) == {names[word].name: advice for word, advice in expected.items()}
    assert status(folder.root).counts == {**NONE, **dict.fromkeys(expected.values(), 1)}


def test_status_and_check_say_the_same(folder, answer):
    a, b, c = folder.record(("a", answer), ("b", answer), ("c", answer))
    folder.edit_answer(a, '{"label": "bug", "tags": ["a", "b"]}', '{"label": 7, "tags": []}')
    b.rename(b.with_name(f"{'0' * 16}.json"))
    folder.rewrite(c, recorded_at="2020-01-01T00:00:00Z")
    folder.settings(top="probe_after = 90")
    found = folder.findings()
    for one in status(folder.root).entries:
        own = [each for each in found if each.path == one.path]
        assert list(one.findings) == own
        assert (one.reason, one.mend) in [(each.message, each.mend) for each in own]


def test_a_watched_file_that_is_gone_leaves_every_entry_its_advice(folder):
    (folder.root / "parse.py").write_text("x = 1\n")
    folder.settings('watch = ["parse.py"]')
    (judged,) = folder.record()
    (unjudged,) = folder.record(contract=None, folder="cassettes/other")
    (folder.root / "parse.py").unlink()
    found = {one.path: one for one in status(folder.root).entries}
    assert (found[unjudged].advice, found[unjudged].reason) == ("replay", "")
    assert found[judged].advice == "predates-parser"
    assert "contract 'items' watches 'parse.py', and there is no such file" in found[judged].reason
    assert (found[judged].mend, found[judged].command) == (
        "put the file back where it can be read, or mend `watch` of the contract",
        "",
    )


def test_a_file_that_no_replay_finds_is_broken(folder, answer):
    path, _ = folder.record(("a", answer), ("b", answer))
    path.rename(path.with_name(f"chat-gpt-5-{'0' * 16}.json"))
    one = next(one for one in status(folder.root).entries if one.path.name.endswith(f"{'0' * 16}.json"))
    assert (one.advice, one.findings[0].code) == ("broken", "misnamed")


def test_one_that_cannot_be_read_is_named_by_what_its_file_says(folder):
    (path,) = folder.record()
    key = folder.load(path).key
    path.write_bytes(b"<<<<<<< HEAD\n")
    (one,) = status(folder.root).entries
    assert (one.advice, one.key, one.ordinal) == ("broken", key[:16], 0)


def test_a_warning_is_the_reason_of_what_replays(folder):
    (path,) = folder.record()
    path.rename(path.with_name(path.name.replace("gpt-5", "other")))
    (one,) = status(folder.root).entries
    assert (one.advice, one.findings[0].code) == ("replay", "decoration")
    assert one.reason and one.mend.startswith("rename it to ")
    assert one.command == "", "that is no command"


def test_what_is_found_of_a_cassette_as_a_whole_belongs_to_its_entry(folder, answer):
    folder.record(("x", answer), ("x", '{"label": "ok", "tags": []}'))
    first, second = sorted((folder.root / "cassettes/test_a/test_b").glob("*.json"), key=lambda path: len(path.name))
    first.unlink()
    (one,) = status(folder.root).entries
    assert (one.path, one.advice, one.findings[0].code) == (second, "replay", "missing-answer")


def test_nothing_is_no_error_and_a_wrong_folder_is_one(folder, tmp_path):
    assert status(folder.root).counts == NONE
    with pytest.raises(StoreError):
        status(tmp_path / "absent")
    (tmp_path / "onetake.toml").write_text("mod = 1")
    with pytest.raises(UsageError):
        status(tmp_path)


def test_examine_gives_each_file_with_what_is_found_of_it_alone(folder, answer):
    good, torn = folder.record(("a", answer), ("b", answer))
    torn.write_bytes(b"{")
    found = {one.path: one for one in examine(folder.root)}
    assert [one.code for one in found[torn].findings] == ["broken"] and found[torn].entry is None
    assert (found[good].findings, found[good].size) == ((), good.stat().st_size)
    assert found[good].entry == folder.load(good)
    assert found[good].folder == good.parent and found[good].project.settings.root == folder.root


def test_examine_reads_one_file_after_the_other(folder, answer):
    folder.record(("a", answer), ("b", answer))
    examined = examine(folder.root)
    first = next(examined)
    second = next(path for path in first.path.parent.glob("*.json") if path != first.path)
    second.unlink()
    assert [one.entry for one in examined] == [None]


def test_another_model_is_known_by_what_lies_in_the_folder_and_below(folder, answer):
    for name, day in (("a", "01"), ("b", "02")):
        (path,) = folder.record((name, answer), folder=f"cassettes/{name}", test=f"t.py::{name}")
        folder.rewrite(path, recorded_at=f"2026-01-{day}T00:00:00Z", model_asked="m", model_served=f"m-{day}")
    assert sorted(advices(folder).values()) == ["probe-first", "replay"]
    assert [one.advice.value for one in status(folder.root / "cassettes/a").entries] == ["replay"]
