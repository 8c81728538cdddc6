"""A person's word for an entry: checked first, written into its provenance, and good until the parser changes again."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from threading import Thread

import pytest

from onetake.contract.watch import watch_digest
from onetake.errors import UsageError
from onetake.format import load_entry
from onetake.settings import load_settings
from onetake.upkeep.amending import amend
from onetake.upkeep.freezing import read_frozen, schema_bytes, write_frozen
from onetake.upkeep.projects import Projects
from onetake.upkeep.vouching import vouch

PARSER = "def parse(text):\n    return text\n"
FIXED = "def parse(text):\n    return text.strip()\n"
MODULE = """
from pydantic import BaseModel, field_validator

class Items(BaseModel):
    label: str
    tags: list[str]

    @field_validator("label")
    def _known(cls, label):
        assert label == "bug"
        return label
"""


def load(path):
    return load_entry(path.read_bytes(), lambda name: None)


def vouch_all(paths, reason="read them all", **options):
    return list(vouch(paths, reason, **options))


@pytest.fixture
def parser(folder):
    """The watched parser of a project; entries are recorded under `PARSER`."""
    path = folder.root / "parse.py"
    path.write_text(PARSER)
    folder.settings('watch = ["parse.py"]')
    return path


@pytest.fixture
def predating(folder, parser):
    """An entry that predates the parser."""
    (path,) = folder.record()
    parser.write_text(FIXED)
    assert folder.codes() == ["predates-parser"]
    return path


def test_what_was_vouched_for_no_longer_predates_the_parser(folder, predating, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    before = predating.read_text().split("\n")
    (done,) = vouch_all([predating], "  read the answer: it has no blanks at its ends \n")
    assert folder.codes() == []
    assert done.refusal is None
    note = load(predating).provenance["vouched"]
    assert note == done.note
    assert note["reason"] == "read the answer: it has no blanks at its ends"
    assert note["watch"] == watch_digest(["parse.py"], folder.root)
    assert abs((datetime.now(UTC) - datetime.fromisoformat(note["at"])).total_seconds()) < 60
    assert {"commit", "by"}.isdisjoint(note)
    after = predating.read_text().split("\n")
    new = [line for line in after if line not in before]
    assert len(new) <= 8
    assert len([line for line in before if line not in after]) <= 1  # the last line before it has a comma now


def test_a_vouch_is_good_until_the_parser_changes_again(folder, parser, predating):
    vouch_all([predating])
    parser.write_text(FIXED.replace("strip", "lstrip"))
    (found,) = folder.findings()
    assert found.message.split("\n")[0].startswith(
        "the files that 'items' watches are not those of when somebody vouched for it; whether "
    )
    parser.write_text(PARSER)
    assert folder.codes() == []


def test_the_commit_and_the_name_of_who_vouched_are_noted(folder, predating, git):
    git(folder.root, "init", "-q")
    git(folder.root, "config", "user.name", "Ann \x1b[31mLee")
    git(folder.root, "add", "-A")
    git(folder.root, "commit", "-qm", "Begin")
    (done,) = vouch_all([predating])
    assert done.note["commit"] == git(folder.root, "rev-parse", "HEAD")
    assert done.note["by"] == "Ann Lee"


def test_a_secret_in_the_reason_is_scrubbed(folder, predating):
    key = "sk-proj-" + "Ab1" * 16
    vouch_all([predating], f"asked again with {key}")
    assert key not in predating.read_text()
    assert "asked again with" in load(predating).provenance["vouched"]["reason"]
    assert folder.codes() == []


@pytest.mark.parametrize("reason", ["", "  \n", "\x1b[31m"])
def test_a_vouch_without_a_reason_is_refused(predating, reason):
    with pytest.raises(UsageError, match="--reason is empty"):
        vouch_all([predating], reason)


@pytest.mark.parametrize(
    ("contract", "schema", "code"),
    [
        ("schema_version = 2", None, "schema-bumped"),
        ("", {"type": "object", "properties": {"label": {"type": "integer"}, "tags": {}}}, "breaks-contract"),
    ],
)
def test_what_todays_contract_refuses_is_not_vouched_for(folder, predating, contract, schema, code):
    folder.settings(f'watch = ["parse.py"]\n{contract}')
    if schema:
        folder.schema(schema)
    before = predating.read_bytes()
    (done,) = vouch_all([predating])
    assert (done.refusal.code, done.note) == (code, {})
    assert done.refusal.mend == "pytest --record-mode=new_episodes tests/test_a.py::test_b"
    assert predating.read_bytes() == before


@pytest.fixture
def typed(folder, parser, monkeypatch):
    """An entry that predates the parser, and whose contract is a type."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder.root / "vouched_items.py").write_text(MODULE)
    folder.settings(top='[contracts.typed]\nschema = "vouched_items:Items"\nwatch = ["parse.py"]')
    (path,) = folder.record(contract="typed")
    parser.write_text(FIXED)
    yield path
    sys.modules.pop("vouched_items", None)


