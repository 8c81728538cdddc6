"""Every fault of an entry is found in a real, recorded one that was changed at one place, and nothing in a clean one."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import onetake
from onetake.errors import StoreError, UsageError
from onetake.upkeep.checking import check

KEY = "sk-proj-" + "Zq7" * 16


def edit(path, old, new):
    """Replace what stands once in a file."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8", newline="")


def line_of(path, text):
    """Return the number of the first line that holds a text."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_a_project_as_it_was_recorded_has_no_finding(folder, answer):
    folder.record(("one", answer), ("two", answer))
    report = check(folder.root)
    assert (report.findings, report.cassettes, report.entries) == ((), 1, 2)


# One change, one finding


def torn(path):
    path.write_bytes(path.read_bytes()[:-40])


def merged(path):
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:3], "<<<<<<< HEAD", *lines[3:]]), encoding="utf-8")


def reworded(path):
    edit(path, "Sort this", "Sort that")


def renamed(name):
    return lambda path: path.rename(path.with_name(name.format(hex=re.search("[0-9a-f]{16}", path.name)[0])))


BROKEN = {
    "torn": (torn, "unreadable entry: torn"),
    "merged": (merged, "unreadable entry: merge conflict markers (line 4)"),
    "emptied": (lambda path: path.write_bytes(b""), "unreadable entry: torn"),
    "of a newer version": (
        lambda path: edit(path, '"onetake": 1', '"onetake": 99'),
        "unreadable entry: written by a newer onetake (format 99",
    ),
    "of a newer recipe": (
        lambda path: edit(path, '"recipe": "k1"', '"recipe": "k9"'),
        "keyed under recipe 'k9', scrubbed under 's1': a newer onetake wrote it",
    ),
    "of an unknown rule": (
        lambda path: edit(path, '"scrub": "s1"', '"scrub": "s1", "rules": {"fold": ["$.a"]}'),
        "key rule 'fold' is unknown",
    ),
    "another question": (reworded, "its request does not give the stored key; it gives "),
    "another answer": (
        lambda path: edit(path, '"answer": {"choices": [{"json": {"label": "bug"', '"answer": {"choices": [{"json": {"label": "cat"'),
        "its answer is not what openai-chat/1 reads in its response",
    ),
    "no verdict": (lambda path: edit(path, '"good"', '"splendid"'), "the gate gives no verdict 'splendid'"),
    "a reject": (lambda path: edit(path, '"good"', '"reject:cut"'), "its verdict is 'reject:cut': a refused answer"),
    "an error": (lambda path: edit(path, '"status": 200', '"status": 429'), "its verdict is good, and the gate says"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_entry_is_named_and_the_others_are_still_checked(folder, answer, name):
    change, said = BROKEN[name]
    first, _ = sorted(folder.record(("Sort this", answer), ("two", answer)), key=lambda p: "Sort this" not in p.read_text())
    change(first)
    (found,) = folder.findings()
    assert (found.code, found.severity, found.path) == ("broken", "error", first)
    assert found.message.startswith(said)
    assert found.mend


@pytest.mark.parametrize(
    ("name", "line"), [("merged", "<<<<<<<"), ("another question", '"key"'), ("a reject", '"verdict"')]
)
def test_a_finding_says_the_line(folder, name, line):
    (path,) = folder.record()
    BROKEN[name][0](path)
    (found,) = folder.findings()
    assert found.line == line_of(path, line) > 1


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("chat-gpt-5-0123456789abcdef.json", "misnamed"),
        ("chat-gpt-5-{hex}-1.json", "misnamed"),
        ("greeting.json", "misnamed"),
        ("greeting-{hex}.json", "decoration"),
    ],
)
def test_a_file_of_a_wrong_name_is_noticed_and_told_the_right_one(folder, name, code):
    (path,) = folder.record()
    renamed(name)(path)
    (found,) = folder.findings()
    assert found.code == code
    assert found.mend == f"rename it to {path.name}"
    found.path.rename(found.path.with_name(path.name))
    assert folder.codes() == []


def test_another_json_file_in_a_cassette_is_nobodys_business(folder):
    (path,) = folder.record()
    path.with_name("notes.json").write_text('{"text": "onetake"}')
    assert folder.codes() == []


def test_two_files_of_one_key_and_ordinal(folder):
    (path,) = folder.record()
    shutil.copy(path, path.with_name(f"zebra-{path.name}"))
    assert folder.check() == [
        ("duplicate", f"cassettes/test_a/test_b/zebra-{path.name}", f"{path.name} has the same key and ordinal in its name, and is read in the place of this one"),
        ("decoration", f"cassettes/test_a/test_b/zebra-{path.name}", "its name has another decoration than an entry of this request has"),
    ]  # fmt: skip


# Secrets


@pytest.mark.parametrize(
    "change",
    [
        lambda path: edit(path, '"test": "', f'"test": "{KEY} '),
        lambda path: edit(path, "Sort this", f"Sort {KEY}"),
        lambda path: edit(path, "https://api.openai.com/", f"https://user:{KEY}@api.openai.com/"),
        lambda path: edit(path, '[["content-type", "application/json"]], "body": {"style": "spaced", "$json": {"model"', "x"),
    ][:3],
)  # fmt: skip
def test_a_secret_is_found_and_never_told(folder, change):
    (path,) = folder.record()
    change(path)
    found = [one for one in folder.findings() if one.code == "secret"]
    assert len(found) == 1
    assert (found[0].path, found[0].severity, found[0].line) == (path, "error", line_of(path, KEY))
    assert KEY not in found[0].message + found[0].mend


def test_a_secret_in_a_torn_file_and_in_a_sidecar_nobody_names(folder):
    (path,) = folder.record()
    edit(path, "Sort this", f"Sort {KEY}")
    torn(path)
    side = path.parent / "_raw"
    side.mkdir()
    (side / f"{'0' * 64}.sse").write_text(f"data: {KEY}")
    assert folder.codes() == ["broken", "secret", "unused-sidecar"]


def test_a_secret_in_a_small_binary_body(folder, direct):
    response = onetake_response(b"\xff\xfe" + KEY.encode())
    (path,) = folder.record((direct.chat("x", url="https://example.com/v1/blob"), response), contract=None)
    assert folder.codes() == []
    text = path.read_text()
    assert '"$base64"' in text


def onetake_response(body):
    from onetake.model import Response

    # What the scrub of recording takes out stands as its placeholder.
    return Response(200, (("content-type", "application/octet-stream"),), body)


def test_a_rule_that_came_later_finds_what_was_recorded_before_it(folder, answer):
    (path,) = folder.record(("Sort ticket T-4711", answer))
    folder.settings(top='[scrub]\npatterns = ["T-[0-9]{4}"]')
    (found,) = folder.findings()
    assert (found.code, found.path) == ("secret", path)
    assert "$.messages[0].content" in found.message


def test_a_header_that_carries_credentials_is_a_secret_by_its_name(folder):
    (path,) = folder.record()
    text = path.read_text()
    at = text.index('"headers": [') + len('"headers": [')
    path.write_text(text[:at] + '["authorization", "hunter2"], ' + text[at:])
    assert [(one.code, one.message) for one in folder.findings()] == [
        ("secret", "secret in the file at request.headers.authorization")
    ]


# Contracts


def test_a_raised_schema_version(folder):
    (path,) = folder.record()
    folder.settings("schema_version = 2")
    (found,) = folder.findings()
    assert (found.code, found.severity, found.line) == ("schema-bumped", "error", line_of(path, '"contract"'))
    assert found.message == "it was recorded under 'items' schema_version 1, which is 2 today"
    assert found.mend == "pytest --record-mode=new_episodes tests/test_a.py::test_b"


def test_a_tightened_schema_names_exactly_the_answers_that_break_it(folder, answer, items):
    """The frozen bug: tags were recorded as one text, under a contract that let anything pass."""
    loose = {"type": "object", "properties": {"label": {"type": "string"}, "tags": {}}, "required": ["label", "tags"]}
    folder.schema(loose)
    paths = folder.record(("good", answer), ("bad", json.dumps({"label": "bug", "tags": "a, b"})))
    assert folder.check() == [
        ("loose-contract", "items.json", "contract 'items' is loose: $.properties.tags: any value passes")
    ]
    folder.schema(items)
    (found,) = folder.findings()
    (bad,) = [path for path in paths if '"bad"' in path.read_text()]
    assert (found.code, found.severity, found.path) == ("breaks-contract", "error", bad)
    assert found.message == (
        "its answer breaks contract 'items' (violation)\n$.tags: expected array, found \"a, b\""
    )
    assert found.mend == "pytest --record-mode=new_episodes tests/test_a.py::test_b"


def test_a_watched_file_that_changed(folder):
    parser = folder.root / "parse.py"
    parser.write_text("def parse(text):\n    return text\n")
    folder.settings('watch = ["parse.py"]')
    (path,) = folder.record()
    assert folder.codes() == []
    parser.write_text('"""Parses."""\n\n\ndef parse(text):\n    # As it came.\n    return text\n')
    assert folder.codes() == []
    parser.write_text("def parse(text):\n    return text.strip()\n")
    (found,) = folder.findings()
    assert (found.code, found.severity) == ("predates-parser", "warning")
    assert f"onetake show {path.as_posix()}" in found.mend
    assert "--record-mode=all tests/test_a.py::test_b" in found.mend


def test_a_contract_that_is_declared_nowhere_is_the_schema_beside_the_entry(folder, answer):
    (path,) = folder.record()
    (folder.root / "onetake.toml").write_text("")
    assert folder.codes() == []
    (schema,) = (path.parent / "_schemas").iterdir()
    other = json.dumps({"label": "bug", "tags": []})
    for text in (answer, ):
        edit_answer(path, text, other)
    assert folder.codes() == []
    edit_answer(path, other, json.dumps({"label": "bug", "tags": [1]}))
    assert folder.codes() == ["breaks-contract"]
    schema.unlink()
    (found,) = folder.findings()
    assert (found.code, found.severity) == ("unchecked", "warning")


def edit_answer(path, old, new):
    """Change what the model said, in the response and in the answer that is derived from it."""
    from dataclasses import replace

    from onetake import dialects
    from onetake.format import dump_entry, load_entry

    entry = load_entry(path.read_bytes(), lambda name: None)
    body = entry.response.body
    said, wanted = json.dumps(old).encode(), json.dumps(new).encode()
    assert body.count(said) == 1
    response = replace(entry.response, body=body.replace(said, wanted))
    dialect = dialects.find(entry.request.method, entry.request.url)
    path.write_bytes(dump_entry(replace(entry, response=response, answer=dialect.read(entry.request, response).answer))[0])


def test_tool_calls_under_a_contract_that_is_declared_nowhere(folder, direct):
    calls = [{"id": "c1", "function": {"name": name, "arguments": json.dumps(arguments)}} for name, arguments in
             (("find", {"q": 1}), ("sort", {"label": "bug", "tags": []}))]  # fmt: skip
    folder.settings('on = "tool:sort"')
    (path,) = folder.record(("x", direct.said(None, "tool_calls", tool_calls=calls)))
    (folder.root / "onetake.toml").write_text("")
    assert folder.codes() == []
    folder.settings('on = "tool:find"')
    assert folder.codes() == ["breaks-contract"]
    folder.settings('on = "tool:drop"')
    assert folder.codes() == ["unchecked"]


def test_a_good_entry_without_a_contract_that_breaks_its_own_request(folder, direct, items):
    strict = {"type": "json_schema", "json_schema": {"name": "items", "strict": True, "schema": items}}
    (path,) = folder.record((direct.chat("x", response_format=strict), '{"label": "bug", "tags": []}'), contract=None)
    assert folder.codes() == []
    edit_answer(path, '{"label": "bug", "tags": []}', '{"label": "bug", "tags": {}}')
    assert folder.codes() == ["breaks-contract"]


MODULE = """
from pydantic import BaseModel, field_validator


