"""`onetake import vcr`: what it prints, and what it leaves behind."""

from __future__ import annotations

import json
import sys

import pytest
import yaml

CONFIG = """
import pytest

@pytest.fixture
def vcr_config():
    return {"ignore_hosts": ["a.example.com"]}
"""


@pytest.fixture
def file(project):
    """Return a function that writes interactions into a file of vcrpy's, and returns its path."""

    def write(*interactions, name="a.yaml"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"interactions": list(interactions), "version": 1}))
        return path

    return write


@pytest.fixture
def old(project, file, interaction):
    """A file of vcrpy's in which most things come up."""
    (project / "conftest.py").write_text(CONFIG)
    return file(
        interaction("a", "1"),
        interaction("a", "2"),
        interaction("b", status=401),
        interaction("b"),
        interaction("c", request={"body": ""}),
        interaction("d", request={"uri": "https://us.i.posthog.com/batch/"}),
        interaction("e", request={"uri": "http://localhost:8000/own"}),
        name="cassettes/test_a/test_b.yaml",
    )


def test_the_document_has_all_totals_and_a_row_for_each(run, old):
    code, out, _ = run("import", "vcr", "cassettes", "--json")
    found = json.loads(out)
    rows = found.pop("rows")
    assert code == 1
    assert found == {
        "files": 1,
        "interactions": 7,
        "distinct": 4,
        "imported": 4,
        "loose": 0,
        "refused": 2,
        "would_not_record": 1,
        "foreign": 0,
        "url_only_groups": 1,
        "repeated_groups": 2,
        "repeated_other_answers": 2,
        "repeated_other_statuses": 1,
        "credential_groups": 0,
        "never_played": 1,
        "written": 4,
        "answer_bytes": {"read": found["answer_bytes"]["stored"], "stored": found["answer_bytes"]["read"]},
        "secrets": {},
        "settings": {"hosts": ["localhost:8000"], "ignore": ["a.example.com"], "keep": []},
        "legacy_loose": [],
        "dry_run": False,
    }
    assert [(row["position"], row["outcome"]) for row in rows] == [
        (0, "imported"),
        (1, "imported"),
        (2, "would_not_record"),
        (3, "imported"),
        (4, "refused"),
        (5, "refused"),
        (6, "imported"),
    ]
    assert {row["source"] for row in rows} == {"cassettes/test_a/test_b.yaml"}
    assert rows[2] == {
        "source": "cassettes/test_a/test_b.yaml",
        "position": 2,
        "outcome": "would_not_record",
        "reason": "status:401",
        "key": None,
        "entry": None,
        "notes": ["the same request was answered with status 200 (position 3)"],
    }
    assert rows[1]["entry"] == f"cassettes/test_a/test_b/chat-gpt-5-{rows[0]['key'][:16]}-1.json"


def test_what_is_printed_says_what_came_over_and_what_did_not(run, old):
    code, out, err = run("import", "vcr", "cassettes")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert (code, err) == (1, "")
    assert lines[0] == "1 file, 7 interactions"
    for line in (
        "imported 4",
        "refused 2",
        "would not be recorded today 1",
        "entries 4 written, 0 were there",
        "requests 4 distinct",
        "1 URL with several bodies, which vcrpy's default cannot tell apart",
        "2 recorded more than once: 2 with other answers, 1 with other statuses",
        'settings to add hosts = ["localhost:8000"]',
        'ignore = ["a.example.com"]',
        "cassettes/test_a/test_b.yaml 5 refused never played: telemetry",
        "cassettes/test_a/test_b.yaml 2 would not record status:401;"
        " the same request was answered with status 200 (position 3)",
        "to import what would not be recorded all the same: --keep status:401",
    ):
        assert line in lines
    assert "entries 0 written, 4 were there" in [
        " ".join(line.split()) for line in run("import", "vcr", ".")[1].splitlines()
    ]


def test_flags_bring_over_the_rest(run, old):
    code, out, _ = run("import", "vcr", old, "--to", "out", "--keep", "status:4xx", "--keep-bodyless", "--json")
    found = json.loads(out)
    assert (code, found["imported"], found["loose"], found["would_not_record"]) == (1, 5, 1, 0)
    assert (found["rows"][2]["reason"], found["settings"]["keep"]) == ("kept:status:401", ["status:401"])
    assert found["rows"][2]["entry"].startswith("out/test_b/")
    assert "-1.json" in found["rows"][3]["entry"]


def test_all_of_it_is_zero(run, file, interaction):
    file(interaction("a"))
    assert run("import", "vcr", "a.yaml")[0] == 0


@pytest.mark.parametrize("kind", ["violation", "cut", "all"])
def test_kinds_of_bad_answers_are_those_of_the_setting_and_all(run, old, kind):
    found = json.loads(run("import", "vcr", ".", "--keep", kind, "--dry-run", "--json")[1])
    assert found["would_not_record"] == (0 if kind == "all" else 1)


def test_a_dry_run_writes_nothing(run, old, project):
    before = sorted(path.name for path in project.rglob("*"))
    _, out, _ = run("import", "vcr", "cassettes", "--dry-run")
    assert "4 would be written, 0 were there" in out
    assert sorted(path.name for path in project.rglob("*")) == before
    assert json.loads(run("import", "vcr", "cassettes", "--dry-run", "--json")[1])["written"] == 0


