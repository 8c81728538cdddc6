"""A program's session: its name and settings, what it goes by, and what is said of it at the end."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

import onetake
from onetake import programs
from onetake.errors import InteractionNotFound
from onetake.model import Mode, Repeats
from onetake.options import policy_of
from onetake.programs import Ending, Program, program_of
from onetake.settings import Settings
from onetake.steps import Flow


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    (tmp_path / "onetake.toml").touch()
    monkeypatch.chdir(tmp_path)
    for name in ("ONETAKE_CASSETTE", "ONETAKE_MODE", "CI"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("command", "name", "file"),
    [
        ("python app.py --flag x.py", "app", "app.py"),
        ("/usr/bin/python3.12 -X dev -W error -u tools/label.py", "label", "tools/label.py"),
        (r"C:\py\python.exe tools\label.py", "label", r"tools\label.py"),
        ("pypy3 -OO app.py", "app", "app.py"),
        ("python -m app.worker app.py", "app.worker", None),
        ("python -mapp", "app", None),
        ("python -c pass app.py", "python", None),
        ("python - app.py", "python", None),
        ("python", "python", None),
        ("python -X", "python", None),
        ("./app.py 1", "app", "./app.py"),
        ("/venv/bin/uvicorn app:app --workers 2", "uvicorn", None),
        (r"C:\venv\Scripts\uvicorn.exe app:app", "uvicorn", None),
        ("bash run.sh", "bash", None),
    ],
)
def test_a_program_is_called_by_its_file_or_module(command, name, file):
    assert program_of(command.split()) == Program(name, Path(file) if file else None)


def test_settings_are_looked_for_from_the_main_file_on_else_from_the_current_folder(tmp_path):
    assert program_of(["python", "tools/app.py"]).start == tmp_path / "tools" / "app.py"
    assert program_of(["python", "-m", "app"]).start == tmp_path


def options(cassette=None):
    return programs.options_of(Program("label"), cassette)


def test_the_cassette_is_what_is_given_then_the_environments_then_the_programs_own(monkeypatch):
    assert options().name == "cassettes/label"
    assert programs.options_of(Program("a:b"), None).name.startswith("cassettes/a_b~")
    monkeypatch.setenv("ONETAKE_CASSETTE", "env")
    assert (options().name, options("own").name) == ("env", "own")


def test_one_answer_serves_all_unless_something_else_is_said():
    def repeats(settings, **asked):
        options = programs.options_of(Program("label"), None, **asked)
        return policy_of(options, Settings(Path("/root"), **settings), Mode.NONE).repeats

    said = {"repeats": Repeats.SEQUENCE}
    assert repeats({}) is Repeats.SAME
    assert repeats({}, repeats="sequence") is Repeats.SEQUENCE
    assert repeats(said) is Repeats.SEQUENCE
    assert repeats(said, repeats="same") is Repeats.SAME


def session(mode, **asked):
    return programs.session_of(Program("app"), "c", mode=mode, **asked)


def ask(provider, text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(provider.url + "/v1/chat/completions", json=body)


def test_an_answer_that_came_when_anothers_was_stored_is_paid_for_and_counted(provider, direct):
    first, second = session("new_episodes"), session("new_episodes")
    request = direct.chat("q", url=f"{provider.url}/v1/chat/completions")
    calls = [run.session._engine.begin(request, Flow("one", may_wait=False)) for run in (first, second)]
    for run, call in zip((first, second), calls, strict=True):
        run.session._engine.commit(run.session._engine.judge(call, direct.said("a")))
    counts = [programs.end(run, None, is_program=True).counts for run in (first, second)]
    assert [(one["recorded"], one["unstored"]) for one in counts] == [(1, 0), (0, 1)]


def test_the_end_counts_what_was_done_and_gives_each_refusal_once_with_its_times(provider):
    run = session("new_episodes")
    run.open()
    for text in ("one", "two", "one"):
        ask(provider, text)
    first = programs.end(run, None, is_program=True)
    assert first.counts == {"recorded": 2, "replayed": 1, "rejected": 0, "failed": 0, "unstored": 0, "refused": 0}
    assert (first.refusals, first.code) == ({}, 0)
    assert first.text() == "onetake: c (new_episodes): 2 recorded, 1 replayed\n"

    run = session("none")
    run.open()
    for text in ("one", "three", "three", "four"):
        try:
            ask(provider, text)
        except InteractionNotFound:
            continue
    ending = programs.end(run, None, is_program=True)
    assert (ending.counts["replayed"], ending.counts["refused"], ending.code) == (1, 3, 6)
    assert list(ending.refusals.values()) == [2, 1]
    three, four = ending.text().split("onetake: ")[2:]
    assert three.startswith("2 times: no interaction") and '"three"' in three
    assert four.startswith("no interaction") and '"four"' in four
    assert provider.count == 2


def test_the_highest_code_of_what_was_refused_counts(provider):
    contract = onetake.Contract({"type": "object"}, name="label")
    run = session("new_episodes", contract=contract)
    run.open()
    try:
        ask(provider, "one")
    except BaseException as error:  # noqa: BLE001 - as a framework swallows it
        assert isinstance(error, onetake.ContractError)
    bad = programs.end(run, None, is_program=True)
    assert (bad.code, bad.counts["rejected"], bad.counts["refused"]) == (1, 1, 0)
    assert bad.text().startswith("onetake: c (new_episodes): 1 answer refused\n")

    run = session("none", contract=contract)
    run.open()
    with pytest.raises(InteractionNotFound):
        ask(provider, "one")
    run.ledger.write(onetake.ContractError("json", "asked"))
    assert programs.end(run, None, is_program=True).code == 6


def test_refusals_that_are_only_reported_are_told_and_change_no_code(provider, tmp_path):
    (tmp_path / "onetake.toml").write_text('refusals = "report"\n')
    run = session("none")
    run.open()
    with pytest.raises(InteractionNotFound):
        ask(provider, "one")
    ending = programs.end(run, None, is_program=True)
    assert (ending.code, len(ending.refusals)) == (0, 1)


def ending(mode=Mode.NONE, *, refusals=None, shown=(), joined=True, **counts):
    none = dict.fromkeys(("recorded", "replayed", "rejected", "unstored", "refused", "failed"), 0)
    return Ending("c", mode, none | counts, refusals or {}, frozenset(shown), (), joined, 0)


def test_a_screen_of_refusals_is_shown_and_the_others_are_counted():
    many = {f"no {n}:\n" + "  line\n" * 9 + "  last": 1 for n in range(30)}
    shown = ending(refusals=many).text()
    assert shown.count("onetake: no ") == 3
    assert shown.endswith("onetake: and 27 more that differ; each was said when it happened\n")
    long = ending(refusals={"no:\n" + "  line\n" * 200 + "  last": 1}).text()
    assert "last" in long


def test_of_a_refusal_that_was_said_where_the_end_is_said_one_line_is_enough():
    told = ending(refusals={"no one:\n  why": 2, "no two:\n  why": 1}, shown=["no one:\n  why"])
    assert told.text().splitlines()[1:] == ["onetake: 2 times: no one:", "onetake: no two:", "  why"]
    assert [one["text"] for one in told.as_json()["refusals"]] == ["no one:\n  why", "no two:\n  why"]


def test_a_refusal_counts_as_shown_where_standard_error_is_still_the_same(provider, tmp_path, monkeypatch):
    with (tmp_path / "here").open("w") as here, (tmp_path / "there").open("w") as there:
        monkeypatch.setattr("sys.stderr", here)
        run = session("none")
        run.open()
        for text in ("one", "two"):
            with pytest.raises(InteractionNotFound) as caught:
                ask(provider, text)
            monkeypatch.setattr("sys.stderr", there)
        assert programs.end(run, None, is_program=True).shown == {str(caught.value)}


def test_calls_that_failed_are_counted_by_what_was_asked_in_the_end(provider):
    run = session("new_episodes")
    run.open()
    provider.close()
    for text in ("one", "one", "two"):
        with pytest.raises(httpx.ConnectError):
            ask(provider, text)
    failed = programs.end(run, None, is_program=True)
    assert (failed.as_json()["failed"], failed.code) == (2, 0)
    assert failed.text() == "onetake: c (new_episodes): 2 calls failed, nothing kept of them\n"


def test_what_is_told_is_safe_for_a_terminal_and_counts_in_plain_words():
    told = ending(refusals={"no \x1b[31mred\x07": 1}, recorded=1, rejected=2, refused=1, unstored=1).text()
    assert "\x1b" not in told and "\x07" not in told
    assert "1 recorded, 2 answers refused, 1 answer not stored, 1 call refused" in told
    assert ending().text() == "onetake: c (none): nothing was recorded, replayed or refused\n"


def test_a_session_that_nobody_joined_says_so_and_only_a_sealed_one_was_unsealed():
    sealed, open_ = ending(joined=False), ending(Mode.NEW_EPISODES, joined=False)
    assert "so nothing was sealed" in sealed.text() and sealed.was_unsealed
    assert "so nothing was recorded or replayed" in open_.text() and not open_.was_unsealed
    assert "every call was live" in ending(Mode.OFF, joined=False).text()


def test_a_type_is_refused_where_the_programs_processes_would_have_to_judge_by_it():
    contract = onetake.Contract(int)
    with pytest.raises(onetake.UsageError, match="contract 'int' is a type"):
        programs.check_children_judge(session("new_episodes", contract=contract))
    programs.check_children_judge(session("none", contract=contract))
