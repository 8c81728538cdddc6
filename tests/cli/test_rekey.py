"""`onetake rekey`: what it says, does and ends with."""

from __future__ import annotations

import json

import pytest

from onetake.cassette import Damaged
from onetake.cassette_files import read_entry
from onetake.key import Keyer
from onetake.model import Request

URL = "https://api.openai.com/v1/chat/completions"
TRACE = '[key]\nignore = ["$.trace"]\n'


@pytest.fixture
def traced(make_entry):
    """Return a function that makes an entry whose request has a trace."""

    def make(trace, said="Good day.", asked="Hello?", **fields):
        content = {"model": "gpt-5", "messages": [{"role": "user", "content": asked}], "trace": trace}
        request = Request("POST", URL, (("content-type", "application/json"),), json.dumps(content).encode())
        entry = make_entry(asked, said, **{"contract": None, "key": Keyer().key(request), **fields})
        return type(entry)(**{name: getattr(entry, name) for name in entry.__slots__} | {"request": request})

    return make


def stored(project):
    return sorted(path.name for path in project.glob("cassettes/a/*.json"))


def test_nothing_to_do_says_so_in_one_line(run, store, make_entry):
    store(make_entry(contract=None))
    assert run("rekey") == (0, "1 entry: all have their keys of today\n", "")


def test_nothing_there_is_no_error(run, project):
    assert run("rekey", "--yes") == (0, "0 entries: all have their keys of today\n", "")


def test_it_says_what_would_be_done_and_does_it_with_yes(run, project, store, traced, make_entry):
    (old, _) = store(traced(1), make_entry("other", contract=None))
    (project / "onetake.toml").write_text(TRACE)
    before = stored(project)
    code, out, err = run("rekey")
    assert (code, err, stored(project)) == (0, "", before)
    new = out.split(" -> ")[1].split("\n")[0]
    assert out == (f"cassettes/a  (1 entry)\n  {old.name} -> {new}\n\n1 of 2 entries to be re-keyed: `--yes` does it\n")
    code, out, err = run("rekey", "--yes")
    assert (code, err) == (0, "")
    assert out.endswith("1 of 2 entries re-keyed\n")
    assert new in stored(project)
    assert old.name not in stored(project)
    assert not isinstance(read_entry(project / "cassettes/a" / new), Damaged)
    assert run("rekey") == (0, "2 entries: all have their keys of today\n", "")


def test_in_json(run, project, store, traced):
    (old,) = store(traced(1, "I am badge-123456."))
    (project / "onetake.toml").write_text(TRACE + '[scrub]\npatterns = ["badge-[0-9]{6}"]\n')
    for words, done in (("rekey", "--json"), False), (("rekey", "--json", "--yes"), True):
        code, out, err = run(*words)
        told = json.loads(out)
        (move,) = told.pop("moves")
        assert (code, err) == (0, "")
        assert told == {
            "done": done,
            "entries": 1,
            "repeats": [],
            "collisions": [],
            "left": [],
            "kept_rules": [],
            "new_headers": [],
        }
        assert move["path"] == old.relative_to(project).as_posix()
        assert move["scrubbed"] == ["response.body$.choices[0].message.content"]
        assert (move["ordinal"], move["new_ordinal"]) == (0, 0)
        assert move["new_path"].endswith(f"{move['new_key'][:16]}.json")
        assert (project / move["new_path"]).is_file() is done
    assert old.exists() is False


def test_a_collision_is_told_with_the_choice_and_ends_with_1(run, project, store, traced):
    one, two = store(traced(1, "one"), traced(2, "two"))
    (project / "onetake.toml").write_text(TRACE)
    code, out, _ = run("rekey", "--yes")
    assert code == 1
    assert f"  {one.relative_to(project).as_posix()}  (of tests/test_a.py::test_b)\n" in out
    assert "    mend: look at them (`onetake diff " in out
    assert out.endswith("0 of 2 entries re-keyed, 2 left\n")
    assert run("rekey", "--yes", "--json")[0] == 1
    assert run("rekey", "--yes", "--first", two.name.split("-")[-1].removesuffix(".json"))[0] == 0
    entries = [read_entry(project / "cassettes/a" / name) for name in stored(project)]
    assert {entry.ordinal: entry.answer.choices[0].text for entry in entries} == {0: "two", 1: "one"}


