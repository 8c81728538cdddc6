"""A conversation whose first turn is recorded again: `onetake status --chain`, `onetake probe --accept --chain`."""

from __future__ import annotations

import json
import subprocess
import urllib.request

import pytest

import onetake
from onetake.cassette_files import read_entry
from onetake.settings_start import set_start
from onetake.testing.provider import openai_chat

EARLIER = "2026-01-02T03:04:05Z"
QUESTIONS = ("Where does it rain?", "And tomorrow?", "Thanks.")


class Talk:
    """A conversation of three turns, as a program has it.

    Args:
        root: The project, the current folder.
        provider: Whom it asks.
    """

    def __init__(self, root, provider):
        self.root, self.provider = root, provider

    def __call__(self, mode="new_episodes"):
        """Talk; returns the files of what was recorded, in order."""
        before, messages = set_start(self.root / "program.py"), []
        try:
            with onetake.use_cassette("cassettes/a", mode=mode) as session:
                for text in QUESTIONS:
                    messages.append({"role": "user", "content": text})
                    messages.append(self._ask(messages))
        finally:
            set_start(before)
        return [next((self.root / "cassettes/a").glob(f"*{entry.key[:16]}*.json")) for entry in session.recorded]

    def _ask(self, messages):
        url = f"{self.provider.url}/v1/chat/completions"
        body = json.dumps({"model": "m", "messages": messages}).encode()
        with urllib.request.urlopen(urllib.request.Request(url, body, {"content-type": "application/json"})) as came:
            return json.load(came)["choices"][0]["message"]

    def commit(self):
        """Commit everything."""
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Record")):
            subprocess.run(["git", *who, *words], cwd=self.root, check=True)


@pytest.fixture
def talk(project, provider):
    """The conversation, recorded and committed some time ago."""
    provider.script(lambda request: openai_chat(f"answer to {len(json.loads(request.body)['messages'])}", model="m"))
    made = Talk(project, provider)
    made.files = made()
    for path in made.files:
        recorded = read_entry(path).provenance["recorded_at"]
        path.write_bytes(path.read_bytes().replace(recorded.encode(), EARLIER.encode()))
    made.commit()
    provider.script(lambda request: openai_chat("Bergen, as ever.", model="m"))
    return made


def chain(run):
    return json.loads(run("status", "--chain", "--json")[1])["chain"]


def test_status_names_the_turns_that_hold_the_old_answer(run, talk):
    first, second, third = (path.relative_to(talk.root).as_posix() for path in talk.files)
    assert run("status", "--chain")[1] == "no entry holds an old answer of one that was recorded again\n"
    assert run("probe", "--accept", first)[0] == 0
    assert [(one["path"], one["origin"], one["left"]) for one in chain(run)] == [
        (second, first, False),
        (third, first, False),
    ]
    origin = talk.files[0].name
    why = f"its request holds, as answer 1 of the conversation, what {origin} said before it was recorded again"
    again = 'record it again: `onetake run --mode new_episodes -- PROGRAM`, or mode="new_episodes" in the code'
    assert run("status")[1].startswith(
        f"with an old answer: 2 entries\n  {second}\n  {third}\n    {why}\n    to do: {again}\n\n"
        "3 entries: 3 replay\n2 of those that replay with a warning: `onetake check` says which\n"
    )
    assert run("status", "--chain")[1] == (
        f"{first}: 2 entries with an old answer of it\n  1. {second}\n     {why}\n  2. {third}\n     {why}\n"
        f"  no command does it: {again}\n"
    )
    assert run("check")[1].count("warning: old-answer") == 2


def test_what_is_asked_now_is_recorded_and_the_rest_left_behind(run, talk):
    run("probe", "--accept", talk.files[0])
    assert len(talk()) == 2
    assert [one["left"] for one in chain(run)] == [True, True]
    assert "with an old answer" not in run("status")[1]
    assert "old-answer" not in run("check", "--strict")[1].replace("info: old-answer", "")


def test_with_chain_they_are_marked(run, talk):
    first, second, third = (path.relative_to(talk.root).as_posix() for path in talk.files)
    code, out, _ = run("probe", "--accept", first, "--chain")
    assert (code, out[out.index(f"\n{first}: ") + 1 :].split("\n")[:3]) == (
        0,
        [f"{first}: 2 entries with its old answer", f"  1. {second}: marked", f"  2. {third}: marked"],
    )
    notes = [read_entry(path).provenance["chained"]["from"] for path in talk.files[1:]]
    assert notes == [f"{read_entry(talk.files[0]).key}-0"] * 2
    code, out, _ = run("probe", "--accept", first, "--chain", "--json")
    assert (code, json.loads(out)["chain"]) == (0, [])
