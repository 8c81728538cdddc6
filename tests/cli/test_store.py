"""`onetake store`."""

from __future__ import annotations

import json
import sqlite3

import pytest

import onetake
from onetake.cassette import Cassette
from onetake.errors import UsageError
from onetake.store_users import alone
from onetake.stores import open_store
from onetake.stores.directory import DirectoryStore
from onetake.testing.provider import openai_error


@pytest.fixture
def cassette(project, make_entry):
    """A cassette of two entries in the current folder."""
    store = Cassette(DirectoryStore(project / "calls"))
    for asked in ("One?", "Two?"):
        store.add(make_entry(asked))
    return project / "calls"


def test_a_folder_becomes_one_file_and_back(run, cassette, project):
    packed = run("store", "pack", "calls", "calls.db")
    assert packed == (0, "calls.db: 2 entries, 0 sidecars\n", "")
    unpacked = run("store", "unpack", "calls.db", "again", "--json")
    assert json.loads(unpacked[1]) == {"from": "calls.db", "to": "again", "entries": 2, "sides": 0}
    names = sorted(path.name for path in cassette.iterdir())
    assert sorted(path.name for path in (project / "again").iterdir()) == names
    refused = run("store", "pack", "calls", "calls.db")
    assert (refused[0], "is there already" in refused[2]) == (2, True)


def test_what_a_store_holds_is_counted(run, cassette):
    found = json.loads(run("store", "stats", "calls", "--json")[1])
    assert (found["path"], found["kind"], found["entries"], found["keys"]) == ("calls", "folder", 2, 2)
    assert (found["contracts"], found["models"]) == ({"triage v2": 2}, {"gpt-5": 2})
    shown = run("store", "stats", "calls")
    assert shown[0] == 0
    assert "entries    2 of 2 requests\n" in shown[1]
    assert "recorded   2026-03-01T10:00:00Z to 2026-03-01T10:00:00Z\n" in shown[1]


def test_damage_is_named_and_is_an_exit_code(run, cassette):
    assert run("store", "fsck", "calls") == (0, "calls: whole\n", "")
    torn = min(cassette.glob("*.json"))
    torn.write_bytes(torn.read_bytes()[:50])
    shown = run("store", "fsck", "calls")
    assert shown[0] == 5
    assert shown[1].startswith(f"calls/{torn.name}: ")
    assert shown[1].endswith("calls: 1 damaged\n")
    found = json.loads(run("store", "fsck", "calls", "--json")[1])
    assert [fault["place"] for fault in found["faults"]] == [f"calls/{torn.name}"]


@pytest.mark.parametrize("command", [["stats"], ["fsck"], ["unpack", "x"]], ids=lambda words: words[0])
def test_a_store_that_is_not_there_is_said(run, project, command):
    refused = run("store", command[0], "none.db", *command[1:])
    assert (refused[0], "there is no such" in refused[2]) == (2, True)


def ran(run, batch, more=b""):
    """Run the batch, with more records; the output's name."""
    with (batch / "in.jsonl").open("ab") as file:
        file.write(more)
    assert run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")[0] == 7
    return "rows.jsonl"


def test_prune_deletes_what_no_batch_leads_to_and_only_when_told(run, batch, make_entry, provider):
    ran(run, batch, b'{"message": "three"}\n')
    (batch / "in.jsonl").write_bytes(b'{"message": "one"}\n\n')
    ran(run, batch)
    Cassette(open_store(batch / "calls.db")).add(make_entry("of use_cassette"))

    def said(*words):
        return json.loads(run("store", "prune", "calls.db", "--json", *words)[1])

    found = said()
    assert [found[name] for name in ("entries", "needed", "young", "foreign", "prunable")] == [4, 1, 2, 1, 0]
    found = said("--older-than", "0")
    ((prompt,), size) = found["prompts"], found["bytes"]
    assert (found["prunable"], found["deleted"], size > 0) == (2, False, True)
    assert (prompt["model"], prompt["replies"], prompt["bytes"]) == ("m", 2, size)
    assert (said("--older-than", "0", "--prompts", "1")["kept"], said()["entries"]) == (2, 4)
    shown = run("store", "prune", "calls.db", "--older-than", "0")[1]
    assert shown.endswith("nothing was deleted: --delete does it\n")
    assert f"{prompt['job'][:12]}  m      2        {size / 1000:.1f} kB  {prompt['prompt']}\n" in shown
    assert said("--older-than", "0", "--delete")["deleted"] is True
    found = said("--older-than", "0")
    assert [found[name] for name in ("entries", "needed", "foreign", "prunable")] == [2, 1, 1, 0]
    assert run("batch", "verify", "rows.jsonl")[0] == 0
    assert said("--older-than", "0", "--all")["prunable"] == 1
    assert said("--older-than", "0", "--forget", "rows.jsonl")["prunable"] == 1


