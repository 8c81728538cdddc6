"""`onetake vouch`."""

from __future__ import annotations

import json
import shlex
import sys

import pytest


@pytest.fixture
def entry(project, store, make_entry):
    """An entry that was recorded before its contract watched a parser."""
    (project / "parse.py").write_text("def parse(text):\n    return text\n")
    (project / "triage.json").write_text('{"type": "string"}')
    settings = '[contracts.triage]\nschema = "triage.json"\nschema_version = 2\nwatch = ["parse.py"]\n'
    (project / "onetake.toml").write_text(settings)
    (path,) = store(make_entry(said='"fine"'))
    return path


def test_an_entry_is_vouched_for_by_its_path_or_its_key(run, entry, project):
    key = json.loads(entry.read_bytes())["key"]
    code, out, err = run("vouch", entry.relative_to(project), key[:10], "--reason", "read it")
    assert (code, out, err) == (0, f"vouched for: {entry.relative_to(project).as_posix()}\n", "")
    assert json.loads(entry.read_bytes())["provenance"]["vouched"]["reason"] == "read it"
    assert run("check", "--strict")[0] == 0
    assert run("show", entry)[1].split("vouched")[1].split("\n")[0].endswith(": read it")
    ((cassette,), noted) = (
        json.loads(run("list", "--json")[1])["cassettes"],
        json.loads(entry.read_bytes())["provenance"],
    )
    assert cassette["entries"][0]["vouched"] == noted["vouched"]["at"]


def test_what_is_refused_says_why_and_what_mends_it(run, entry, project):
    settings = project / "onetake.toml"
    settings.write_text(settings.read_text().replace("schema_version = 2", "schema_version = 3"))
    code, out, _ = run("vouch", entry.relative_to(project), "--reason", "read it")
    assert code == 1
    assert out.startswith(f"refused: {entry.relative_to(project).as_posix()}\n  schema-bumped: it was recorded under")
    assert "mend: pytest --record-mode=new_episodes tests/test_a.py::test_b" in out


def test_json_tells_both(run, entry, store, make_entry):
    (unjudged,) = store(make_entry("two", contract=None), folder="cassettes/b")
    code, out, _ = run("vouch", entry, unjudged, "--reason", "read it", "--json")
    told = json.loads(out)
    assert code == 1
    ((vouched,), (refused,)) = told["vouched"], told["refused"]
    assert (vouched["path"], vouched["reason"]) == ("cassettes/a/" + entry.name, "read it")
    assert vouched["key"] == json.loads(entry.read_bytes())["key"]
    assert (refused["path"], refused["code"]) == ("cassettes/b/" + unjudged.name, "unchecked")
    assert {"key", "ordinal", "message", "mend"} <= refused.keys()


def test_a_reason_is_asked_for_and_a_key_must_be_there(run, entry):
    assert run("vouch", entry)[0] == 2
    assert run("vouch", entry, "--reason", " ")[0] == 2
    command = json.loads(run("status", "--json")[1])["entries"][0]["command"]
    code, out, err = run(*shlex.split(command)[1:])
    assert (code, out) == (2, "")
    assert err == "onetake: --reason 'what you looked at' only stands for your own words: look, and say what you saw\n"
    assert "vouched" not in json.loads(entry.read_bytes())["provenance"]
    assert run("vouch", "0123abcd", "--reason", "read it")[0] == 2
    assert run("vouch", "--reason", "read it")[0] == 2


def test_what_a_note_holds_is_shown_without_control_sequences(run, store, make_entry):
    note = {"at": "2026-03-01T10:00:00Z", "reason": "fine \x1b[31mred", "by": "Ann", "commit": "ab" * 20}
    first, second = store(
        make_entry(provenance={"vouched": note}), make_entry("two", provenance={"vouched": ["\x1b[0mwhat"]})
    )
    out = run("show", first)[1]
    assert "2026-03-01T10:00:00Z, at commit abababababab, by Ann: fine red" in out
    assert "what" in run("show", second)[1]
    code, listed, _ = run("list")
    assert (code, "\x1b" in listed, listed.count("2026-03-01 10:00:00")) == (0, False, 1)


def test_the_cassettes_are_listed_once_for_all_keys(run, entry, store, make_entry, project):
    other = store(make_entry("other", said='"fine"'))[0]
    keys = [json.loads(path.read_bytes())["key"][:12] for path in (entry, other)]
    listed = []

    def note(event, arguments):
        if event == "os.scandir" and noting and str(arguments[0]).endswith("cassettes"):
            listed.append(arguments[0])

    noting = [True]
    sys.addaudithook(note)
    try:
        one = run("vouch", keys[0], "--reason", "read it")[0], len(listed)
        both = run("vouch", *keys, "--reason", "read them")[0], len(listed) - one[1]
    finally:
        noting.clear()
    assert (one[0], both[0]) == (0, 0)
    assert one[1] == both[1] > 0
