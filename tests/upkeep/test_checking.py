"""A whole check: entries of every dialect are clean, and what was made to do harm is a finding."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import onetake
from onetake import dialects, settings_start
from onetake.errors import StoreError
from onetake.model import Response
from onetake.upkeep.checking import check


def test_a_project_as_it_was_recorded_has_no_finding(folder, answer):
    folder.record(("one", answer), ("two", answer))
    report = check(folder.root)
    assert (report.findings, report.cassettes, report.entries) == ((), 1, 2)


def deep(folder, path):
    folder.edit(path, '"Sort this"', "[" * 100_000 + "]" * 100_000)


def traversing(folder, path):
    text = path.read_text()
    at = text.index('"response"')
    at = text.index('"body": ', at)
    end = text.index('"metrics"') if '"metrics"' in text else text.index('"key_spec"')
    raw = '{"$raw": {"sha256": "../../../../../../etc/passwd", "ext": "x", "bytes": 1}}'
    path.write_text(f'{text[:at]}"body": {raw}}},\n  {text[end:]}')


HOSTILE = {
    "deep": (deep, "nested too deep"),
    "a number of 5,000 digits": (
        lambda folder, path: folder.edit(path, '"ordinal": 0', '"ordinal": ' + "9" * 5000),
        "",
    ),
    "a sidecar that leads out": (traversing, "sha256 must be 64 lower-case hex digits"),
    "no entry at all": (lambda folder, path: path.write_text("[]"), "it must be one JSON object"),
    "a negative ordinal": (
        lambda folder, path: folder.edit(path, '"ordinal": 0', '"ordinal": -1'),
        "no name of an entry",
    ),
    "a key that is none": (
        lambda folder, path: path.write_text(re.sub(r'"key": "\w+"', '"key": "../x"', path.read_text())),
        "does not give the stored key",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_was_made_to_do_harm_is_a_finding(folder, name):
    change, said = HOSTILE[name]
    (path,) = folder.record()
    change(folder, path)
    found = folder.findings()
    assert [one.code for one in found] == ["broken"]
    assert said in found[0].message


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and pipes")
def test_links_and_pipes_are_findings_and_are_not_followed(folder, streamed):
    (path,) = folder.record(streamed)
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


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_sidecar_that_is_a_link_is_not_followed(folder, streamed):
    (path,) = folder.record(streamed)
    (raw,) = (path.parent / "_raw").iterdir()
    raw.rename(folder.root / "outside")
    raw.symlink_to(folder.root / "outside")
    found = folder.findings()
    assert [(one.code, one.path) for one in found] == [("broken", path), ("broken", raw)]
    assert all("is a symbolic link" in one.message for one in found)


ODD = {
    "deep": "[" * 100_000 + "]" * 100_000,
    "a long number": '{"n": ' + "9" * 5000 + "}",
    "a key twice": '{"a": 1, "a": 2}',
    "NaN": '{"n": NaN}',
    "control characters": "\x00\ufffe{",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_bodies_as_they_were_recorded_are_checked_like_any_other(folder, direct, name):
    body = ODD[name].encode()
    asked = replace(direct.chat("x"), body=body)
    served = Response(200, (("content-type", "text/plain"),), body)
    folder.record((asked, "hi"), (direct.chat("y", url="https://example.com/v1/x"), served), contract=None)
    report = check(folder.root)
    assert (report.findings, report.entries) == ((), 2)


@pytest.fixture
def locked(monkeypatch):
    """Return a function that keeps a folder from being listed, for the superuser too."""
    walk = os.walk

    def lock(folder):
        def walking(top, onerror):
            for path, folders, names in walk(top):
                if folder == Path(path):
                    folders.clear()
                    onerror(PermissionError(13, "Permission denied", path))
                else:
                    yield path, folders, names

        monkeypatch.setattr(os, "walk", walking)

    return lock


def test_a_folder_that_cannot_be_listed_is_a_finding(folder, locked):
    folder.record(folder="cassettes/a")
    folder.record(folder="cassettes/b")
    locked(folder.root / "cassettes/a")
    report = check(folder.root)
    assert [(one.code, one.path) for one in report.findings] == [("broken", folder.root / "cassettes/a")]
    assert report.entries == 1


def test_a_start_that_cannot_be_listed_is_damage(folder, locked):
    locked(folder.root)
    with pytest.raises(StoreError, match="Permission denied"):
        check(folder.root)


PLUG_IN = """
class Breaking:
    name, version, operation = "breaking", 1, "chat"

    def speaks(self, method, url):
        return "/v1/chat" in url

    def read(self, request, response):
        raise RuntimeError("no such thing")


DIALECT = Breaking()
"""


@pytest.fixture
def breaking_dialect(tmp_path_factory, monkeypatch):
    """Install a package whose dialect breaks on every response."""
    place = tmp_path_factory.mktemp("packages")
    (place / "breaking_dialect.py").write_text(PLUG_IN)
    info = place / "breaking-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: breaking\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[onetake.dialects]\nbreaking = breaking_dialect:DIALECT\n")

    def install():
        monkeypatch.syspath_prepend(place)
        dialects.known.cache_clear()

    yield install
    monkeypatch.undo()
    sys.modules.pop("breaking_dialect", None)
    dialects.known.cache_clear()


def test_what_breaks_on_one_entry_is_told_and_the_others_are_still_checked(folder, breaking_dialect):
    (path,) = folder.record(contract=None)
    (torn,) = folder.record(folder="cassettes/z")
    torn.write_bytes(b"")
    folder.edit(path, '"openai-chat/1"', '"breaking/1"')
    breaking_dialect()
    assert [(one.path, one.message[:70]) for one in folder.findings()] == [
        (path, "it cannot be checked (RuntimeError: no such thing)"),
        (torn, "unreadable entry: torn: the file ends in the middle (line 1)"),
    ]


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


@pytest.fixture
def own_folder(tmp_path):
    """Sessions of this test count from its own folder."""
    before = settings_start.set_start(tmp_path)
    yield
    settings_start.set_start(before)


def test_entries_of_every_dialect_are_clean(tmp_path, provider, own_folder):
    import httpx

    (tmp_path / "onetake.toml").write_text("")

    @onetake.recorded
    def double(number, **more):
        return {"twice": number * 2, **more}

    spoken = [(path, {**body, "stream": stream}) for path, body in CALLS for stream in (False, True)] + WHOLE
    with onetake.use_cassette(tmp_path / "cassettes/all", mode="new_episodes", hosts=["127.0.0.1"]):
        for path, body in spoken:
            assert httpx.post(provider.url + path, json=body).status_code == 200, path
        assert double(10**30, unit="☃") == {"twice": 2 * 10**30, "unit": "☃"}
    report = check(tmp_path)
    assert report.findings == ()
    texts = [path.read_text() for path in (tmp_path / "cassettes/all").glob("*.json")]
    found = {match for text in texts for match in re.findall(r'"dialect": "([\w-]+)/', text)}
    assert found >= {"openai-chat", "openai-responses", "openai-completions", "anthropic-messages", "bedrock-converse"}
    assert found >= {"bedrock-invoke", "ollama", "cohere-chat", "cohere-v1", "gemini", "openai-embeddings", "function"}
    assert report.entries == 2 * len(CALLS) + len(WHOLE) + 1
