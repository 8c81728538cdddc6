"""The frozen bug: a parser and its entries were wrong in the same way, and the suite was green.

Entries are recorded under a contract that says nothing of `tags`. Some answers give them as a text that looks like a
list, and the parser takes it, as the tests do (`"disk" in '["disk"]'` is true). Then the parser is mended, and the
contract tightened.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from glob import escape
from pathlib import Path

import httpx  # noqa: F401 - imported here, so that each inner run finds the same module, patched
import pytest
from click.testing import CliRunner

import onetake.adapters.httpx  # noqa: F401 - as above
from onetake.cli import commands
from onetake.testing.provider import openai_chat

pytest_plugins = ("pytester",)

ITEM = {
    "type": "object",
    "properties": {"tags": {}},
    "required": ["tags"],
}
STRICT = {**ITEM, "properties": {"tags": {"type": "array", "items": {"type": "string"}}}}
WORD = {"type": "string"}
SETTINGS = """
[contracts.item]
schema = "item.json"
schema_version = 1
watch = ["parse.py"]

[contracts.word]
schema = "word.json"
"""
LENIENT = """
import json

def tags_of(answer):
    return json.loads(answer)["tags"]
"""
MENDED = '''
import json

def tags_of(answer):
    """Return the tags in their order, each once."""
    tags = json.loads(answer)["tags"]
    if not isinstance(tags, list):
        raise TypeError(f"these are no tags: {tags!r}")
    return list(dict.fromkeys(tags))
'''
ASKS = """
import json
import pytest
from asking import ask
from parse import tags_of

@pytest.mark.cassette(contract="item")
@pytest.mark.parametrize("word", {words})
def test_item(word):
    assert word in tags_of(ask("tag " + word))
"""
OTHERS = """
import pytest
from asking import ask

@pytest.mark.cassette(contract="word")
def test_word():
    assert ask("a word")

@pytest.mark.cassette
def test_without_a_contract():
    assert ask("anything")
"""
STRINGIFIED = ("disk", "net")
"""The words whose tags the model gave as a text."""
BROKEN = [f"test_item[{word}]" for word in STRINGIFIED]
FOUND = {"breaks-contract": BROKEN, "predates-parser": ["test_item[fan]"]}
"""What a check says once the parser is mended: which entries hold what the contract refuses, and which one is to be
looked at, as it was recorded under the old parser. It says nothing of one that was recorded since, nor of those under
another contract or none."""


def answers(stringified):
    """Return what the model says: tags of one word as a list, those of the words that are named as a text."""

    def reply(received):
        asked = json.loads(received.body)["messages"][0]["content"]
        if not asked.startswith("tag "):
            return openai_chat('"word"')
        word = asked.removeprefix("tag ")
        tags = [word, "a"]
        return openai_chat(json={"tags": json.dumps(tags) if word in stringified else tags})

    return reply


class Story:
    """The project of the story, under git.

    Args:
        inner: Runs pytest in its folder.
        provider: What it asks.
    """

    def __init__(self, inner, provider) -> None:
        self.pytest, self.write, self.path, self.provider = inner, inner.write, inner.path, provider
        self.write("onetake.toml", SETTINGS)
        self.write(".gitignore", ".onetake/\n__pycache__/\n")
        self.schema("item", ITEM)
        self.schema("word", WORD)
        self.write("parse.py", LENIENT)
        self.write("test_items.py", ASKS.format(words=["disk", "fan", "net"]))
        self.write("test_others.py", OTHERS)
        git(self.path, "init", "-q", "-b", "main")
        self.commit("The program")

    def schema(self, name, schema) -> None:
        self.write(f"{name}.json", json.dumps(schema))

    def commit(self, subject) -> None:
        git(self.path, "add", "-A")
        git(self.path, "commit", "-q", "-m", subject)

    def record(self, *arguments):
        """Record what is not there; the model gives some tags as a text."""
        self.provider.script(answers(STRINGIFIED))
        return self.pytest("--record-mode=once", *arguments)

    def mend(self) -> None:
        """Mend the parser and tighten the contract, in two commits, then record one more test under them."""
        self.write("parse.py", MENDED)
        self.commit("Tags are a list")
        self.schema("item", STRICT)
        self.commit("The contract says so")
        self.write("test_late.py", ASKS.format(words=["late"]))
        self.pytest("--record-mode=once", "test_late.py").assert_outcomes(passed=1)
        self.commit("A test more")

    def file(self, name) -> Path:
        """Return the file of a test's one entry."""
        (file,) = (self.path / "cassettes").glob(f"*/{escape(name)}/*.json")
        return file

    def entry(self, name) -> dict:
        """Return the one entry of a test."""
        return json.loads(self.file(name).read_text(encoding="utf-8"))


def git(folder, *words):
    """Run git as one who has set nothing; returns what it says."""
    nobody = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    env = {**os.environ, **nobody, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "-C", str(folder), *words], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(*words) -> tuple[int, dict]:
    """Run a command of onetake: its exit code and its document."""
    done = CliRunner().invoke(commands, [*map(str, words), "--json"])
    return done.exit_code, json.loads(done.stdout)