def test_a_size_that_cannot_be_reached_is_an_exit_code_and_nothing_needed_goes(run, batch, provider):
    ran(run, batch)
    words = ("store", "prune", "calls.db", "--older-than", "0", "--max-bytes", "1kB", "--delete")
    code, shown, _ = run(*words)
    assert (code, "needed   2\n" in shown, "deleted  0 (0 B)\n" in shown) == (4, True, True)
    assert shown.endswith("kB too much: the rest stays, for the reasons above\n")
    found = json.loads(run(*words, "--json")[1])
    assert (found["over"], found["entries"]) == (found["size"] - 1000, 2)
    assert run("store", "prune", "calls.db", "--max-bytes", "1GB", "--delete")[0] == 0


def test_what_the_settings_pin_is_not_pruned(run, batch, project, provider):
    ran(run, batch, b'{"message": "three"}\n')
    (batch / "in.jsonl").write_bytes(b"")
    assert run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")[0] == 0

    def counts(pinned):
        (project / "onetake.toml").write_text(f"pinned = {json.dumps(pinned)}\n")
        found = json.loads(run("store", "prune", "calls.db", "--older-than", "0", "--json")[1])
        return found["pinned"], found["prunable"]

    key = next(key for key, _ in open_store(batch / "calls.db").names())
    assert [counts([]), counts([key[:12]]), counts(["calls.db"])] == [(0, 3), (1, 2), (3, 0)]


def edited(batch):
    (batch / "job.toml").write_text((batch / "job.toml").read_text().replace("Label", "Name"))


def emptied(batch):
    (batch / "in.jsonl").write_bytes(b"")


def removed(batch):
    (batch / "in.jsonl").unlink()
    (batch / "job.toml").unlink()


@pytest.mark.parametrize("change", [edited, emptied, removed])
def test_what_an_output_was_made_from_stays_whatever_became_of_job_and_input(run, batch, provider, change):
    ran(run, batch)
    kept = {name: (batch / name).read_bytes() for name in ("job.toml", "in.jsonl")}
    change(batch)
    code, said, err = run("store", "prune", "calls.db", "--older-than", "0", "--delete", "--json")
    assert (code, err) == (0, "")
    assert [json.loads(said)[name] for name in ("needed", "prunable")] == [2, 0]
    for name, data in kept.items():
        (batch / name).write_bytes(data)
    assert run("batch", "verify", "rows.jsonl")[0] == 0
    assert run("store", "prune", "calls.db", "--older-than", "0", "--forget", "rows.jsonl", "--delete")[0] == 0
    assert run("batch", "verify", "rows.jsonl")[0] == 6


def test_what_a_run_that_has_not_ended_asked_stays_after_an_edit(run, batch, provider):
    provider.script(lambda request: openai_error(402) if b"two" in request.body else None)
    words = ("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")
    assert run(*words)[0] == 75
    edited(batch)
    found = json.loads(run("store", "prune", "calls.db", "--older-than", "0", "--json")[1])
    assert [found[name] for name in ("entries", "needed", "prunable")] == [1, 1, 0]