def test_the_report_is_the_document(run, old, project):
    run("import", "vcr", "cassettes", "--report", "report.json", "--dry-run")
    _, out, _ = run("import", "vcr", "cassettes", "--dry-run", "--json")
    assert json.loads((project / "report.json").read_bytes()) == json.loads(out)


def test_many_left_are_told_by_the_report(run, file, interaction):
    for number in range(25):
        file(interaction(status=400), name=f"{number:02}.yaml")
    _, out, _ = run("import", "vcr", ".")
    assert "and 5 more: --report FILE has a row for every interaction" in out


def test_positions_are_told_as_runs(run, file, interaction):
    file(*(interaction(str(number), status=200 if number in (2, 4) else 500) for number in range(8)))
    lines = [line.split() for line in run("import", "vcr", ".")[1].splitlines()]
    assert ["a.yaml", "0-1,", "3,", "5-7", "would", "not", "record", "status:500"] in lines


def test_a_report_that_cannot_be_written_is_an_error_before_anything_is_imported(run, old, project):
    code, _, err = run("import", "vcr", "cassettes", "--report", "nowhere/report.json")
    assert (code, "--report nowhere/report.json: cannot be written" in err) == (2, True)
    assert not old.with_suffix("").exists()


def test_a_report_that_is_there_stays_until_the_new_one_is_whole(run, old, project):
    report = project / "report.json"
    report.write_text("old")
    (project / "onetake.toml").write_text("nonsense = 1\n")
    assert run("import", "vcr", "cassettes", "--report", report)[0] == 2
    assert report.read_text() == "old"


def test_no_secret_in_the_name_of_a_file_is_told(run, file, interaction, project):
    secret = "sk-proj-" + "Ab3dEf6hIj" * 5
    file(interaction("a"), interaction("b", status=500), name=f"cassettes/test_a[{secret}].yaml")
    code, out, err = run("import", "vcr", "cassettes", "--report", "report.json")
    assert (code, err) == (1, "")
    report = (project / "report.json").read_text()
    entries = [one.read_text() for one in (project / "cassettes").rglob("*.json")]
    assert len(entries) == 1 and "[openai key 1]" in entries[0]
    for text in (out, report, *entries):
        assert secret not in text
    assert [row["outcome"] for row in json.loads(report)["rows"]] == ["imported", "would_not_record"]


def test_urls_that_only_credentials_tell_apart_are_told(run, file, interaction):
    file(*(interaction(said=one, request={"uri": f"https://h/x?token={one}", "body": "{}"}) for one in ("one", "two")))
    _, out, _ = run("import", "vcr", ".")
    assert "1 told apart by credentials in the URL alone, which do not count" in out


def test_the_first_loose_entries_set_the_number_that_may_only_fall(run, old, project):
    _, out, _ = run("import", "vcr", "cassettes", "--keep-bodyless")
    assert (project / "onetake.toml").read_text() == "legacy_loose = 1\n"
    assert "legacy_loose = 1 in onetake.toml: loose entries may only become fewer" in " ".join(out.split())
    found = json.loads(run("import", "vcr", "cassettes", "--json")[1])
    assert (found["loose"], found["written"], found["refused"], found["legacy_loose"]) == (1, 0, 1, [])
    (project / "onetake.toml").write_text("legacy_loose = 0\n")
    found = json.loads(run("import", "vcr", "cassettes", "--json")[1])
    assert found["legacy_loose"] == [{"file": "onetake.toml", "number": 1, "written": False}]
    assert (project / "onetake.toml").read_text() == "legacy_loose = 0\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "Missing argument"),
        (("nowhere",), "nowhere: there is no such file or folder"),
        ((".", "--keep", "status:4x"), "--keep: unknown kind 'status:4x'"),
        ((".", "--contract", "items"), "contract 'items' is not declared"),
        ((".", "--to", "conftest.py"), "--to conftest.py: is no folder"),
    ],
)
def test_a_wrong_line_is_an_error(run, old, words, why):
    code, _, err = run("import", "vcr", *words)
    assert code == 2
    assert why in err


def test_foreign_and_broken_files_are_named(run, project):
    (project / "a.yaml").write_text("version: 2\ninteractions: []\n")
    (project / "b.yaml").write_text("a: [")
    found = json.loads(run("import", "vcr", ".", "--json")[1])
    assert (found["files"], found["interactions"], found["foreign"], found["refused"]) == (2, 0, 1, 1)
    assert [(row["source"], row["position"], row["reason"].partition(":")[0]) for row in found["rows"]] == [
        ("a.yaml", None, "go-vcr"),
        ("b.yaml", None, "cannot be read"),
    ]


def test_how_far_it_is_is_told_every_thousand_files(run, project, monkeypatch):
    monkeypatch.setattr(sys.modules["onetake.cli.import_"], "_EACH", 2)
    for number in range(5):
        (project / f"{number}.yaml").write_text("interactions: []\n")
    assert run("import", "vcr", ".")[2] == "2 of 5 files\n4 of 5 files\n"