class Items(BaseModel):
    label: str
    tags: list[str]

    @field_validator("label")
    @classmethod
    def known(cls, label):
        if label not in ("bug", "wish"):
            raise ValueError("no such label")
        return label
"""


def test_a_type_is_imported_only_when_asked(folder, monkeypatch, answer):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (folder.root / "own_items.py").write_text(MODULE)
    folder.settings(top='[contracts.typed]\nschema = "own_items:Items"')
    try:
        (path,) = folder.record(contract="typed")
        sys.modules.pop("own_items")
        edit_answer(path, answer, answer.replace("bug", "odd"))
        (found,) = folder.findings()
        assert "own_items" not in sys.modules
        assert (found.code, found.severity, found.path.name, found.line) == ("not-imported", "info", "onetake.toml", 2)
        assert folder.codes(importing=True) == ["breaks-contract"]
        assert "own_items" in sys.modules
    finally:
        sys.modules.pop("own_items", None)


def test_project_code_that_breaks_on_import_stops_nothing_until_it_is_imported(folder):
    (folder.root / "breaks_items.py").write_text("raise RuntimeError('no database')\n")
    folder.record()
    folder.settings(top='[contracts.typed]\nschema = "breaks_items:Items"')
    assert folder.codes() == ["not-imported"]
    with pytest.raises(UsageError, match="breaks_items:Items broke: RuntimeError: no database"):
        folder.findings(importing=True)


# Whole cassettes


def test_kept_answers_are_listed(folder, direct):
    (path,) = folder.record(("x", direct.said("no JSON")), keep=["violation"])
    (found,) = folder.findings()
    assert (found.code, found.severity, found.path) == ("kept", "info", path)
    assert "kept:violation" in found.message


@pytest.mark.parametrize(
    ("repeats", "test", "severity"),
    [("", "", "info"), ("", "t.py::test", None), ("sequence", "", None), ("same", "t.py::test", "warning")],
)
def test_differing_answers_to_one_request(folder, answer, repeats, test, severity):
    other = json.dumps({"label": "wish", "tags": []})
    folder.record(("x", answer), ("x", other), ("y", answer), ("y", answer), test=test)
    folder.settings(top=f'repeats = "{repeats}"' if repeats else "")
    found = folder.findings()
    assert [(one.code, one.severity) for one in found] == ([("differing-answers", severity)] if severity else [])


def test_sidecars_that_are_damaged_missing_or_named_by_nobody(folder, provider_stream):
    (path,) = folder.record(provider_stream)
    assert folder.codes() == []
    (raw,) = (path.parent / "_raw").iterdir()
    (schema,) = (path.parent / "_schemas").iterdir()
    whole, text = raw.read_bytes(), schema.read_text()
    raw.write_bytes(whole + b"x")
    assert folder.codes() == ["broken"]
    raw.rename(raw.with_name(f"{'0' * 64}.sse"))
    assert folder.check() == [
        ("broken", "cassettes/test_a/test_b/" + path.name, f"unreadable entry: response: body: the sidecar _raw/{raw.name} is missing: restore it from git, or record the entry again"),
        ("unused-sidecar", f"cassettes/test_a/test_b/_raw/{'0' * 64}.sse", "no entry of this cassette names it"),
    ]  # fmt: skip
    raw.with_name(f"{'0' * 64}.sse").unlink()
    raw.write_bytes(whole)
    schema.write_text(text.replace('"string"', '"number"', 1))
    assert [one[:2] for one in folder.check()] == [("broken", f"cassettes/test_a/test_b/_schemas/{schema.name}")]


@pytest.fixture
def provider_stream(direct, answer):
    """A streamed call: its request and its response."""
    from onetake.model import Response

    chunks = [{"choices": [{"index": 0, "delta": {"content": answer}}]}, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}]  # fmt: skip
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    return direct.chat("x", stream=True), Response(200, (("content-type", "text/event-stream"),), body.encode())


def test_copies_with_crlf_load_and_are_clean(folder, provider_stream, answer):
    folder.record(provider_stream, ("one", answer))
    for path in (folder.root / "cassettes").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert folder.codes() == []


def test_each_cassette_counts_under_the_settings_nearest_to_it(folder):
    sub = folder.root / "sub"
    sub.mkdir()
    (path,) = folder.record(folder="sub/cassettes/a")
    (sub / "onetake.toml").write_text('[contracts.items]\nschema = "own.json"\nschema_version = 3\n')
    shutil.copy(folder.root / "items.json", sub / "own.json")
    assert [one[:2] for one in folder.check()] == [("schema-bumped", path.relative_to(folder.root).as_posix())]
    assert [one.code for one in check(sub).findings] == ["schema-bumped"]


# Hostile files


def deep(path):
    edit(path, '"Sort this"', "[" * 100_000 + "]" * 100_000)


def traversing(path):
    edit(path, '"$json": {', '"$raw": {"sha256": "../../../../etc/passwd", "ext": "x", "bytes": 1}, "$no": {') if False else None
    text = path.read_text()
    at = text.index('"response"')
    at = text.index('"body": ', at)
    end = text.index('"metrics"') if '"metrics"' in text else text.index('"key_spec"')
    raw = '{"$raw": {"sha256": "../../../../../../etc/passwd", "ext": "x", "bytes": 1}}'
    path.write_text(f'{text[:at]}"body": {raw}}},\n  {text[end:]}')


HOSTILE = {
    "deep": (deep, "nested too deep"),
    "a number of 5,000 digits": (lambda path: edit(path, '"ordinal": 0', '"ordinal": ' + "9" * 5000), ""),
    "a sidecar that leads out": (traversing, "sha256 must be 64 lower-case hex digits"),
    "no entry at all": (lambda path: path.write_text("[]"), "it must be one JSON object"),
    "a negative ordinal": (lambda path: edit(path, '"ordinal": 0', '"ordinal": -1'), "no name of an entry"),
    "a key that is none": (
        lambda path: path.write_text(re.sub(r'"key": "\w+"', '"key": "../x"', path.read_text())),
        "does not give the stored key",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_was_made_to_do_harm_is_a_finding(folder, name):
    change, said = HOSTILE[name]
    (path,) = folder.record()
    change(path)
    found = folder.findings()
    assert {one.code for one in found} == {"broken"}
    assert said in found[0].message


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
def test_links_and_pipes_are_findings_and_are_not_followed(folder, provider_stream):
    (path,) = folder.record(provider_stream)
    outside = folder.root / "outside"
    (path.parent / "_raw").rename(outside)
    (path.parent / "_raw").symlink_to(outside)
    assert [one[:2] for one in folder.check()][-1] == ("broken", "cassettes/test_a/test_b")
    path.unlink()
    path.symlink_to("/etc/passwd")
    os.mkfifo(path.with_name("chat-0123456789abcdef.json"))
    found = [one.message for one in folder.findings() if one.path.parent == path.parent]
    assert any("is a symbolic link" in said for said in found)
    assert any("is no regular file" in said for said in found)


def test_a_folder_that_cannot_be_listed_is_damage_where_it_is_the_start(folder, monkeypatch):
    folder.record()
    locked = folder.root / "cassettes/test_a"

    def walk(top, onerror):
        onerror(PermissionError(13, "Permission denied", str(top)))
        return iter(())

    assert locked.is_dir()
    monkeypatch.setattr(os, "walk", walk)
    with pytest.raises(StoreError, match="Permission denied"):
        check(folder.root)


# Every dialect

CALLS = [
    ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    ("/v1/responses", {"model": "m", "input": "hi"}),
    ("/v1/completions", {"model": "m", "prompt": "hi"}),
    ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}),
    ("/api/chat", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    ("/api/generate", {"model": "m", "prompt": "hi"}),
    ("/v2/chat", {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
    ("/v1/chat", {"model": "m", "message": "hi"}),
]
GEMINI = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
BEDROCK = {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}
WHOLE = [
    ("/v1/embeddings", {"model": "m", "input": ["hi"]}),
    ("/api/embed", {"model": "m", "input": ["hi"]}),
    ("/v2/embed", {"model": "m", "texts": ["hi"], "input_type": "classification", "embedding_types": ["float"]}),
    ("/v2/rerank", {"model": "m", "query": "hi", "documents": ["a", "b"]}),
    ("/v1beta/models/gemini-x:generateContent", GEMINI),
    ("/v1beta/models/gemini-x:streamGenerateContent", GEMINI),
    ("/v1beta/models/gemini-x:streamGenerateContent?alt=sse", GEMINI),
    ("/v1beta/models/gemini-x:embedContent", {"content": {"parts": [{"text": "hi"}]}}),
    ("/model/amazon.nova/converse", BEDROCK),
    ("/model/amazon.nova/converse-stream", BEDROCK),
    ("/model/meta.llama3/invoke", {"prompt": "hi"}),
    ("/model/meta.llama3/invoke-with-response-stream", {"prompt": "hi"}),
]


def test_entries_of_every_dialect_are_clean(tmp_path, provider, monkeypatch):
    import httpx

    monkeypatch.chdir(tmp_path)
    (tmp_path / "onetake.toml").write_text("")

    @onetake.recorded
    def double(number, **more):
        return {"twice": number * 2, **more}

    with onetake.use_cassette("cassettes/all", mode="new_episodes"):
        for path, body in [(path, {**body, "stream": stream}) for path, body in CALLS for stream in (False, True)] + WHOLE:
            assert httpx.post(provider.url + path, json=body).status_code == 200, path
        assert double(10**30, unit="☃") == {"twice": 2 * 10**30, "unit": "☃"}
    report = check(tmp_path)
    assert report.findings == ()
    spoken = {match for path in (tmp_path / "cassettes/all").glob("*.json") for match in re.findall(r'"dialect": "([\w-]+)/', path.read_text())}  # fmt: skip
    assert spoken >= {"openai-chat", "openai-responses", "openai-completions", "anthropic-messages", "ollama", "cohere", "gemini"}  # fmt: skip
    assert report.entries == 2 * len(CALLS) + len(WHOLE) + 1
