"""What a reviewer sees in git when an entry changes: a rename, and only the lines that differ."""

from __future__ import annotations

import re
import subprocess

import openai
import pytest

import onetake
from onetake import settings_start
from onetake.testing.provider import openai_chat, openai_stream

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


@pytest.fixture
def record(repo, provider):
    """Ask once through the SDK and return the file that was written; `mode` says what happens to an older one."""
    before = settings_start.set_start(repo.folder)

    def ask(prompt, reply, mode="new_episodes", **more):
        provider.script(lambda request: reply)
        messages = [{"role": "system", "content": "\n".join(prompt)}, {"role": "user", "content": "Hi"}]
        client = openai.OpenAI(base_url=f"{provider.url}/v1", api_key="unused", max_retries=0)
        with onetake.use_cassette("rules", mode=mode) as cassette:
            found = client.chat.completions.create(model="m", messages=messages, **more)
            list(found)
        (entry,) = cassette.recorded
        (file,) = (repo.folder / "rules").glob(f"*{entry.key[:16]}.json")
        return file

    repo("commit", "--quiet", "--allow-empty", "--message", "start")
    yield ask
    settings_start.set_start(before)


def changes(diff):
    """Yield (top-level field, sign and line) for every changed line of a diff that shows the whole file."""
    field = ""
    for line in diff[diff.index("\n@@") :].splitlines():
        if match := re.match(r'.  "(\w+)":', line):
            field = match[1]
        if line[:1] in ("+", "-"):
            yield field, line


def test_an_edited_prompt_line_is_a_rename_that_shows_that_line(repo, record):
    old = record(PROMPT, openai_chat("Invoice."))
    repo("add", "rules")
    repo("commit", "--quiet", "--message", "first")
    new = record([*PROMPT[:29], "Rule 30: never mind topic 30.", *PROMPT[30:]], openai_chat("The invoice is wrong."))
    old.unlink()
    repo("add", "--all", "rules")
    summary = repo("diff", "--cached", "-M", "--summary").strip()
    assert re.fullmatch(rf"rename rules/\{{{old.name} => {new.name}\}} \([89]\d%\)", summary)
    found = list(changes(repo("diff", "--cached", "-M", "-U9999")))
    assert {field for field, _ in found} <= RE_RECORDED | {"request"}
    assert [line.strip(" ,") for field, line in found if field not in RE_RECORDED] == [
        f'-                "{PROMPT[29]}"',
        '+                "Rule 30: never mind topic 30."',
    ]


def test_a_stream_that_is_recorded_again_changes_few_lines_of_its_entry(repo, record):
    words = [f"word{number} " for number in range(30)]
    file = record(PROMPT, openai_stream("".join(words)), stream=True)
    repo("add", "rules")
    repo("commit", "--quiet", "--message", "first")
    assert file == record(PROMPT, openai_stream("".join([*words[:15], "other ", *words[16:]])), mode="all", stream=True)
    found = list(changes(repo("diff", "-U9999", "--", f"rules/{file.name}")))
    assert {field for field, _ in found} <= RE_RECORDED
    changed = {line.strip().split('"')[1] for _, line in found if line[0] == "+"}
    # The commit is read once in a process, and a second may not have passed.
    assert {"bytes", "sha256", "text"} <= changed <= {"bytes", "commit", "metrics", "recorded_at", "sha256", "text"}
    assert len(found) == 2 * len(changed) <= 12
