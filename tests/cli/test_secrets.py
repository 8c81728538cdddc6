"""A secret lies in one field of an entry after the other, and in names: it is found, and no command prints it."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from dataclasses import replace

import pytest

from onetake import dialects
from onetake.format import dump_entry
from onetake.model import Answer, Choice, ToolCall, Violation
from onetake.upkeep.checking import check

SECRET = "sk-" + "proj-" + "abcdefghijklmnopqrstuvwxyz0123456789" + "ABCDEFGH"
TOLD = "abcdefghijkl"
"""The first characters behind what every such key begins with."""
TOOLS = [{"type": "function", "function": {"name": "tag", "parameters": {"type": "object"}}}]
IGNORED = frozenset(("$.onetake", "$.ordinal", "$.response.status", "$.contract.schema_version"))
"""Numbers: a text there cannot be read."""


@pytest.fixture
def entry(make_entry, project):
    """An entry that has every field, most of which one that is recorded has not."""
    (project / "onetake.toml").write_text("", encoding="utf-8")
    call = {"id": "call_1", "type": "function", "function": {"name": "tag", "arguments": '{"on":true}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    said = json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}).encode()
    made = make_entry(
        body=said,
        verdict="kept:violation",
        violations=(Violation("$.on", "a text", "true"),),
        metrics={"latency_ms": 7, "notes": ["fast"]},
        scrubbed=("request.headers.cookie",),
    )
    provenance = {
        **made.provenance,
        "commit": "0" * 40,
        "vouched": {"at": "2026-03-01T10:00:00Z", "reason": "seen", "watch": "0" * 64},
        "pinned": {"at": "2026-03-01T10:00:00Z", "reason": "golden"},
        "adopted": {"at": "2026-03-01T10:00:00Z", "from": "1" * 64, "reason": "alike"},
    }
    rules = {"ignore": ["$.user"], "replace": [{"pattern": "run-[0-9]+", "with": "run-ID"}]}
    made = replace(
        made,
        contract=replace(made.contract, watch="cd" * 32),
        provenance=provenance,
        response=replace(made.response, decoded="gzip"),
        key_spec=replace(made.key_spec, rules=rules),
    )
    answer = dialects.find("POST", made.request.url).read(made.request, made.response).answer
    assert answer == Answer((Choice(None, (ToolCall("tag", {"on": True}),), "tool_calls"),))
    return replace(made, answer=answer)


def places(tree, path="$"):
    """Yield where a tree holds a text, or an object that may hold one more: path, container, name."""
    members = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for name, value in list(members):
        here = f"{path}.{name}"
        if isinstance(value, dict | list):
            yield from places(value, here)
        elif here not in IGNORED:
            yield here, tree, name
    if isinstance(tree, dict) and not any(name.startswith("$") for name in tree):
        yield f"{path}.zz", tree, "zz"


@pytest.fixture
def laid(entry, project):
    """Each place of the entry, and a file of it that holds a secret there, in a folder of its own."""
    entry_file = json.loads(dump_entry(entry)[0])
    found = {}
    for number, (path, _, _) in enumerate(places(entry_file)):
        for how in ("value", "name"):
            tree = deepcopy(entry_file)
            _, container, name = next(each for each in places(tree) if each[0] == path)
            if how == "value":
                container[name] = SECRET
            elif name == "zz":
                container[SECRET] = 1
            else:
                continue
            file = project / f"cassettes/{number:03}-{how}/chat-gpt-5-{entry.key[:16]}.json"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")
            found[f"{path} ({how})"] = file
    assert len(found) > 70
    return found


def test_the_entry_is_sound_without_it(entry, store, project):
    store(entry)
    assert [one.code for one in check(project).findings] == ["kept", "adopted"]


def test_no_field_of_an_entry_is_forgotten(laid, project):
    codes = {}
    for one in check(project).findings:
        codes.setdefault(one.path, []).append(one.code)
    assert [place for place, file in laid.items() if "secret" not in codes.get(file, ())] == []


def test_rekey_takes_it_out_or_says_that_it_does_not(laid, run):
    _, out, _ = run("rekey", "--yes", "--json")
    left = {one["path"] for one in json.loads(out)["left"]}
    files = {place: list(file.parent.glob("*.json")) for place, file in laid.items()}
    kept = {place: laid[place] for place, each in files.items() if any(SECRET in one.read_text() for one in each)}
    assert [place for place, file in kept.items() if f"cassettes/{file.parent.name}/{file.name}" not in left] == []
    taken = laid.keys() - kept.keys()
    known = "$.answer.zz", "$.answer.choices.0.zz", "$.answer.choices.0.tool_calls.0.zz", "$.violations.0.expected"
    assert {f"{place} (value)" for place in (*known, "$.violations.0.zz", "$.zz", "$.scrubbed.0")} <= taken
    assert {"$.zz (name)", "$.provenance.zz (name)"} <= taken


WHOLE = [
    ("check",),
    ("check", "--strict", "--json"),
    ("status",),
    ("status", "--json"),
    ("status", "--table", "--json"),
    ("status", "--chain", "--json"),
    ("list",),
    ("list", "--json"),
    ("prune",),
    ("prune", "--json"),
    ("prune", "--older-than", "0h"),
    ("prune", "--older-than", "0h", "--json"),
    ("adopt",),
    ("adopt", "--json"),
    ("rekey",),
    ("rekey", "--json"),
    ("rekey", "--yes", "--json"),
]


def test_no_command_prints_it_of_any_field(laid, run):
    for words in WHOLE:
        _, out, err = run(*words)
        assert TOLD not in out + err, words
        assert out


EACH = [
    ("show",),
    ("show", "--json"),
    ("pin",),
    ("pin", "--json"),
    ("pin", "--remove"),
    ("vouch", "--reason", "seen"),
    ("vouch", "--reason", "seen", "--json"),
]


@pytest.mark.parametrize("words", EACH)
def test_no_command_prints_it_of_any_entry_that_is_named(laid, run, words):
    for place, file in laid.items():
        _, out, err = run(words[0], file, *words[1:])
        assert TOLD not in out + err, (place, words)


def test_it_is_found_and_not_printed_in_the_names_of_files_and_folders(store, make_entry, run, project):
    (project / "onetake.toml").write_text("", encoding="utf-8")
    plain, other = store(make_entry("one"), make_entry("two"))
    folder = project / "cassettes" / SECRET
    shutil.copytree(plain.parent, folder)
    renamed = plain.rename(plain.with_name(f"{SECRET}-{plain.name[-21:]}"))
    side = plain.parent / "_raw" / f"{SECRET}.json"
    side.parent.mkdir()
    side.write_text("{}", encoding="utf-8")
    found = [(one.path, one.message) for one in check(project).findings if one.code == "secret"]
    assert sorted(found) == sorted(
        [
            (renamed, "openai key in the name of the file"),
            (side, "openai key in the name of the file"),
            (folder / plain.name, "openai key in the name of the folder"),
            (folder / other.name, "openai key in the name of the folder"),
        ]
    )
    for words in WHOLE:
        _, out, err = run(*words)
        assert TOLD not in out + err, words


@pytest.mark.parametrize("above", [SECRET, "user-" + "a1B2c3D4" * 3])
def test_what_lies_above_the_project_is_no_name_of_its(store, make_entry, project, above):
    store(make_entry("one"))
    inner = project / above / "own"
    shutil.copytree(project / "cassettes", inner / "cassettes")
    (inner / "onetake.toml").write_text("", encoding="utf-8")
    assert "secret" not in [one.code for one in check(inner).findings]
