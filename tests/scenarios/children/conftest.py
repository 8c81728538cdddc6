"""What scenarios share: a program under a sealed session, whose children ask."""

from __future__ import annotations

import httpx
import pytest

import onetake
from onetake.testing.project import Project

_ASKING = """
import os, sys

URL = os.environ["PROVIDER"]


def ask(text):
    import httpx

    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    reply = httpx.post(URL + "/v1/chat/completions", json=body).json()
    return reply["choices"][0]["message"]["content"]


def ask_openai(text):
    import openai

    client = openai.OpenAI(base_url=URL + "/v1")
    reply = client.chat.completions.create(model="m", messages=[{"role": "user", "content": text}])
    return reply.choices[0].message.content


def both(name=""):
    "Ask what is stored, and swallow what becomes of what is not."
    print(ask("known" + name), flush=True)
    try:
        print(ask("unknown" + name), flush=True)
    except BaseException as error:
        print(type(error).__name__, flush=True)


if __name__ == "__main__":
    both()
"""

_PROGRAM = """
import asyncio, multiprocessing, os, subprocess, sys
from concurrent.futures import ProcessPoolExecutor

import onetake
from asking import ask, ask_openai, both

CHILD = [sys.executable, "asking.py"]
PLAIN = {"PROVIDER": os.environ["PROVIDER"], "PATH": os.environ.get("PATH", "")}


def run():
    BODY


if __name__ == "__main__":
    before = dict(os.environ)
    try:
        with onetake.use_cassette("c", mode="none") as session:
            run()
            print(len(session.refusals), "known of", flush=True)
    except onetake.Refusal as refusal:
        print("raised", '"unknown' in refusal.args[1])
    print(dict(os.environ) == before, "as before")
"""


class SealedProgram:
    """A project whose cassette `c` holds the answer to `known` and nothing else, and a program that starts children."""

    def __init__(self, folder, provider):
        self.project = Project(folder, {"onetake.toml": "", "asking.py": _ASKING}, env={"PROVIDER": provider.url})
        self._provider = provider
        with onetake.use_cassette(folder / "c", mode="once"):
            body = {"model": "m", "messages": [{"role": "user", "content": "known"}]}
            httpx.post(provider.url + "/v1/chat/completions", json=body)

    def run(self, body, tail=""):
        """Run a body inside the session, and a tail after it; no request may reach the provider."""
        lines = body.strip("\n").split("\n")
        if not lines[0].startswith("    "):
            lines[0] = "    " + lines[0]
        return self.run_file({"program.py": _PROGRAM.replace("    BODY", "\n".join(lines)) + tail}, "program.py")

    def run_file(self, files, *arguments, asked=0):
        """Write files and run a Python with arguments; so many requests reach the provider."""
        before = self._provider.count
        self.project.write(files)
        done = self.project.python(*arguments, timeout=90)
        assert self._provider.count == before + asked, done.out
        return done


@pytest.fixture
def sealed(tmp_path, provider):
    """A program under a sealed session; see `SealedProgram`."""
    return SealedProgram(tmp_path, provider)
