"""A store that is one file (`.db`) is a cassette for every command that names one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from onetake.cassette import Cassette
from onetake.contract import Contract
from onetake.settings import load_settings
from onetake.stores.sqlite import SqliteStore


@pytest.fixture
def entries(project, make_entry):
    """Two entries in `calls.db`, of an answer that no contract judged."""
    made = [make_entry(text, said=f"say {text}", contract=None) for text in ("one", "two")]
    with closing(SqliteStore(project / "calls.db")) as store:
        cassette = Cassette(store)
        assert all(map(cassette.add, made))
    return made


@pytest.fixture
def path(entries):
    """What the first entry is called."""
    return f"calls.db/chat-gpt-5-{entries[0].key[:16]}.json"


@pytest.mark.parametrize("where", [[], ["calls.db"], ["."]], ids=["project", "file", "folder"])
def test_it_is_listed(run, entries, path, where):
    code, out, _ = run("list", *where, "--json")
    (cassette,) = json.loads(out)["cassettes"]
    assert (code, cassette["path"], cassette["unreadable"]) == (0, "calls.db", [])
    assert {row["key"]: row["path"] for row in cassette["entries"]}[entries[0].key] == path
    assert all(row["size"] > 100 for row in cassette["entries"])


@pytest.mark.parametrize("where", [[], ["calls.db"]], ids=["project", "file"])
def test_its_entries_are_checked_and_advised(run, entries, where):
    found = json.loads(run("check", *where, "--json")[1])
    assert (found["cassettes"], found["entries"], found["failed"]) == (1, 2, False)
    assert json.loads(run("status", *where, "--json")[1])["counts"]["replay"] == 2


def test_what_is_damaged_in_it_is_a_finding_with_the_command_that_mends_it(run, entries, path):
    with closing(sqlite3.connect("calls.db")) as file:
        file.execute("UPDATE entry SET body = zeroblob(9) WHERE id = 1")
        file.commit()
    code, out, _ = run("check")
    assert code == 1
    assert f"{path}\n  error: broken, line 1\n    unreadable entry: damaged: " in out
    assert "mend: onetake store fsck calls.db --repair" in out
    assert "2 entries: 1 replay, 1 broken" in run("status")[1]
    assert f"unreadable: {path}: damaged: " in run("list")[1]
    assert run("store", "fsck", "calls.db", "--repair")[0] == 0
    assert "1 entry checked: 0 errors" in run("check")[1]


def test_one_that_cannot_be_read_at_all_is_never_silent(run, entries, project):
    data = (project / "calls.db").read_bytes()
    (project / "calls.db").write_bytes(b"\xff" * 16 + data[16:])
    code, out, _ = run("check")
    assert (code, "mend: onetake store fsck calls.db\n" in out) == (1, True)
    assert "1 entry: 1 broken" in run("status")[1]
    assert "calls.db  (0 entries, 1 unreadable)" in run("list")[1]
    code, _, error = run("check", "calls.db")
    assert (code, "calls.db: cannot be read: file is not a database" in error) == (5, True)


def test_an_entry_of_it_is_shown_by_path_and_by_key_and_compared(run, entries, path):
    by_path, by_key = run("show", path), run("show", entries[0].key[:12])
    assert by_path == by_key
    assert by_path[1].startswith(f"{path}\n")
    assert "say one" in by_path[1]
    code, out, _ = run("diff", path, entries[1].key[:12])
    assert (code, "say two" in out) == (1, True)
    code, _, error = run("show", "calls.db")
    assert (code, "calls.db is a store of many entries, not an entry" in error) == (2, True)
    code, _, error = run("show", "calls.db/nothing.json")
    assert (code, "no entry calls.db/nothing.json" in error) == (2, True)


def test_an_entry_of_it_is_pinned_and_unpinned(run, entries, path):
    assert run("pin", path, "--reason", "the demo shows it")[:2] == (0, f"pinned: {path}\n")
    assert "the demo shows it" in run("show", path)[1]
    assert run("pin", path, "--remove")[:2] == (0, f"not pinned: {path}\n")
    assert "the demo shows it" not in run("show", path)[1]
    assert "2 entries checked: 0 errors, 0 warnings" in run("check")[1]


def test_an_entry_of_it_is_vouched_for(run, project, make_entry):
    (project / "app.py").write_bytes(b"x = 1\n")
    (project / "s.json").write_bytes(b'{"type": "string"}')
    (project / "onetake.toml").write_bytes(b'[contracts.c]\nschema = "s.json"\nwatch = ["app.py"]\n')
    declared = load_settings(project).contracts["c"]
    contract = Contract(project / "s.json", name="c", watch=declared.watch)
    with closing(SqliteStore(project / "calls.db")) as store:
        entry = make_entry("one", said='"say"', contract=contract.ref(project))
        assert Cassette(store).add(entry)
    (project / "app.py").write_bytes(b"x = 2\n")
    code, out, error = run("vouch", entry.key[:12], "--reason", "looked at it")
    assert (code, error, out.startswith("vouched for: calls.db/")) == (0, "", True)
    assert "looked at it" in run("show", entry.key[:12])[1]


@pytest.mark.parametrize(
    ("command", "way"), [("prune", "`onetake store prune calls.db` is for such a store; else "), ("rekey", "")]
)
def test_what_changes_files_refuses_with_the_way_round(run, entries, command, way):
    code, _, error = run(command, "calls.db")
    assert code == 2
    unpack = "`onetake store unpack calls.db FOLDER` makes a folder of it"
    assert f"calls.db: is a store in one file, and this changes files: {way}{unpack}" in error


def test_what_would_go_of_it_is_left_with_the_way_round(run, entries, path):
    code, out, _ = run("prune", "--older-than", "1d", "--yes", "--json")
    found = json.loads(out)
    assert (code, found["files"], len(found["left"])) == (0, [], 2)
    assert path in {one["path"] for one in found["left"]}
    assert "`onetake store unpack calls.db FOLDER`" in found["left"][0]["why"]


def test_other_rules_are_said_of_it_and_no_key_is_moved(run, entries, project):
    (project / "onetake.toml").write_bytes(b'[key]\nignore = ["$.model"]\n')
    code, out, _ = run("rekey", "--yes")
    assert (code, "onetake store unpack calls.db" in out) == (1, True)
    with closing(SqliteStore(project / "calls.db")) as store:
        assert {key for key, _ in store.names()} == {one.key[:16] for one in entries}


def test_what_is_another_programs_database_is_left_alone(run, project):
    with closing(sqlite3.connect(project / "app.db")) as file:
        file.execute("CREATE TABLE users (id INTEGER)")
        file.commit()
    assert run("list")[1] == "no cassettes under .\n"
    assert run("check")[:2] == (0, "0 entries checked: 0 errors, 0 warnings\n")
    code, _, error = run("check", "app.db")
    assert (code, "app.db: is a file: name its folder" in error) == (2, True)
