"""A store that is one file (`.db`) is a cassette for every command that names one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

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
    assert (code, "file is not a database" in error) == (5, True)


def test_one_that_was_destroyed_is_not_absent(run, entries, project):
    (project / ".onetake" / "using").mkdir(parents=True, exist_ok=True)
    (project / ".onetake" / "using" / "calls.db.lock").touch()
    (project / "calls.db").write_bytes(b"garbage" * 1000)
    assert run("check", "--strict")[0] == 1
    assert "1 entry: 1 broken" in run("status")[1]
    assert "calls.db  (0 entries, 1 unreadable)" in run("list")[1]


HOSTILE = {
    "a label that leads away": "UPDATE entry SET label = '../../x' WHERE id = 1",
    "a label of bytes": "UPDATE entry SET label = x'00ff' WHERE id = 1",
    "a label that is no UTF-8": "UPDATE entry SET label = CAST(x'6100ff' AS TEXT) WHERE id = 1",
    "a name that leads away": "INSERT INTO side VALUES ('../../../escaped.py', 0, x'00', x'00')",
    "a name of bytes": "INSERT INTO side VALUES (x'00ff', 0, x'00', x'00')",
}


@pytest.mark.parametrize("sql", HOSTILE.values(), ids=HOSTILE)
def test_what_somebody_else_wrote_into_it_is_found_and_hides_nothing(run, entries, project, sql):
    written(project / "calls.db", sql)
    code, out, _ = run("check")
    assert (code, "row 1 of its" in out, "2 entries checked: 1 error" in out) == (1, True, True)
    assert "calls.db  (2 entries)" in run("list")[1]
    assert "2 entries: 2 replay" in run("status")[1]
    assert run("store", "stats", "calls.db")[0] == 0
    assert run("store", "fsck", "calls.db")[0] == 5
    assert run("store", "fsck", "calls.db", "--repair")[0] == 0
    assert run("store", "unpack", "calls.db", "as-files")[0] == 0
    assert "2 entries checked: 0 errors" in run("check", "calls.db")[1]
    assert not list(project.parent.rglob("escaped*"))


@pytest.mark.parametrize("body", ["'text'", "10000000000000", "1.5"])
def test_a_body_that_is_no_bytes_is_damaged_and_hides_nothing(run, entries, project, body):
    written(project / "calls.db", f"UPDATE entry SET codec = 0, body = {body} WHERE id = 1")
    assert "2 entries checked: 1 error" in run("check")[1]
    assert "2 entries: 1 replay, 1 broken" in run("status")[1]
    assert run("store", "fsck", "calls.db", "--repair")[0] == 0
    assert "1 entry checked: 0 errors" in run("check")[1]


def written(file, sql):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(sql)
        connection.commit()


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


def test_a_limit_that_it_exceeds_names_its_own_command(run, entries):
    code, out, _ = run("prune", "--max-bytes", "1", "--json")
    found = json.loads(out)
    assert (code, [one["path"] for one in found["left"]]) == (4, ["calls.db"])
    assert "`onetake store prune calls.db` is for such a store" in found["left"][0]["why"]
    assert "what is in one file, its own command prunes" in run("prune", "--max-bytes", "1")[1]


@pytest.fixture
def asked_by_a_batch(project):
    """What a batch leaves beside its store."""
    (project / ".onetake" / "batch").mkdir(parents=True)
    (project / ".onetake" / "batch" / "calls.db.intents.db").touch()


@pytest.mark.parametrize(
    ("verdict", "failure"),
    [("kept:violation", "invalid"), ("kept:length", "truncated"), ("kept:status:404", "refused")],
)
def test_a_bad_answer_of_a_batch_is_asked_again_by_the_batch(
    run, project, asked_by_a_batch, make_entry, verdict, failure
):
    with closing(SqliteStore(project / "calls.db")) as store:
        entry = make_entry("bad")
        origin = {name: said for name, said in entry.provenance.items() if name != "test"}
        status = int(verdict.rpartition(":")[2]) if "status" in verdict else entry.response.status
        response = replace(entry.response, status=status)
        assert Cassette(store).add(replace(entry, verdict=verdict, provenance=origin, response=response))
    (found,) = [one for one in json.loads(run("check", "--json")[1])["findings"] if one["code"] == "kept"]
    assert found["mend"].endswith(f"`onetake batch retry OUT --class {failure}`, OUT being the rows that it is one of")
    assert "a batch keeps" in found["message"] and "on purpose" not in found["message"]


def test_which_replies_a_batch_needs_is_not_for_tests_to_tell(run, entries, asked_by_a_batch):
    _, out, _ = run("status")
    assert out.endswith("which replies no batch needs any more: onetake store prune calls.db\n")
    assert "run all tests" not in out


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
    assert (code, "app.db: is a database of something else" in error) == (5, True)