def by(test, **provenance):
    return {"provenance": {"recorded_at": "2026-03-01T10:00:00Z", "test": f"tests/test_a.py::{test}", **provenance}}


def test_no_test_gets_the_answer_of_another_one(run, project, store, traced):
    """A key rule makes one request of what two tests of a cassette ask: each would ask once, and get the first."""
    later = by("test_b", recorded_at="2026-03-01T10:00:01Z")
    paths = sorted(store(traced(1, "one", **by("test_a")), traced(2, "two", **later)))
    tests = [read_entry(path).provenance["test"] for path in paths]
    (project / "onetake.toml").write_text(TRACE)
    before = stored(project)
    for words in (("rekey",), ("rekey", "--yes")):
        code, out, _ = run(*words)
        assert (code, stored(project)) == (1, before)
        names = [path.relative_to(project).as_posix() for path in paths]
        who = "".join(f"  {name}  (of {test})\n" for name, test in zip(names, tests, strict=True))
        so = "    their answers differ; not one test alone recorded them\n"
        assert f"{who}{so}    they become one request of several tests, and their answers differ" in out
        code, out, _ = run(*words, "--json")
        (told,) = json.loads(out)["collisions"]
        assert (code, told["answers"], told["tests"]) == (1, "differ", tests)
        assert (told["paths"], sorted(tests)) == (names, [f"tests/test_a.py::test_{x}" for x in "ab"])
    assert run("rekey", "--yes", "--first", paths[tests.index("tests/test_a.py::test_b")])[0] == 0
    entries = [read_entry(project / "cassettes/a" / name) for name in stored(project)]
    assert {entry.ordinal: entry.answer.choices[0].text for entry in entries} == {0: "two", 1: "one"}


@pytest.mark.parametrize(
    ("said", "tests", "answers"), [(("one", "one"), "ab", "equal"), (("one", "two"), "aa", "differ")]
)
def test_repeats_are_told_and_done(run, project, store, traced, said, tests, answers):
    facts = [by(f"test_{test}", recorded_at=f"2026-03-01T10:00:0{n}Z") for n, test in enumerate(tests)]
    paths = store(*(traced(n, text, **fact) for n, (text, fact) in enumerate(zip(said, facts, strict=True))))
    (project / "onetake.toml").write_text(TRACE)
    names = [path.relative_to(project).as_posix() for path in paths]
    code, out, _ = run("rekey")
    who = "".join(f"  {name}  (of tests/test_a.py::test_{test})\n" for name, test in zip(names, tests, strict=True))
    is_so = "are equal; not one test alone" if answers == "equal" else "differ; one test"
    assert code == 0
    assert f"come to one key, in this order: {out.split(' -> chat-gpt-5-')[1][:16]}\n" in out
    assert f"{who}    their answers {is_so} recorded them\n" in out
    for words in ((), ("--yes",)):
        (told,) = json.loads(run("rekey", "--json", *words)[1])["repeats"]
        assert (told["paths"], told["answers"]) == (names, answers)
        assert told["tests"] == [fact["provenance"]["test"] for fact in facts]
    entries = [read_entry(project / "cassettes/a" / name) for name in stored(project)]
    assert {entry.ordinal: entry.answer.choices[0].text for entry in entries} == dict(enumerate(said))