def checked(folder, *options) -> tuple[int, dict]:
    """Check a folder: the exit code, and for each code the tests whose entries have it."""
    exit_code, document = command("check", folder, *options)
    found: dict[str, list[str]] = {}
    for one in document["findings"]:
        path = Path(one["path"])
        found.setdefault(one["code"], []).append(path.parent.name if "cassettes" in path.parts else path.name)
    return exit_code, {code: sorted(names) for code, names in found.items()}


def advised(folder) -> dict[str, int]:
    """Return how many entries have each advice, those that none has left out."""
    exit_code, document = command("status", folder)
    assert exit_code == 0
    return {advice: number for advice, number in document["counts"].items() if number}


@pytest.fixture
def story(inner, provider):
    """The project, before anything is recorded."""
    return Story(inner, provider)


def whole(clone):
    """Leave a clone as it is."""


def squashed(clone):
    """One commit that holds everything."""
    git(clone, "checkout", "-q", "--orphan", "one")
    git(clone, "commit", "-q", "-m", "All of it")
    git(clone, "branch", "-q", "-D", "main")
    git(clone, "remote", "remove", "origin")
    git(clone, "reflog", "expire", "--expire=now", "--all")
    git(clone, "gc", "-q", "--prune=now")
    assert git(clone, "rev-list", "--count", "--all") == "1\n"


def rebased(clone):
    """Every commit is another one; those that entries name are gone from the branch."""
    before = git(clone, "rev-list", "HEAD").split()
    git(clone, "rebase", "-q", "--root", "--force-rebase", "--signoff")
    assert not set(before) & set(git(clone, "rev-list", "HEAD").split())


def shallow(clone):
    """The last commit alone, as CI fetches it."""
    origin = git(clone, "remote", "get-url", "origin").strip()
    shutil.rmtree(clone)
    git(clone.parent, "clone", "-q", "--depth", "1", Path(origin).as_uri(), clone.name)
    assert git(clone, "rev-list", "--count", "HEAD") == "1\n"


def without(clone):
    """No history at all, as an archive has none."""
    shutil.rmtree(clone / ".git")


HISTORIES = (whole, squashed, rebased, shallow, without)
"""What may have become of the history in a clone; what the check says hangs on none of it."""


def test_the_story_from_its_first_entry_to_a_suite_that_is_green_for_the_right_reason(story, provider, tmp_path):
    story.record().assert_outcomes(passed=5)
    story.commit("Entries")
    story.pytest().assert_outcomes(passed=5)
    assert checked(story.path) == (0, {"loose-contract": ["item.json"]})

    story.mend()
    paid = provider.count
    assert checked(story.path) == (1, FOUND)
    assert advised(story.path) == {"breaks-contract": 2, "predates-parser": 1, "replay": 3}
    for history in HISTORIES:
        clone = tmp_path / history.__name__
        git(story.path, "clone", "-q", str(story.path), str(clone))
        history(clone)
        assert checked(clone) == (1, FOUND), history.__name__
    story.write("onetake.toml", SETTINGS.replace("watch", "# watch"))
    assert checked(story.path) == (1, {"breaks-contract": BROKEN})
    story.write("onetake.toml", SETTINGS)

    refused = story.pytest()
    refused.assert_outcomes(passed=4, failed=2)
    refused.stdout.fnmatch_lines([*(f"FAILED test_items.py::test_item?{word}?*" for word in STRINGIFIED)])
    assert "the stored interaction is stale" in refused.stdout.str()
    assert provider.count == paid

    # The model is as it was: what it says is paid for, refused, and nothing of it comes in.
    before = {word: story.entry(f"test_item[{word}]") for word in STRINGIFIED}
    story.pytest("--record-mode=new_episodes").assert_outcomes(passed=4, failed=2)
    assert provider.count == paid + 2
    assert {word: story.entry(f"test_item[{word}]") for word in STRINGIFIED} == before

    provider.script(answers(()))
    story.pytest("--record-mode=new_episodes").assert_outcomes(passed=6)
    assert provider.count == paid + 4
    for word in STRINGIFIED:
        entry = story.entry(f"test_item[{word}]")
        assert entry["answer"]["choices"][0]["json"] == {"tags": [word, "a"]}
    provider.close()
    story.pytest().assert_outcomes(passed=6)

    # What is left: one entry to look at, and the schema that the bad ones were recorded under.
    assert checked(story.path) == (0, {"predates-parser": ["test_item[fan]"], "unused-sidecar": ["_schemas"] * 2})
    assert command("vouch", story.file("test_item[fan]"), "--reason", "a list, as the parser has it now")[0] == 0
    assert command("prune", "--sidecars", "--yes")[0] == 0
    assert checked(story.path, "--strict") == (0, {})
    assert advised(story.path) == {"replay": 6}
    story.pytest().assert_outcomes(passed=6)
