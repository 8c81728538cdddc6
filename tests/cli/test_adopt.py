"""`onetake adopt`: what it shows, what it writes, and with which exit code."""

from __future__ import annotations

import json

import pytest

from onetake.errors import InteractionNotFound
from onetake.model import Mode
from onetake.options import Options
from onetake.session_run import SessionRun
from onetake.settings import load_settings
from onetake.steps import Flow


@pytest.fixture
def miss(project):
    """Return a function that has a session of the test that recorded these entries ask requests in vain."""

    def run(*requests):
        test = "tests/test_a.py::test_b"
        session = SessionRun(Options("cassettes/a", "none"), load_settings(project), Mode.NONE, test)
        for request in requests:
            with pytest.raises(InteractionNotFound):
                session.session._engine.begin(request, Flow("one"))

    return run


@pytest.fixture
def missing(project, store, make_entry, direct, miss):
    """Return a function that stores what was asked in these words, and misses the same with fields added."""

    def run(*texts, **more):
        store(*(make_entry(text, contract=None) for text in texts))
        miss(*(direct.chat(text, **more) for text in texts))
        return project / "cassettes/a"

    return run


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_without_misses_there_is_nothing_to_adopt(run, project):
    assert run("adopt") == (
        0,
        "nothing to adopt: what the last runs asked for is stored, or nothing was missed\n",
        "",
    )
    assert json.loads(run("adopt", "--json")[1]) == {
        "groups": [],
        "unexplained": [],
        "left": [],
        "written": [],
        "failed": [],
        "done": False,
    }


def test_it_shows_each_difference_and_writes_nothing(run, missing):
    folder = missing("one", "two", store=False)
    before = names(folder)
    code, said, _ = run("adopt")
    assert code == 0
    assert "2 requests missed\n  body$.store: added false\n" in said
    assert said.endswith("2 entries would be written: `onetake adopt --yes` does it\n")
    assert names(folder) == before


def test_yes_writes_new_entries_beside_the_old(run, missing):
    folder = missing("one", "two", store=False)
    before = names(folder)
    code, said, _ = run("adopt", "--yes", "--reason", "since 2.0")
    assert (code, said.splitlines()[-1]) == (
        0,
        "2 entries written; the old ones stay until you run all tests, then `onetake prune --superseded`",
    )
    assert set(before) < set(names(folder))
    assert len(names(folder)) == 4
    assert run("adopt")[0] == 0
    code, said, _ = run("check", "--json")
    adopted = [one for one in json.loads(said)["findings"] if one["code"] == "adopted"]
    assert [(one["severity"], "since 2.0" in one["message"]) for one in adopted] == [("info", True)] * 2


def test_its_document(run, missing):
    missing("one", store=False)
    document = json.loads(run("adopt", "--yes", "--json")[1])
    (group,) = document["groups"]
    assert group["difference"] == [{"kind": "added", "path": "body$.store", "old": None, "new": "false"}]
    (entry,) = group["entries"]
    assert (group["misses"], entry["cassette"], entry["ordinal"], entry["missed"]) == (1, "cassettes/a", 0, True)
    assert document["written"] == [f"cassettes/a/chat-gpt-5-{entry['key'][:16]}.json"]
    assert document["done"] is True


def test_one_difference_may_be_adopted_alone(run, missing):
    missing("Sort one thing", "Sort another thing entirely", store=False)
    name = json.loads(run("adopt", "--json")[1])["groups"][0]["name"]
    assert run("adopt", "--only", name, "--yes")[0] == 0
    code, _, said = run("adopt", "--only", "nonsense")
    assert (code, "no difference has that name" in said) == (2, True)


def test_an_edited_prompt_is_written_only_where_it_is_named(run, project, store, make_entry, direct, miss):
    store(make_entry("Is Paris the capital?", contract=None), make_entry("Sort it", contract=None))
    miss(direct.chat("Is London the capital?"), direct.chat("Sort it", store=False))
    folder = project / "cassettes/a"
    code, said, _ = run("adopt")
    name = next(one["name"] for one in json.loads(run("adopt", "--json")[1])["groups"] if one["cautions"])
    named = f"1 entry of {name}, which has a caution: `onetake adopt --only {name} --yes` writes them\n"
    assert (code, said.splitlines()[-2]) == (0, "1 entry would be written: `onetake adopt --yes` does it")
    assert said.endswith(named)
    code, said, _ = run("adopt", "--yes")
    assert (code, len(names(folder)), said.endswith(named)) == (1, 3, True)
    code, said, _ = run("adopt", "--yes")
    assert (code, len(names(folder)), "nothing was written\n" in said, "old ones" in said) == (1, 3, True, False)
    code, said, _ = run("adopt", "--only", name)
    assert (code, f"would be written: `onetake adopt --only {name} --yes` does it" in said) == (0, True)
    assert (run("adopt", "--only", name, "--yes")[0], len(names(folder))) == (0, 4)


def test_numbers_say_what_they_are_of(run, store, make_entry, direct, miss):
    store(*(make_entry("one", contract=None, ordinal=ordinal) for ordinal in (0, 1)))
    miss(direct.chat("one", store=False))
    _, said, _ = run("adopt", "cassettes")
    assert ": 1 request missed\n" in said
    assert "entries  2 for what was missed: one for each answer that a request has\n" in said
    assert said.endswith("2 entries would be written: `onetake adopt cassettes --yes` does it\n")


def test_what_is_refused_is_said_with_what_mends_it_and_fails(run, missing):
    folder = missing("one", model="gpt-6")
    code, said, _ = run("adopt", "--yes")
    assert code == 1
    assert 'refused  another model is asked: "gpt-5" is now "gpt-6"' in said
    assert "mend     pytest --record-mode=new_episodes tests/test_a.py::test_b" in said
    assert len(names(folder)) == 1
    name = json.loads(run("adopt", "--json")[1])["groups"][0]["name"]
    assert run("adopt", "--only", name)[0] == 2


def test_what_is_like_nothing_is_not_explained_and_fails(run, miss, direct):
    miss(*(direct.chat(f"\x1b[31mred {number}") for number in range(12)))
    code, said, _ = run("adopt")
    assert code == 1
    assert said.count("is not explained") == 10
    assert "and 2 more that are not explained" in said
    assert "\x1b" not in said
    assert len(json.loads(run("adopt", "--json")[1])["unexplained"]) == 12


def test_a_prompt_is_printed_without_its_control_characters(run, missing, direct, project):
    missing("one thing to sort", "another \x1b[31mthing\u202e to sort", store=False)
    assert not {"\x1b", "\u202e"} & set(run("adopt")[1])


def test_only_the_named_folder_counts(run, missing, project):
    missing("one", store=False)
    (project / "elsewhere").mkdir()
    assert "nothing to adopt" in run("adopt", "elsewhere")[1]
    assert "1 request missed" in run("adopt", "cassettes")[1]
    code, _, said = run("adopt", "nowhere")
    assert (code, said) == (2, "onetake: nowhere: there is no such folder\n")


def test_a_file_is_said_to_be_one(run, missing):
    folder = missing("one", store=False)
    path = f"cassettes/a/{names(folder)[0]}"
    code, _, said = run("adopt", path)
    assert (code, said) == (2, f"onetake: {path}: is a file: name its folder\n")