def test_a_damaged_entry_is_told_and_ends_with_1(run, project, store, traced):
    torn, _ = store(traced(1), traced(2, asked="other"))
    torn.write_bytes(torn.read_bytes()[:-30])
    (project / "onetake.toml").write_text(TRACE)
    code, out, _ = run("rekey", "--yes")
    assert code == 1
    assert f"left\n  {torn.relative_to(project).as_posix()}\n    unreadable entry: torn" in out
    assert out.endswith("1 of 2 entries re-keyed, 1 left\n")


def test_rules_that_no_settings_hold_are_kept_and_dropped_by_name(run, project, store, traced):
    (project / "onetake.toml").write_text(TRACE)
    rules = {"ignore": ["$.trace"]}
    entry = traced(1)
    keyer, _ = Keyer.from_spec(rules)
    spec = type(entry.key_spec)("k1", "s1", rules)
    store(traced(1, key=keyer.key(entry.request), key_spec=spec))
    (project / "onetake.toml").write_text("")
    code, out, _ = run("rekey")
    assert (code, out) == (
        0,
        'kept in 1 entry, as a marker or call may hold it: ignore = ["$.trace"]\n'
        "  if nothing holds it any more: --drop 'ignore = [\"$.trace\"]'\n"
        "1 entry: all have their keys of today\n",
    )
    (kept,) = json.loads(run("rekey", "--json")[1])["kept_rules"]
    assert kept == {"rules": ['ignore = ["$.trace"]'], "entries": 1}
    assert run("rekey", "--drop", 'ignore = ["$.trace"]', "--yes")[1].endswith("1 of 1 entry re-keyed\n")
    assert run("rekey", "--add", 'ignore = ["$.trace"]', "--yes")[1].endswith("1 of 1 entry re-keyed\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--drop", "ignore = "), "--drop: is no TOML"),
        (("--add", 'ingore = ["$.a"]'), "--add: key knows no 'ingore'; did you mean 'ignore'?"),
        (("--add", 'ignore = "$.a"'), "--add: key.ignore: must be a list"),
        (("--first", "nothing"), "no entry nothing"),
        (("nowhere",), "nowhere: there is no such folder"),
        (("onetake.toml",), "onetake.toml: is a file: name its folder"),
    ],
)
def test_a_wrong_use(run, project, words, said):
    code, out, err = run("rekey", *words)
    assert (code, out) == (2, "")
    assert said in err


def test_a_long_list_is_cut_in_text_and_whole_in_json(run, project, store, traced):
    store(*(traced(1, asked=f"ask {number}") for number in range(25)))
    (project / "onetake.toml").write_text(TRACE)
    assert "  and 5 more\n" in run("rekey")[1]
    assert len(json.loads(run("rekey", "--json")[1])["moves"]) == 25


def test_text_of_a_file_reaches_no_terminal_as_a_sequence(run, project, store, traced):
    entry = traced(1)
    rules = {"replace": [{"pattern": "\x1b.31m", "with": "\x1b[0m"}]}
    store(traced(1, key_spec=type(entry.key_spec)("k1", "s1", rules)))
    (project / "onetake.toml").write_text(TRACE)
    code, out, _ = run("rekey")
    assert code == 0
    assert "kept in 1 entry" in out
    assert "\x1b" not in out


def test_a_file_is_no_folder_and_what_is_not_there_is_none(run, store, make_entry):
    (path,) = store(make_entry(contract=None))
    assert run("rekey", str(path)) == (2, "", f"onetake: {path}: is a file: name its folder\n")
    assert run("rekey", "nowhere") == (2, "", "onetake: nowhere: there is no such folder\n")


def test_what_is_to_come_first_and_collides_with_nothing_is_a_wrong_use_and_nothing_is_done(
    run, project, store, traced, make_entry
):
    moving, apart = store(traced(1), make_entry("other", contract=None))
    (project / "onetake.toml").write_text(TRACE)
    before = stored(project)
    for path in (moving, apart):
        code, out, err = run("rekey", "--yes", "--first", str(path))
        assert (code, out, stored(project)) == (2, "", before)
        assert f"--first {path.as_posix()}" in err
        assert "no key that other entries get, too" in err
