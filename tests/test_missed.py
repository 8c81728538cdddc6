"""What sessions refused for want of an entry, noted so that it can be asked about afterwards."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from onetake.errors import InteractionNotFound, UsageError
from onetake.key import RECIPES, Keyer
from onetake.missed import missed_in
from onetake.model import Mode
from onetake.options import Options
from onetake.session_run import SessionRun
from onetake.settings import KeyRules, Settings, load_settings
from onetake.steps import Flow
from onetake.stores.directory import DirectoryStore

SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8" * 3


@pytest.fixture
def session(tmp_path):
    """Return a function that makes a session of mode `none` in this folder."""

    def make(name="c", test="", settings=None, mode="none", **own):
        own = {"owned": bool(test), **own}
        inherited = own.pop("inherited", None)
        owned = own.pop("owned")
        options = Options(name, mode, **own)
        return SessionRun(options, settings or Settings(tmp_path), Mode.NONE, test, owned=owned, inherited=inherited)

    return make


def ask(run, *requests):
    """Have each refused; returns the refusals."""
    found = []
    for request in requests:
        with pytest.raises(InteractionNotFound) as caught:
            run.session._engine.begin(request, Flow("one"), "httpx2 1.0")
        found.append(caught.value)
    return found


def end(run):
    run.settle(UsageError("it failed"))


def keys(root):
    return [one.key for one in missed_in(root)]


def test_a_miss_is_noted_as_it_was_asked_and_keyed(session, direct, tmp_path):
    request = direct.chat("Sort this", temperature=0.5)
    ask(session("cassettes/a", "tests/test_a.py::test_b"), request)
    (one,) = missed_in(tmp_path)
    assert (one.folder, one.test, one.ordinal) == (tmp_path / "cassettes/a", "tests/test_a.py::test_b", 0)
    assert (one.request.method, one.request.url, one.request.body) == (request.method, request.url, request.body)
    assert (one.key, one.key_spec.recipe) == (Keyer().key(request), RECIPES[0])
    assert one.at.endswith("Z")


def test_secrets_are_no_part_of_it(session, direct, tmp_path):
    request = direct.chat(f"my key is {SECRET}", headers=(("authorization", f"Bearer {SECRET}"),))
    ask(session(), request)
    (one,) = missed_in(tmp_path)
    assert b"[openai key" in one.request.body
    assert "request.headers.authorization" in one.scrubbed
    assert one.key == Keyer().key(one.request)
    found = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in found


def test_what_the_last_look_finds_is_not_written(session, direct, tmp_path):
    ask(session(), direct.chat("x", blob="data:;base64," + __import__("base64").b64encode(SECRET.encode()).decode()))
    assert all(SECRET not in one.request.body.decode() for one in missed_in(tmp_path))


def test_binary_bodies_and_odd_texts_come_back_as_they_were(session, direct, tmp_path):
    first = direct.chat("Grüße \u202e \u2028 \x00", also="\ud800".encode("utf-8", "replace").decode())
    second = type(first)("POST", "https://api.openai.com/v1/audio/transcriptions", (), b"\xff\xfe\x00\n\r")
    ask(session(), first, second)
    assert sorted(one.request.body for one in missed_in(tmp_path)) == sorted([first.body, second.body])


def test_the_rules_and_contracts_in_force_are_noted(session, direct, tmp_path):
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    (tmp_path / "s.json").write_text(json.dumps(schema), encoding="utf-8")
    (tmp_path / "onetake.toml").write_text(
        '[contracts.items]\nschema = "s.json"\nschema_version = 3\n[key]\nvolatile = ["today"]\n', encoding="utf-8"
    )
    run = session(settings=load_settings(tmp_path), contract="items", key=KeyRules(ignore=("$.user",)))
    ask(run, direct.chat("x", user="me"))
    (one,) = missed_in(tmp_path)
    keyer, days = Keyer.from_spec(one.key_spec.rules)
    assert one.key == keyer.key(one.request, days)
    assert one.key_spec.rules["ignore"] == ["$.user"]
    assert [(ref.name, ref.schema_version, ref.schema) for ref in one.contracts] == [
        ("items", 3, run.contracts[0].digest)
    ]


def test_a_session_of_the_same_test_begins_anew_and_no_other_does(session, direct, tmp_path):
    ask(session("c", "t.py::a"), direct.chat("one"))
    ask(session("d", "t.py::b"), direct.chat("two"))
    ask(session("c", "t.py::c", owned=False), direct.chat("three"))
    session("c", "t.py::a")
    assert sorted((one.test, one.folder.name) for one in missed_in(tmp_path)) == [("t.py::b", "d"), ("t.py::c", "c")]
    assert [one.test for one in missed_in(tmp_path, tmp_path / "d")] == ["t.py::b"]


def test_sessions_without_a_test_share_a_run(session, direct, tmp_path):
    ask(session(), direct.chat("one"))
    ask(session(), direct.chat("two"))
    assert len(missed_in(tmp_path)) == 2
    for path in tmp_path.glob(".onetake/missed/*/*"):
        os.utime(path, (1, 1))  # of an earlier process
    ask(session(), direct.chat("three"))
    assert keys(tmp_path) == [Keyer().key(direct.chat("three"))]


def test_a_child_clears_nothing_and_a_session_that_is_off_neither(session, direct, tmp_path):
    parent = session("c", "t.py::a")
    ask(parent, direct.chat("one"))
    child = session("c", "t.py::a", inherited=("", tmp_path / ".onetake/children/x", ""))
    ask(child, direct.chat("two"))
    session("c", "t.py::a", mode="off")
    assert len(missed_in(tmp_path)) == 2


def test_what_is_stored_meanwhile_is_left_out(session, direct, tmp_path):
    ask(session(), direct.chat("one"), direct.chat("two"))
    engine = direct(DirectoryStore(tmp_path / "c"))
    engine.answer(engine.ask("one"), "said")
    assert keys(tmp_path) == [Keyer().key(direct.chat("two"))]


def test_what_was_expected_is_no_miss(session, direct, tmp_path):
    run = session("c", "t.py::a")
    with run.session.expect_refusal():
        run.session._engine.begin(direct.chat("one"), Flow("one"))
    ask(run, direct.chat("two"))
    end(run)
    assert keys(tmp_path) == [Keyer().key(direct.chat("two"))]


def test_what_the_session_replayed_is_told(session, direct, tmp_path):
    engine = direct(DirectoryStore(tmp_path / "c"))
    engine.answer(engine.ask("one"), "said")
    run = session("c", "t.py::a")
    run.session._engine.begin(direct.chat("one"), Flow("one"))
    ask(run, direct.chat("two"))
    assert missed_in(tmp_path)[0].used == frozenset()
    end(run)
    assert missed_in(tmp_path)[0].used == {(Keyer().key(direct.chat("one"))[:16], 0)}


def test_a_request_that_is_asked_once_more_than_it_was_recorded_is_none(session, direct, tmp_path):
    engine = direct(DirectoryStore(tmp_path / "c"))
    engine.answer(engine.ask("one"), "said")
    run = session()
    run.session._engine.begin(direct.chat("one"), Flow("one"))
    ask(run, direct.chat("one"))
    assert missed_in(tmp_path) == []


def test_one_request_is_noted_once_whatever_thread_asks_it(session, direct, tmp_path):
    run = session()

    def refused(number):
        try:
            run.session._engine.begin(direct.chat(f"line {number % 4}"), Flow(number))
        except InteractionNotFound:
            return True
        return False

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(refused, range(32)))
    (path,) = tmp_path.glob(".onetake/missed/*/*")
    assert len(path.read_bytes().splitlines()) == len(missed_in(tmp_path)) == 4


def test_a_place_keeps_only_so_many(session, direct, tmp_path, monkeypatch):
    monkeypatch.setattr("onetake.missed._MOST", 3)
    ask(session(), *(direct.chat(f"line {number}") for number in range(5)))
    assert len(missed_in(tmp_path)) == 3
    monkeypatch.setattr("onetake.missed._LARGEST", 10)
    ask(session("d"), direct.chat("x"))
    assert missed_in(tmp_path, tmp_path / "d") == []


def test_what_cannot_be_written_changes_no_refusal(session, direct, tmp_path):
    (tmp_path / ".onetake").mkdir()
    (tmp_path / ".onetake/missed").write_bytes(b"a file stands where the folder should be")
    run = session()
    assert "no interaction is stored" in str(ask(run, direct.chat("x"))[0])
    end(run)
    assert missed_in(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"onetake_missed": 2, "request": {}}',
        b'{"onetake_missed": 1, "request": {}}',
        b'{"onetake_missed": 1, "request": [], "refusal": "x"}',
        b'{"onetake_missed": 1, "expected": 4, "used": 5}',
        b'{"onetake_missed": 1, "expected": [], "used": [[1]]}',
        b"[" * 200_000,
        b'{"onetake_missed": 1, "request": {"method": "POST"',
        b'{"a": ' + b"9" * 5000 + b"}",
    ],
)
def test_a_line_that_is_damaged_is_left_out_and_the_others_count(session, direct, tmp_path, line):
    ask(session(), direct.chat("one"))
    (path,) = tmp_path.glob(".onetake/missed/*/*")
    path.write_bytes(line + b"\n" + path.read_bytes() + line)
    assert keys(tmp_path) == [Keyer().key(direct.chat("one"))]


def test_git_does_not_see_it(session, direct, tmp_path):
    ask(session(), direct.chat("one"))
    assert (tmp_path / ".onetake/.gitignore").read_bytes() == b"*\n"
    names = {part for path in tmp_path.rglob("*") for part in path.relative_to(tmp_path).parts}
    assert all(len(Path(name).name) < 40 and not set(name) & set('<>:"|?*\\') for name in names)
