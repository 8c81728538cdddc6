"""What a reviewer sees in git when an entry changes: a rename, and only the lines that differ."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace

import pytest

from onetake.format import dump_entry
from onetake.model import Answer, Choice, ContractRef, Entry, KeySpec, Request, Response

JSON = (("content-type", "application/json"),)
PROMPT = [f"Rule {number}: weigh what the customer says about topic {number} of the list." for number in range(1, 61)]
RE_RECORDED = {"key", "provenance", "answer", "metrics", "response"}
"""Fields that a new recording changes by itself."""


@pytest.fixture
def repo(tmp_path):
    """A git repository of its own, deaf to the settings of the machine."""

    def git(*words):
        flags = [
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@example.com",
            "-c",
            "core.autocrlf=false",
            "-c",
            "diff.renames=true",
        ]
        done = subprocess.run(["git", *flags, *words], cwd=tmp_path, capture_output=True, check=True)
        return done.stdout.decode()

    git("init", "--quiet")
    git.folder = tmp_path
    return git


def keep(folder, entry):
    """Write an entry as a cassette holds it, and return its file."""
    data, sides = dump_entry(entry)
    file = folder / f"chat-m-{entry.key[:16]}.json"
    for name, content in {file.name: data, **sides}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    return file


def recorded(prompt, key, said, commit, milliseconds):
    body = {
        "model": "m",
        "messages": [{"role": "system", "content": "\n".join(prompt)}, {"role": "user", "content": "Hi"}],
    }
    answer = {"id": f"chatcmpl-{commit}", "choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
    return Entry(
        verdict="good",
        contract=ContractRef("items", 1, "c" * 64),
        request=Request("POST", "https://api.example.com/v1/chat/completions", JSON, json.dumps(body).encode()),
        response=Response(200, JSON, json.dumps(answer).encode()),
        key=key * 32,
        ordinal=0,
        key_spec=KeySpec("k1", "s1"),
        provenance={
            "recorded_at": f"2026-11-30T10:00:{milliseconds % 60:02}Z",
            "commit": commit * 20,
            "client": "httpx 0.28",
        },
        dialect="openai-chat/1",
        answer=Answer((Choice(text=said, finish="stop"),)),
        metrics={"latency_ms": milliseconds},
    )


def changes(diff):
    """Yield (top-level field, sign and line) for every changed line of a diff that shows the whole file."""
    field = ""
    for line in diff[diff.index("\n@@") :].splitlines():
        if match := re.match(r'.  "(\w+)":', line):
            field = match[1]
        if line[:1] in ("+", "-"):
            yield field, line


def test_an_edited_prompt_line_is_a_rename_that_shows_that_line(repo):
    old = keep(repo.folder, recorded(PROMPT, "ab", "Invoice.", "a1", 812))
    repo("add", "--all")
    repo("commit", "--quiet", "--message", "first")
    old.unlink()
    edited = [*PROMPT[:29], "Rule 30: never mind topic 30.", *PROMPT[30:]]
    keep(repo.folder, recorded(edited, "cd", "The invoice is wrong.", "b2", 655))
    repo("add", "--all")
    summary = repo("diff", "--cached", "-M", "--summary").strip()
    assert re.fullmatch(r"rename chat-m-(ab){8}\.json => chat-m-(cd){8}\.json \(9\d%\)", summary)
    found = list(changes(repo("diff", "--cached", "-M", "-U9999")))
    assert {field for field, _ in found} <= RE_RECORDED | {"request"}
    assert [line.strip(" ,") for field, line in found if field not in RE_RECORDED] == [
        f'-                "{PROMPT[29]}"',
        '+                "Rule 30: never mind topic 30."',
    ]


def streamed(words, commit, milliseconds):
    events = [{"id": f"chatcmpl-{commit}", "choices": [{"index": 0, "delta": {"content": word}}]} for word in words]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    entry = recorded(PROMPT, "ab", "".join(words), commit, milliseconds)
    return replace(entry, response=Response(200, (("content-type", "text/event-stream"),), body.encode()))


def test_a_stream_that_is_recorded_again_changes_few_lines_of_its_entry(repo):
    words = [f"word{number} " for number in range(30)]
    file = keep(repo.folder, streamed(words, "a1", 812))
    repo("add", "--all")
    repo("commit", "--quiet", "--message", "first")
    keep(repo.folder, streamed([*words[:15], "other ", *words[16:]], "b2", 655))
    found = list(changes(repo("diff", "-U9999", "--", file.name)))
    assert sorted(line.strip().split('"')[1] for _, line in found if line[0] == "+") == [
        *("bytes", "commit", "metrics", "recorded_at", "sha256", "text"),
    ]
    assert len(found) == 12
