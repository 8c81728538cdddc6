"""`onetake status`: what it prints."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from onetake.project_files import digest
from onetake.stores.naming import parse_name
from onetake.upkeep.advising import OCCASIONS, Advice
from onetake.usage import CassetteUsage, UsageRun, write_run

RUN_ALL = "run all tests, without selecting any"
UNKNOWN = f"which entries are orphans cannot be told of all: no run of tests is on record: {RUN_ALL}\n"


@pytest.fixture
def edited(project, store, make_entry):
    """Two entries of an old prompt and two of a new one, which a run of all tests used; returns (old, new)."""
    texts = [f"ticket {n * 7919}: the printer burns in room {n * 104729}" for n in (1, 2)]
    at = {"test": "tests/test_a.py::test_b", "model_asked": "gpt-5"}
    old = [
        make_entry(f"Sort {text}", contract=None, provenance={**at, "recorded_at": "2026-01-01T00:00:00Z"})
        for text in texts
    ]
    new = [
        make_entry(f"File {text}", contract=None, provenance={**at, "recorded_at": "2026-02-01T00:00:00Z"})
        for text in texts
    ]
    files = store(*old, *new)
    left, used = (frozenset(parse_name(path.name) for path in half) for half in (files[:2], files[2:]))
    cassettes = {"cassettes/a": CassetteUsage(used, left)}
    write_run(project, UsageRun("2026-03-01T00:00:00Z", files=digest(project), cassettes=cassettes))
    return files[:2], files[2:]


def test_a_project_that_replays_says_so_in_a_line(run, store, make_entry):
    store(make_entry(contract=None))
    assert run("status") == (0, "1 entry: 1 replay\n" + UNKNOWN, "")


def test_nothing_there_is_no_error(run, project):
    assert run("status") == (0, "no entries under .\n", "")
    code, out, _ = run("status", "--json")
    assert (code, json.loads(out)["entries"]) == (0, [])


def test_an_orphan_is_told_with_what_took_its_place(run, project, edited):
    code, out, err = run("status")
    assert (code, err) == (0, "")
    old, new = ([path.relative_to(project).as_posix() for path in half] for half in edited)
    for before, after in zip(old, new, strict=True):
        assert f"  {before} (now {parse_name(after.rpartition('/')[2])[0]})\n" in out
    assert out.startswith("orphan: 2 entries\n")
    assert "    the prompt changed\n" in out
    assert 'is "File ticket 7919: ' in out
    assert "    to do: onetake prune . --orphans\n    (it shows what it would do; --yes does it)\n" in out
    assert out.endswith("\n4 entries: 2 replay, 2 orphan\n")


def test_json_has_every_entry_every_count_and_what_took_a_place(run, edited):
    code, out, _ = run("status", "--json")
    document = json.loads(out)
    assert (code, list(document)) == (0, ["entries", "counts", "knowledge", "probe"])
    assert list(document["counts"]) == [advice.value for advice in Advice]
    assert (document["counts"]["orphan"], document["counts"]["replay"], document["knowledge"]) == (2, 2, "")
    first = next(one for one in document["entries"] if one["advice"] == "orphan")
    assert list(first) == ["path", "key", "ordinal", "advice", "reason", "command", "successor"]
    assert list(first["successor"]) == ["key", "ordinal", "path", "changed", "differences"]
    assert first["successor"]["changed"] == ["the prompt changed"]
    (place,) = first["successor"]["differences"]
    assert (place["path"], place["kind"]) == ("body$.messages[0].content", "changed")
    assert place["was"].startswith('"Sort ticket') and place["is"].startswith('"File ticket')
    replaying = next(one for one in document["entries"] if one["advice"] == "replay")
    assert list(replaying) == ["path", "key", "ordinal", "advice", "reason", "command"]
    assert {one["path"] for one in document["entries"] if one["advice"] == "replay"} >= {first["successor"]["path"]}


def test_the_table_has_each_advice_and_occasion_with_its_count(run, store, edited, make_entry):
    (torn,) = store(make_entry("torn"))
    torn.write_bytes(b"{")
    code, out, _ = run("status", "--table")
    lines = {line.split("  ")[0]: line.split()[-1] for line in out.splitlines()}
    counts = {advice.value: "0" for advice in Advice} | {"orphan": "2", "replay": "2", "broken": "1"}
    assert (code, lines) == (0, {"advice": "here", **counts, "in CI": "1", "pre-release": "5"})
    table = json.loads(run("status", "--table", "--json")[1])["table"]
    assert {one["advice"]: str(one["count"]) for one in table} == {**counts, "in CI": "1", "pre-release": "5"}
    assert [one["advice"] for one in table][-2:] == list(OCCASIONS)
    assert all(list(one) == ["advice", "when", "then", "count"] for one in table)


def test_entries_of_which_the_same_is_said_stand_together(run, project, store, make_entry):
    store(*[make_entry(f"call {n}", contract=None) for n in range(12)])
    (project / "onetake.toml").write_text("probe_after = 1\n")
    _, out, _ = run("status")
    assert out.count("to do: onetake probe cassettes/a --oldest\n") == 1
    assert out.count("  cassettes/a/") == 10 and "\n  and 2 more\n" in out


def test_what_replays_with_a_warning_is_counted(run, store, make_entry):
    store(make_entry())  # under a contract that is declared nowhere
    _, out, _ = run("status")
    assert "1 entry: 1 replay\n1 of those that replay with a warning: `onetake check` says which\n" in out


def test_it_is_a_report_and_what_is_wrong_with_the_line_is_not(run, project, store, make_entry):
    (path,) = store(make_entry())
    path.write_bytes(b"{")
    code, out, _ = run("status")
    assert (code, out.startswith("broken: 1 entry\n")) == (0, True)
    assert run("status", path)[::2] == (2, f"onetake: {path}: is a file: name its folder\n")
    assert run("status", "absent")[::2] == (2, "onetake: absent: there is no such folder\n")


def test_a_hostile_name_prints_nothing_of_its_own(run, store, make_entry):
    (path,) = store(
        make_entry(provenance={"recorded_at": "x", "test": "t\x1b]0;x\x07::\u202etest", "model_asked": "m"})
    )
    path.write_bytes(path.read_bytes()[:-40])
    for line in (("status",), ("status", "--json"), ("status", "--table")):
        assert not set(run(*line)[1]) & set("\x1b\x07\u202e")


def test_nothing_of_the_project_or_of_a_client_is_loaded(project, store, make_entry):
    store(make_entry())
    (project / "app.py").write_text("raise SystemExit('imported')\n")
    (project / "onetake.toml").write_text('[contracts.triage]\nschema = "app:Triage"\nschema_version = 2\n')
    code = (
        "import sys; from onetake.cli import commands\n"
        "try: commands.main(['status'], prog_name='onetake')\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(sorted({'app', 'httpx', 'openai', 'pydantic', 'asyncio', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=110)
    assert done.stdout.splitlines()[-1:] == ["[]"], done.stdout + done.stderr