@pytest.fixture(params=[False, True], ids=["not frozen", "frozen"])
def frozen(folder, typed, request):
    """Whether the type is frozen, as it is."""
    declared = load_settings(folder.root).contracts["typed"]
    if request.param:
        project = Projects(folder.root, importing=True).of(folder.root)
        made = schema_bytes(project.imported(declared), declared)
        write_frozen(read_frozen(declared, folder.root), made)
    return request.param


@pytest.mark.usefixtures("frozen")
def test_a_type_that_is_not_imported_judges_nothing_so_nobody_vouches(folder, typed, answer):
    """A frozen schema has none of its validators, and may be the one of yesterday."""
    before = typed.read_bytes()
    (done,) = vouch_all([typed])
    assert (done.refusal.code, done.note) == ("unchecked", {})
    assert done.refusal.message == (
        "contract 'typed' is the type vouched_items:Items, which was not imported to judge its answer"
    )
    assert done.refusal.mend == f'onetake vouch {typed.as_posix()} --import --reason "what you looked at"'
    assert typed.read_bytes() == before
    (found,) = (one for one in folder.findings() if one.code == "predates-parser")
    assert found.mend == done.refusal.mend
    (done,) = vouch_all([typed], importing=True)
    assert done.refusal is None
    assert "predates-parser" not in folder.codes(importing=True)


@pytest.mark.usefixtures("frozen")
def test_a_type_judges_by_what_no_schema_says_where_it_is_imported(folder, typed, answer):
    folder.edit_answer(typed, answer, answer.replace("bug", "odd"))
    (done,) = vouch_all([typed], importing=True)
    assert done.refusal.code == "breaks-contract"


def test_what_a_type_that_was_tightened_breaks_is_not_vouched_for(folder, typed):
    sys.modules.pop("vouched_items")
    (folder.root / "vouched_items.py").write_text(MODULE.replace("label: str", "label: int "))
    (done,) = vouch_all([typed])
    assert done.refusal.code == "unchecked"
    (done,) = vouch_all([typed], importing=True)
    assert done.refusal.code == "breaks-contract"


def test_an_entry_that_could_not_be_checked_is_not_vouched_for(folder, predating):
    folder.edit(predating, '"openai-chat/1"', '"openai-chat/99"')
    (done,) = vouch_all([predating])
    assert done.refusal.code == "unchecked"
    assert "vouched" not in load(predating).provenance


def test_an_entry_that_the_contract_of_today_does_not_select_is_not_vouched_for(folder, predating):
    folder.settings('watch = ["parse.py"]\non = "tool:save"')
    before = predating.read_bytes()
    (done,) = vouch_all([predating])
    assert (done.refusal.code, done.note) == ("unchecked", {})
    assert "contract 'items' does not select it today" in done.refusal.message
    assert predating.read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"Sort this"', '"Sort that"', "its request does not give the stored key"),
        ('"good"', '"reject:json"', "a refused answer"),
        ('"onetake": 1', '"onetake": 1,', "unreadable entry"),
    ],
)
def test_a_damaged_entry_is_not_vouched_for(folder, predating, old, new, why):
    folder.edit(predating, old, new)
    before = predating.read_bytes()
    (done,) = vouch_all([predating])
    assert done.refusal.code == "broken"
    assert why in done.refusal.message
    assert predating.read_bytes() == before


