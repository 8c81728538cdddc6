"""A suite over three providers (of 300 tests in the whole sweep, else of 60): recorded, replayed, broken, mended.

What a person reads of each break is taken at its word: the command that a message names is run, and it mends.
"""

from __future__ import annotations

import json
import os
import re
import shlex

import pytest

from onetake.testing.project import Project
from onetake.testing.provider import Provider, ollama_message

pytestmark = [pytest.mark.slow, pytest.mark.whole]

MANY = 5 if os.environ.get("ONETAKE_SWEEP") == "whole" else 1
TESTS = 60 * MANY

QUICK = "-q -p no:hypothesispytest -p no:respx -p no:pytest_cov -p no:anyio -p no:timeout -p no:rerunfailures"

SETTINGS = """
hosts = ["127.0.0.1"]
[key]
origins = { "http://127.0.0.1:*" = "local" }

[contracts.label]
schema = "label.json"
schema_version = 1
"""

LABEL = {"type": "object", "required": ["label"], "properties": {"label": {"enum": ["bug", "wish"]}}}

OPENAI = """
import os
import openai
import pytest

KEY = {"base_url": os.environ["PROVIDER"] + "/v1", "api_key": "none", "max_retries": 0}
client = openai.OpenAI(**KEY)
pytestmark = pytest.mark.cassette

def asked(text, **more):
    return {"model": "gpt-5", "messages": [{"role": "user", "content": text}], **more}

class TestSync:
    @pytest.mark.parametrize("n", range(12 * MANY))
    def test_says(self, n):
        answer = client.chat.completions.create(**asked(f"say {n}"))
        assert answer.choices[0].message.content.endswith(f"say {n}")

@pytest.mark.parametrize("n", range(4 * MANY))
def test_streams(n):
    parts = client.chat.completions.create(**asked(f"stream {n}"), stream=True)
    assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices).endswith(f"stream {n}")

@pytest.mark.parametrize("n", range(4 * MANY))
async def test_async(n):
    async with openai.AsyncOpenAI(**KEY) as here:
        answer = await here.chat.completions.create(**asked(f"await {n}"))
    assert answer.choices[0].message.content.endswith(f"await {n}")
"""

ANTHROPIC = """
import os
import anthropic
import pytest

KEY = {"base_url": os.environ["PROVIDER"], "api_key": "none", "max_retries": 0}
client = anthropic.Anthropic(**KEY)
pytestmark = pytest.mark.cassette

def asked(text, **more):
    return {"model": "claude-5", "max_tokens": 99, "messages": [{"role": "user", "content": text}], **more}

@pytest.mark.parametrize("n", range(12 * MANY))
def test_says(n):
    answer = client.messages.create(**asked(f"say {n}"))
    assert answer.content[0].text.endswith(f"say {n}")

class TestTurns:
    @pytest.mark.parametrize("n", range(4 * MANY))
    def test_two_turns(self, n):
        first = client.messages.create(**asked(f"first {n}")).content[0].text
        second = client.messages.create(**asked(f"after {first}")).content[0].text
        assert second.endswith(first)

@pytest.mark.parametrize("n", range(4 * MANY))
def test_streams(n):
    with client.messages.stream(**asked(f"stream {n}")) as stream:
        assert "".join(stream.text_stream).endswith(f"stream {n}")
"""

OLLAMA = """
import json
import os
import pytest
import requests

def ask(text):
    body = {"model": "llama", "stream": False, "messages": [{"role": "user", "content": text}]}
    return requests.post(os.environ["PROVIDER"] + "/api/chat", json=body, timeout=30).json()["message"]["content"]

@pytest.mark.cassette
class TestPlain:
    @pytest.mark.parametrize("n", range(12 * MANY))
    def test_says(self, n):
        assert ask(f"say {n}").endswith(f"say {n}")

@pytest.mark.cassette(contract="label")
@pytest.mark.parametrize("n", range(8 * MANY))
def test_labels(n):
    assert json.loads(ask(f"label {n}"))["label"] in ("bug", "wish")
"""


class Scripted:
    """What the provider answers: labels to who asks for labels, an echo to all others."""

    def __init__(self):
        self.label = "bug"

    def __call__(self, request):
        text = request.json()["messages"][-1]["content"]
        return ollama_message(json={"label": self.label}) if text.startswith("label ") else None


@pytest.fixture(scope="module")
def provider():
    with Provider() as running:
        running.labels = Scripted()
        running.script(running.labels)
        yield running