@pytest.mark.parametrize("suffix", [".json", ".keys"])
@pytest.mark.parametrize("is_gone", [True, False])
def test_nothing_is_pruned_where_it_is_not_known_what_is_needed(run, batch, provider, suffix, is_gone):
    ran(run, batch)
    (note,) = (batch / ".onetake/batch/calls.db.needed").glob(f"*{suffix}")
    _ = note.unlink() if is_gone else note.write_bytes(b"")
    words = ("store", "prune", "calls.db", "--older-than", "0", "--delete")
    code, _, err = run(*words)
    assert (code, "--forget" in err) == (2 if (suffix, is_gone) == (".json", True) else 5, True)
    assert run("batch", "verify", "rows.jsonl")[0] == 0
    assert run("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none")[0] == 7
    assert run(*words)[0] == 0
    assert run("batch", "verify", "rows.jsonl")[0] == 0


@pytest.mark.parametrize("words", [["prune", "calls.db", "--delete"], ["fsck", "calls.db", "--repair"]])
def test_nothing_is_taken_out_of_a_store_that_a_session_uses(run, batch, provider, words):
    ran(run, batch)
    with onetake.use_cassette(batch / "calls.db", mode="once"):
        code, _, err = run("store", *words)
        assert (code, "a run, a session or another command uses it" in err) == (2, True)
        assert run("store", words[0], "calls.db")[0] == 0
    assert run("store", *words)[0] == 0


def test_nobody_reads_rows_from_a_store_that_is_being_pruned(run, batch, provider):
    ran(run, batch)
    made = onetake.Batch("in.jsonl", prompt="Label {message}", model="m", base_url=f"{provider.url}/v1")
    with alone(batch / "calls.db"):
        code, _, err = run("batch", "verify", "rows.jsonl")
        assert (code, "is being pruned or repaired" in err) == (2, True)
        for read in (made.rows().__next__, lambda: made.verify("rows.jsonl")):
            with pytest.raises(UsageError, match="is being pruned or repaired"):
                read()
    assert run("batch", "verify", "rows.jsonl")[0] == 0


def test_what_a_batch_of_python_needs_is_known_once_it_has_ended(run, batch, provider):
    made = onetake.Batch("in.jsonl", prompt="{message}", model="m", base_url=f"{provider.url}/v1")
    assert made.run("py.jsonl", progress="none").exit_code == 7
    found = json.loads(run("store", "prune", "calls.db", "--older-than", "0", "--json")[1])
    assert (found["needed"], found["prunable"]) == (2, 0)
    provider.script(lambda request: openai_error(402))
    with (batch / "in.jsonl").open("ab") as file:
        file.write(b'{"message": "three"}\n')
    assert made.run("py.jsonl", progress="none").exit_code == 75
    code, _, err = run("store", "prune", "calls.db")
    assert (code, "its run has not ended, and Python code made its job" in err) == (2, True)
    assert run("store", "prune", "calls.db", "--forget", "py.jsonl")[0] == 0


@pytest.mark.parametrize("store", ["calls.db", "calls"])
def test_repair_puts_aside_what_is_damaged_so_that_it_is_asked_once(run, batch, provider, store):
    words = ("batch", "run", "in.jsonl", "-c", "job.toml", "-o", "rows.jsonl", "--progress", "none", "--store", store)
    run(*words)
    if store == "calls":
        entry = min((batch / store).glob("*.json"))
        entry.write_bytes(entry.read_bytes()[:-9])
    else:
        with sqlite3.connect(batch / store) as connection:
            connection.execute("UPDATE entry SET body = x'00' WHERE id = 1")
        connection.close()
    assert run(*words)[0] == 5
    assert run("store", "fsck", store)[0] == 5
    assert provider.count == 2
    found = json.loads(run("store", "fsck", store, "--repair", "--json")[1])
    assert (found["faults"], len(found["quarantined"])) == ([], 1)
    assert len(list((batch / ".onetake/quarantine/calls").iterdir())) == 1
    assert (run(*words)[0], provider.count) == (7, 3)