@pytest.mark.parametrize("old", ['"test": "', '"watch": "'])
def test_of_an_entry_that_holds_a_secret_itself_the_check_says_what_mends_it(folder, predating, old):
    text = predating.read_text()
    predating.write_text(text.replace(old, old + "sk-proj-" + "Ab1" * 16 + "-", 1))
    (found,) = [one for one in folder.findings() if one.code == "secret"]
    before = predating.read_bytes()
    (done,) = vouch_all([predating])
    assert done.refusal == found
    assert predating.read_bytes() == before


def test_an_entry_without_a_parser_is_refused(folder, answer):
    (unwatched,) = folder.record()
    (unjudged,) = folder.record(contract=None, folder="cassettes/other")
    done = vouch_all([unwatched, unjudged])
    assert [one.refusal.message.split(",")[0] for one in done] == [
        "contract 'items' watches no file",
        "no contract judged its answer",
    ]
    (folder.root / "onetake.toml").write_text("")
    (done,) = vouch_all([unwatched])
    assert done.refusal.message.startswith("contract 'items' is declared nowhere")


def test_one_that_is_refused_keeps_no_other_from_being_vouched_for(folder, parser, answer):
    first, second = folder.record(("one", answer), ("two", answer))
    parser.write_text(FIXED)
    folder.edit(first, '"good"', '"fine"')
    done = {one.path: one.refusal is None for one in vouch_all([first, second])}
    assert done == {first: False, second: True}
    assert "vouched" in load(second).provenance


def test_they_come_in_the_order_in_which_they_were_named(folder, parser, answer):
    a, b = folder.record(("one", answer), ("two", answer))
    (c,) = folder.record(("three", answer), folder="cassettes/other")
    parser.write_text(FIXED)
    named = [b, c, a, c, b]
    assert [one.path for one in vouch_all(named)] == [b, c, a]
    assert folder.codes() == []


def test_a_file_that_is_no_entry_is_named_before_anything_is_written(folder, predating):
    (folder.root / "notes.json").write_text("{}")
    with pytest.raises(UsageError, match=r"notes\.json: this file is no entry"):
        vouch_all([predating, folder.root / "notes.json"])
    assert "vouched" not in load(predating).provenance


def test_a_link_is_not_followed(folder, predating):
    other = predating.rename(folder.root / "other.json")
    try:
        predating.symlink_to(other)
    except OSError:
        pytest.skip("no links here")
    before = other.read_bytes()
    (done,) = vouch_all([predating])
    assert "symbolic link" in done.refusal.message
    assert other.read_bytes() == before


def test_what_others_note_meanwhile_is_kept(folder, parser, answer):
    first, second = folder.record(("one", answer), ("two", answer))
    parser.write_text(FIXED)
    threads = [Thread(target=vouch_all, args=([path],)) for path in (first, second, first, second)]
    for thread in threads:
        thread.start()
    amend(first, load(first), lambda provenance: {**provenance, "pinned": {"reason": "kept"}})
    for thread in threads:
        thread.join()
    assert folder.codes() == []
    assert {"pinned", "vouched"} <= load(first).provenance.keys()


def test_what_watches_a_file_that_cannot_be_parsed_is_not_vouched_for(folder, parser, predating):
    before = predating.read_bytes()
    (folder.root / "more.py").write_text("x = 1\n")
    folder.settings('watch = ["*.py"]')
    parser.write_text("x=(\n")
    (done,) = vouch_all([predating])
    assert done.refusal.message.endswith("nobody saw it at work: parse.py (line 1: '(' was never closed)")
    assert "'items'" in done.refusal.message
    assert predating.read_bytes() == before
    parser.write_text(FIXED)
    (done,) = vouch_all([predating])
    assert done.refusal is None


def test_what_watches_a_file_that_is_gone_is_not_vouched_for(parser, predating):
    before = predating.read_bytes()
    parser.unlink()
    (done,) = vouch_all([predating])
    assert done.refusal.message.startswith("contract 'items' watches 'parse.py', and there is no such file")
    assert done.refusal.mend == "put the file back where it can be read, or mend `watch` of the contract"
    assert predating.read_bytes() == before


def test_what_a_contract_that_is_wrong_cannot_judge_is_not_vouched_for(folder, predating):
    before = predating.read_bytes()
    (folder.root / "items.json").unlink()
    (done,) = vouch_all([predating])
    assert done.refusal.code == "unchecked"
    assert done.refusal.message.startswith("nothing judges its answer: contract 'items': schema file ")
    assert predating.read_bytes() == before