@pytest.fixture(scope="module")
def suite(tmp_path_factory, provider):
    """The project, recorded once."""
    files = {
        "pytest.ini": "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n",
        "onetake.toml": SETTINGS,
        "label.json": json.dumps(LABEL),
        "test_openai.py": f"MANY = {MANY}\n{OPENAI}",
        "test_anthropic.py": f"MANY = {MANY}\n{ANTHROPIC}",
        "test_ollama.py": f"MANY = {MANY}\n{OLLAMA}",
    }
    env = {"PROVIDER": provider.url, "PYTEST_ADDOPTS": QUICK}
    return Project(tmp_path_factory.mktemp("suite") / "project", files, env)


@pytest.fixture(scope="module")
def recorded(suite, provider):
    """What the first run said."""
    done = suite.pytest("-p", "no:xdist", "--record-mode=once", timeout=300)
    assert f"{TESTS} passed" in done.out, done.out
    assert provider.count == TESTS + 4 * MANY
    return suite


def entries(project, under="cassettes"):
    return {name: project.read(name) for name in project.files(under)}


def edit(project, name, old, new):
    text = project.read(name)
    assert old in text
    project.write({name: text.replace(old, new)})


def told(done, test):
    """Return what a run says of one failing test."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.out)
    found = re.search(rf"^__+ {re.escape(test)} _+$(.*?)(?=^__+ |^==+ )", plain, re.S | re.M)
    assert found, plain
    return found[1]


def mend(project, text):
    """Run the first command that a message names."""
    named = re.search(r'pytest (--record-mode=\w+ (?:"[^"]+"|[^\s()]+))', text)
    assert named, text
    return project.pytest("-p", "no:xdist", *shlex.split(named[1]))


def test_the_suite_replays_in_two_workers_and_asks_nobody(recorded, provider):
    before, asked = entries(recorded), provider.count
    done = recorded.pytest("-n", "2", timeout=300)
    assert f"{TESTS} passed" in done.out, done.out
    assert (entries(recorded), provider.count) == (before, asked)


def test_one_module_is_recorded_again_and_no_other_is_touched(recorded, provider):
    before, asked = entries(recorded), provider.count
    done = recorded.pytest("-p", "no:xdist", "--record-mode=all", "test_ollama.py", timeout=300)
    assert f"{20 * MANY} passed" in done.out, done.out
    assert f"{20 * MANY} replaced" in done.out
    assert provider.count - asked == 20 * MANY
    after = entries(recorded)
    assert after.keys() == before.keys()
    assert {name.split("/")[1] for name in after if after[name] != before[name]} == {"test_ollama"}


def test_after_a_bump_only_what_is_stale_is_asked_again(recorded, provider):
    edit(recorded, "onetake.toml", "schema_version = 1", "schema_version = 2")
    before, asked = entries(recorded), provider.count
    done = recorded.pytest("-p", "no:xdist", "test_ollama.py", "-k", "labels and 7")
    text = told(done, "test_labels[7]")
    assert "the stored interaction is stale, as it was recorded under label schema_version 1, which is 2 today" in text
    assert "cassettes/test_ollama/test_labels[7]" in text
    assert '"test_ollama.py::test_labels[7]"' in text
    done = recorded.pytest("-p", "no:xdist", "--record-mode=new_episodes", timeout=300)
    assert f"{TESTS} passed" in done.out, done.out
    assert provider.count - asked == 8 * MANY
    after = entries(recorded)
    changed = {name.split("/")[2].partition("[")[0] for name in after if after[name] != before.get(name)}
    assert changed == {"test_labels"}


def conflict(text):
    """Return an entry as a merge leaves it that could not decide."""
    lines = text.split("\n")
    return "\n".join([*lines[:3], "<<<<<<< HEAD", lines[3], "=======", lines[3], ">>>>>>> theirs", *lines[4:]])


def break_all(project):
    """Break five tests, each in its own way; returns the entry that a merge tore."""
    edit(project, "test_openai.py", 'asked(f"say {n}"))', 'asked(f"say {n}" if n != 7 else "please say 7"))')
    edit(
        project,
        "test_anthropic.py",
        'asked(f"say {n}"))',
        'asked(f"say {n}", **({"stop_sequences": ["."]} if n == 3 else {})))',
    )
    for name in project.files("cassettes/test_anthropic/test_streams[3]"):
        (project.folder / name).unlink()
    first, *_ = project.files("cassettes/test_anthropic/TestTurns.test_two_turns[3]")
    (project.folder / first).unlink()
    (torn,) = project.files("cassettes/test_ollama/TestPlain.test_says[5]")
    project.write({torn: conflict(project.read(torn))})
    return torn


BROKEN = {
    "TestSync.test_says[7]": (
        "test_openai.py::TestSync::test_says[7]",
        (
            "no interaction is stored for this request",
            '(gpt-5, 1 message, "please say 7")',
            "looked in: cassettes/test_openai/TestSync.test_says[7]",
            'body$.messages[0].content: asked "please say 7", stored "say 7"',
        ),
    ),
    "test_says[3]": (
        "test_anthropic.py::test_says[3]",
        (
            "no interaction is stored for this request",
            "/v1/messages (claude-5, 1 message",
            'body$.stop_sequences: only asked: ["."]',
        ),
    ),
    "test_streams[3]": (
        "test_anthropic.py::test_streams[3]",
        (
            "looked in: cassettes/test_anthropic/test_streams[3] (empty)",
            "no entry for this test yet: pytest --record-mode=once",
        ),
    ),
    "TestTurns.test_two_turns[3]": (
        "test_anthropic.py::TestTurns::test_two_turns[3]",
        (
            "no interaction is stored for this request",
            "looked in: cassettes/test_anthropic/TestTurns.test_two_turns[3]",
        ),
    ),
    "TestPlain.test_says[5]": (
        "test_ollama.py::TestPlain::test_says[5]",
        (
            "unreadable entry: cassettes/test_ollama/TestPlain.test_says[5]/",
            "merge conflict markers (line 4)",
            "or restore it from version control",
        ),
    ),
}
"""A broken test as pytest heads it, its id, and what is said of it."""


def test_five_breaks_each_say_what_mends_them_and_it_does(recorded, provider):
    torn, asked = break_all(recorded), provider.count
    done = recorded.pytest("-p", "no:xdist", *(node for node, _ in BROKEN.values()))
    assert f"{len(BROKEN)} failed" in done.out, done.out
    assert provider.count == asked
    for test, (_, words) in BROKEN.items():
        text = told(done, test)
        assert [word for word in words if word not in text] == [], text
        mended = mend(recorded, text)
        assert mended.code == 0, (text, mended.out)
    assert "<<<<<<<" not in recorded.read(torn)
    assert provider.count > asked
    asked = provider.count
    done = recorded.pytest("-p", "no:xdist", *(node for node, _ in BROKEN.values()))
    assert (done.code, provider.count) == (0, asked), done.out


def test_an_answer_that_breaks_its_contract_leaves_the_old_one_and_says_how_to_go_on(recorded, provider):
    before = entries(recorded)
    provider.labels.label = "neither"
    node = "test_ollama.py::test_labels[5]"
    done = recorded.pytest("-p", "no:xdist", "--record-mode=all", node)
    provider.labels.label = "bug"
    text = told(done, "test_labels[5]")
    for word in (
        "answer refused (violation, contract label): POST",
        '"label 5"',
        "$.label: expected",
        "kept aside: .onetake/rejects/cassettes/test_ollama/test_labels[5]/",
        'mend the prompt or the contract, and ask again (pytest --record-mode=all "test_ollama.py::test_labels[5]")',
    ):
        assert word in text, (word, text)
    assert entries(recorded) == before
    assert recorded.pytest("-p", "no:xdist", node).code == 0
    assert mend(recorded, text).code == 0
    assert {name for name, data in entries(recorded).items() if before[name] != data} <= {
        name for name in before if "test_labels[5]" in name
    }


def test_a_provider_that_is_down_leaves_the_old_entries_and_that_is_said(recorded, provider):
    before = entries(recorded)
    with Provider() as gone:
        pass
    node = "test_openai.py::TestSync::test_says[9]"
    done = recorded.pytest("-p", "no:xdist", "--record-mode=all", node, env={"PROVIDER": gone.url})
    text = told(done, "TestSync.test_says[9]")
    assert "APIConnectionError" in text
    assert f'no answer to keep came: POST {gone.url}/v1/chat/completions (gpt-5, 1 message, "say 9")' in text
    assert "what is stored is as it was" in text
    assert entries(recorded) == before
    assert recorded.pytest("-p", "no:xdist", node).code == 0
    assert mend(recorded, text).code == 0
    assert entries(recorded).keys() == before.keys()
