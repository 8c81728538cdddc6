from __future__ import annotations

import json

import pytest

HOSTILE = "\x1b[31mred\x1b]0;title\x07\u202e"


def test_every_entry_is_listed_with_what_is_on_disk(run, store, make_entry, project):
    first, second = make_entry("one"), make_entry("two", ordinal=1, verdict="kept:length", model="gpt-4o")
    one, two = store(first, second)
    code, out, err = run("list", "--json")
    assert (code, err) == (0, "")
    (cassette,) = json.loads(out)["cassettes"]
    assert cassette["path"] == "cassettes/a"
    assert cassette["unreadable"] == []
    rows = {row["path"]: row for row in cassette["entries"]}
    assert rows.keys() == {f"cassettes/a/{path.name}" for path in (one, two)}
    row = rows[f"cassettes/a/{two.name}"]
    assert row == {
        "path": f"cassettes/a/{two.name}",
        "key": second.key,
        "ordinal": 1,
        "verdict": "kept:length",
        "contract": {"name": "triage", "schema_version": 2},
        "unjudged": False,
        "dialect": "openai-chat/1",
        "operation": "chat",
        "model_asked": "gpt-4o",
        "model_served": None,
        "recorded_at": "2026-03-01T10:00:00Z",
        "commit": None,
        "test": "tests/test_a.py::test_b",
        "vouched": None,
        "size": two.stat().st_size,
    }


def test_plain_output_has_one_line_an_entry_with_whole_names_in_it(run, store, make_entry):
    long = "tests/very/" + "long/" * 40 + "test.py::test_x"
    entry = make_entry(provenance={"recorded_at": "2026-03-01T10:00:00Z", "test": long, "model_asked": "gpt-5"})
    store(entry, make_entry("two", contract=None, unjudged=True), make_entry("three", contract=None))
    code, out, _ = run("list")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "cassettes/a  (3 entries)"
    assert lines[1].split() == ["key", "call", "verdict", "contract", "recorded", "size", "test"]
    (line,) = [line for line in lines if line.startswith(entry.key[:16])]
    assert "chat gpt-5" in line
    assert "triage v2" in line
    assert "2026-03-01 10:00:00" in line
    assert line.endswith(long)
    assert sum("unjudged" in line for line in lines) == 1
    assert "\x1b" not in out


def test_an_unreadable_entry_is_named_and_the_others_are_listed(run, store, make_entry):
    good, torn = store(make_entry("one"), make_entry("two"))
    torn.write_bytes(torn.read_bytes()[:200])
    code, out, _ = run("list", "--json")
    (cassette,) = json.loads(out)["cassettes"]
    assert code == 0
    assert [row["path"] for row in cassette["entries"]] == [f"cassettes/a/{good.name}"]
    assert [row["path"] for row in cassette["unreadable"]] == [f"cassettes/a/{torn.name}"]
    assert "torn" in cassette["unreadable"][0]["why"]
    _, out, _ = run("list")
    assert "(1 entry, 1 unreadable)" in out
    assert f"unreadable: cassettes/a/{torn.name}: torn" in out


def test_several_cassettes_are_counted_together(run, store, make_entry):
    store(make_entry("one"))
    store(make_entry("two"), make_entry("three"), folder="cassettes/b b")
    _, out, _ = run("list")
    assert "cassettes/b b  (2 entries)" in out
    assert out.splitlines()[-1] == "2 cassettes, 3 entries"


@pytest.mark.parametrize("path", ["cassettes/b b", "cassettes\\b b", "./cassettes/../cassettes/b b"])
def test_a_path_is_taken_with_spaces_and_backslashes(run, store, make_entry, path):
    store(make_entry("one"))
    (file,) = store(make_entry("two"), folder="cassettes/b b")
    code, out, _ = run("list", path, "--json")
    assert code == 0
    (cassette,) = json.loads(out)["cassettes"]
    assert [row["path"].rpartition("/")[2] for row in cassette["entries"]] == [file.name]


def test_the_settings_folder_is_listed_from_below_it(run, store, make_entry, project, monkeypatch):
    (file,) = store(make_entry())
    (project / "sub").mkdir()
    monkeypatch.chdir(project / "sub")
    _, out, _ = run("list", "--json")
    (cassette,) = json.loads(out)["cassettes"]
    assert cassette["path"] == file.parent.as_posix()


def test_rejects_are_listed_where_they_are_asked_for(run, store, make_entry):
    store(make_entry(verdict="reject:length"), folder=".onetake/rejects/a")
    assert run("list")[1] == "no cassettes under .\n"
    assert "reject:length" in run("list", ".onetake/rejects")[1]


def test_an_empty_project_has_none(run, project):
    assert run("list") == (0, "no cassettes under .\n", "")
    assert json.loads(run("list", "--json")[1]) == {"cassettes": []}


@pytest.mark.parametrize("path", ["gone", "onetake.toml"])
def test_what_is_no_folder_is_a_usage_error(run, project, path):
    code, out, err = run("list", path)
    assert (code, out) == (2, "")
    assert path in err
    assert err.count("\n") == 1


def test_hostile_text_is_made_printable(run, store, make_entry):
    store(make_entry(provenance={"test": HOSTILE, "recorded_at": HOSTILE, "model_asked": HOSTILE}))
    _, out, _ = run("list")
    assert not set(out) & set("\x1b\x07\u202e")
    assert "red" in out
    _, out, _ = run("list", "--json")
    assert out.isascii()
    assert json.loads(out)["cassettes"][0]["entries"][0]["test"] == HOSTILE


def test_settings_that_are_wrong_are_a_usage_error(run, project):
    (project / "onetake.toml").write_text("moed = 'none'")
    code, _, err = run("list")
    assert code == 2
    assert "mode" in err
    assert err.count("\n") == 1


def test_entries_are_in_the_order_of_their_call_and_ordinal(run, store, make_entry):
    asked = [("b", 10), ("b", 0), ("b", 2), ("a", 0)]
    entries = [make_entry("hi", ordinal=ordinal, model=model) for model, ordinal in asked]
    store(*entries)
    lines = run("list")[1].splitlines()[2:6]
    assert [line.split()[2] for line in lines] == ["a", "b", "b", "b"]
    assert [line.split()[0][16:] for line in lines] == ["", "", "-2", "-10"]


def test_the_test_is_not_told_again_where_the_folder_says_it(run, store, make_entry):
    def of(test):
        return make_entry(provenance={"test": test, "model_asked": "gpt-5"})

    store(of("tests/test_a.py::TestIt::test_b[x:y]"), folder="tests/cassettes/" + "test_a/TestIt.test_b[x_y]~7373ad6a")
    store(of("tests/test_a.py::test_c"), folder="tests/cassettes/test_a/test_c")
    store(of("tests/test_a.py::test_d"), folder="shared/test_c")
    assert [line.split()[-1] for line in run("list")[1].splitlines() if line.startswith("key")] == [
        "test",
        "size",
        "size",
    ]
