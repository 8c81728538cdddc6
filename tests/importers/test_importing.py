"""Files from one end to the other: every interaction has one row, and the files stay as they are."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from onetake.cassette import Cassette
from onetake.errors import UsageError
from onetake.importers import importing
from onetake.importers.counting import Groups
from onetake.importers.importing import files_of, import_all, import_file
from onetake.importers.judging import Outcome
from onetake.importers.placing import Choices
from onetake.settings_values import EVERY_KIND
from onetake.stores.directory import DirectoryStore


def test_every_interaction_ends_in_one_row(cassette, interaction, as_file):
    path = cassette(
        interaction("a", "1"),
        interaction("a", "2"),
        interaction("b", status=401),
        interaction("b", "3"),
        interaction("c", request={"body": None}),
        interaction("d", request={"uri": "https://us.i.posthog.com/batch/"}),
        interaction("e", request={"method": None}),
        {"request_sample": {}, "response_sample": {}},
        interaction("f", request={"uri": "http://localhost:8000/api"}),
    )
    before = path.read_bytes()
    found = import_file(as_file(path), Choices())
    assert [(row.position, row.outcome.value) for row in found.rows] == [
        (0, "imported"),
        (1, "imported"),
        (2, "would_not_record"),
        (3, "imported"),
        (4, "refused"),
        (5, "refused"),
        (6, "refused"),
        (7, "foreign"),
        (8, "imported"),
    ]
    assert (found.interactions, found.written, found.never_played) == (9, 4, 1)
    assert found.hosts == ("localhost:8000",)
    assert found.groups == Groups(distinct=4, url_only=1, repeated=2, other_answers=2, other_statuses=1)
    assert found.rows[3].notes == ("the same request was answered with status 401 (position 2)",)
    assert found.bytes_in == found.bytes_out > 0
    assert path.read_bytes() == before
    folder = path.parent / "test_b"
    named = {Path(row.entry).name for row in found.rows if row.entry}
    assert {entry.name for entry in folder.iterdir()} == named
    assert all(row.entry.startswith("cassettes/test_a/test_b/") for row in found.rows if row.entry)
    assert {row.key[:16] for row in found.rows if row.key} == {key for key, _ in DirectoryStore(folder).names()}


def test_importing_again_writes_nothing_and_says_the_same(cassette, interaction, as_file):
    path = cassette(interaction("a", "1"), interaction("a", "2"), interaction("b", request={"body": None}))
    choices = Choices(keep_bodyless=True)
    first, second = import_file(as_file(path), choices), import_file(as_file(path), choices)
    assert (first.written, second.written) == (3, 0)
    assert first.rows == second.rows


def test_what_a_flag_let_in_is_there_for_an_import_without_it(cassette, interaction, as_file):
    path = cassette(interaction("a", status=401), interaction("b", request={"body": None}), interaction("c"))
    first = import_file(as_file(path), Choices(keep=("status:4xx",), keep_bodyless=True))
    again = import_file(as_file(path), Choices())
    assert [row.outcome for row in first.rows] == [Outcome.IMPORTED, Outcome.LOOSE, Outcome.IMPORTED]
    assert (again.rows, again.written) == (first.rows, 0)


def test_a_later_flag_takes_nothing_away(cassette, interaction, as_file):
    cut = {"choices": [{"message": {"content": "and th"}, "finish_reason": "length"}]}
    path = cassette(interaction("a"), interaction("b", response={"body": {"string": json.dumps(cut)}}))
    first = import_file(as_file(path), Choices())
    wider = import_file(as_file(path), Choices(keep=EVERY_KIND))
    assert [row.reason for row in first.rows] == ["good", "good"]
    assert (wider.rows, wider.written) == (first.rows, 0)


def test_a_dry_run_says_what_would_be_and_writes_nothing(cassette, interaction, as_file, project):
    path = cassette(interaction("a", "1"), interaction("b", "2"))
    dry = import_file(as_file(path), Choices(writes=False))
    assert [each.name for each in path.parent.iterdir()] == ["test_b.yaml"]
    assert dry == import_file(as_file(path), Choices())


def test_loose_entries_keep_their_order(cassette, interaction, as_file):
    path = cassette(*(interaction(said=said, request={"body": None}) for said in "abc"))
    found = import_file(as_file(path), Choices(keep_bodyless=True))
    assert [row.outcome for row in found.rows] == [Outcome.LOOSE] * 3
    entries = [entry for _, _, entry in Cassette(DirectoryStore(path.parent / "test_b")).all()]
    assert [(entry.ordinal, entry.answer.choices[0].text) for entry in entries] == [(0, "a"), (1, "b"), (2, "c")]
    assert [entry.provenance["imported_from"]["position"] for entry in entries] == [0, 1, 2]


@pytest.mark.parametrize(
    ("content", "outcome", "reason"),
    [
        ("a: [", Outcome.REFUSED, "cannot be read: no YAML"),
        ("services: {}", Outcome.FOREIGN, "no cassette that is known"),
        ("version: 2\ninteractions: []", Outcome.FOREIGN, "go-vcr"),
    ],
)
def test_a_file_that_is_none_of_vcrpys_has_one_row(project, as_file, content, outcome, reason):
    path = project / "a.yaml"
    path.write_text(content)
    (row,) = import_file(as_file(path), Choices()).rows
    assert (row.position, row.outcome, row.key, row.entry) == (None, outcome, "", "")
    assert row.reason.startswith(reason)


def test_an_empty_cassette_has_no_row_and_makes_no_folder(cassette, as_file):
    path = cassette()
    assert import_file(as_file(path), Choices()).rows == ()
    assert not (path.parent / "test_b").exists()


def test_no_secret_is_in_a_row(cassette, interaction, as_file):
    secret = "sk-proj-" + "Ab3dEf6hIj" * 5
    path = cassette(
        interaction(request={"uri": f"https://[{secret}/"}),
        interaction(response={"headers": {"content-encoding": [secret]}}),
        interaction(secret, secret),
    )
    found = import_file(as_file(path), Choices())
    assert len(found.rows) == 3
    assert secret not in repr(found)
    for entry in (path.parent / "test_b").rglob("*.json"):
        assert secret not in entry.read_text()


def test_git_says_which_commit_a_file_is_of_only_where_it_is_asked(cassette, interaction, as_file, project):
    path = cassette(interaction())
    git = ["git", "-C", str(project), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    import_file(as_file(path, Path("asked")), Choices(to=Path("asked"), blame=True))
    import_file(as_file(path, Path("unasked")), Choices(to=Path("unasked")))
    said = [
        [entry.provenance.get("commit") for _, _, entry in Cassette(DirectoryStore(project / name / "test_b")).all()]
        for name in ("asked", "unasked")
    ]
    assert said == [[head], [None]]


def test_files_are_listed_with_their_places_and_none_twice(cassette, interaction, project):
    one = cassette(interaction(), name="tests/cassettes/m/a.yaml")
    two = cassette(interaction(), name="tests/cassettes/m/b.yaml")
    found = files_of([project / "tests", one], Path("out"))
    assert [(each.path, each.target) for each in found] == [
        (one, Path("out/cassettes/m/a")),
        (two, Path("out/cassettes/m/b")),
    ]


def test_what_is_not_there_and_two_files_for_one_cassette_are_errors(cassette, interaction, project):
    one = cassette(interaction(), name="x/a.yaml")
    two = cassette(interaction(), name="y/a.yaml")
    with pytest.raises(UsageError, match="there is no such file or folder"):
        files_of([project / "none"], None)
    with pytest.raises(UsageError, match="would have one cassette"):
        files_of([one, two], Path("out"))
    for to in (one, one / "below"):
        with pytest.raises(UsageError, match="is no folder"):
            files_of([two], to)


def test_wrong_settings_are_an_error(cassette, interaction, as_file, project):
    path = cassette(interaction())
    (project / "onetake.toml").write_text("nonsense = 1\n")
    with pytest.raises(UsageError, match="nonsense"):
        import_file(as_file(path), Choices())


@pytest.mark.whole
def test_several_processors_come_to_the_same(cassette, interaction, project, monkeypatch):
    for number in range(9):
        cassette(interaction(f"{number}"), interaction(f"{number}", "again"), name=f"cassettes/m/test_{number}.yaml")
    alone = list(import_all(files_of([project / "cassettes"], Path("alone")), Choices(to=Path("alone"))))
    monkeypatch.setattr(importing, "_FEW", 2)
    monkeypatch.setattr(importing.os, "cpu_count", lambda: 2)
    together = list(import_all(files_of([project / "cassettes"], Path("many")), Choices(to=Path("many"))))
    assert [one.path for one in alone] == [one.path for one in together]
    assert [one.written for one in together] == [2] * 9
    for entry in (project / "alone").rglob("*.json"):
        assert (project / "many" / entry.relative_to(project / "alone")).read_bytes() == entry.read_bytes()


def test_an_interaction_that_vcrpy_shares_by_anchor_is_two(project, as_file, interaction):
    shared = interaction()["request"]
    items = [{"request": shared, "response": interaction(said=said)["response"]} for said in "ab"]
    path = project / "a.yaml"
    path.write_text(yaml.dump({"interactions": items, "version": 1}))
    assert "&id001" in path.read_text()
    found = import_file(as_file(path), Choices())
    assert [row.entry.rpartition("-")[2] for row in found.rows] == [f"{found.rows[0].key[:16]}.json", "1.json"]


def test_a_link_below_a_folder_is_one_row_and_what_is_named_by_itself_is_read(cassette, interaction, project):
    path = cassette(interaction())
    try:
        (path.parent / "test_c.yaml").symlink_to(path)
        (project / "cassettes/linked").symlink_to(path.parent)
    except OSError:
        pytest.skip("no links for this user")
    found = list(import_all(files_of([project / "cassettes"], None), Choices(writes=False)))
    rows = {row.source.name: (row.position, row.outcome, row.reason[:9]) for one in found for row in one.rows}
    told = (None, Outcome.REFUSED, "is a link")
    assert rows == {"linked": told, "test_b.yaml": (0, Outcome.IMPORTED, "good"), "test_c.yaml": told}
    (named,) = import_all(files_of([path.parent / "test_c.yaml"], None), Choices(writes=False))
    assert [row.reason for row in named.rows] == ["good"]


def test_a_folder_that_cannot_be_written_costs_its_own_rows_alone(cassette, interaction, project):
    for name in ("test_a", "test_b", "test_c"):
        cassette(interaction(name), interaction(name, status=401), name=f"c/{name}.yaml")
    (project / "c/test_b").write_bytes(b"a file")
    found = list(import_all(files_of([project / "c"], None), Choices()))
    assert [[row.outcome.value for row in one.rows] for one in found] == [
        ["imported", "would_not_record"],
        ["refused", "refused"],
        ["imported", "would_not_record"],
    ]
    assert all(row.reason.startswith("c/test_b: cannot be ") for row in found[1].rows)
    assert [one.written for one in found] == [1, 0, 1]


def test_a_cassette_folder_that_is_a_link_is_followed_as_a_recording_follows_it(cassette, interaction, project):
    path = cassette(interaction())
    (project / "elsewhere").mkdir()
    try:
        (path.parent / "test_b").symlink_to(project / "elsewhere")
    except OSError:
        pytest.skip("no links for this user")
    (found,) = import_all(files_of([path], None), Choices())
    assert found.written == len(list((project / "elsewhere").glob("*.json"))) == 1


def test_a_new_folder_has_no_secret_in_its_name_and_the_report_says_the_same(cassette, interaction, project):
    secret = "sk-proj-" + "Ab3dEf6hIj" * 5
    for end in ("", "1"):
        cassette(interaction(), name=f"old/{secret}/{secret}{end}.yaml")
    found = list(import_all(files_of([project / "old"], project / "new"), Choices(project / "new")))
    entries = [row.entry for one in found for row in one.rows]
    assert len(set(entries)) == 2
    for entry in entries:
        assert (project / entry).is_file()
        assert secret[:12] not in entry
    assert not [path for path in (project / "new").rglob("*") if secret[:12] in path.name]
