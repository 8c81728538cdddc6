"""What tests of several folders share."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from onetake.testing.local_model import available
from onetake.testing.local_model import local_model as serve_model
from onetake.testing.provider import Provider


@pytest.fixture
def provider():
    """A scripted provider of this test's own."""
    with Provider() as running:
        yield running


@pytest.fixture(scope="session")
def local_model():
    """The real small model, started once for all tests that ask for it."""
    reason = available()
    if reason:
        pytest.skip(f"no local model: {reason}")
    with serve_model() as running:
        yield running


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of other people's cassettes and logs; read in place, never written."""
    beside = Path(__file__).parents[1] / ".." / "shared" / "corpora"
    folder = Path(os.environ.get("ONETAKE_CORPORA") or beside).resolve()
    if not folder.is_dir():
        pytest.skip("the corpora are not here (ONETAKE_CORPORA names their folder)")
    return folder


_ASKING = """
import os

import httpx

URL = os.environ["PROVIDER"] + "/v1/chat/completions"


def body(text, **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def ask(text, **more):
    return httpx.post(URL, json=body(text, **more)).json()["choices"][0]["message"]["content"]


async def ask_async(text, **more):
    async with httpx.AsyncClient() as client:
        response = await client.post(URL, json=body(text, **more))
    return response.json()["choices"][0]["message"]["content"]
"""


@pytest.fixture
def inner(pytester, provider, monkeypatch):
    """Run pytest inside this process on files of the test's own, which ask the provider; needs the pytester plugin.

    `inner(*arguments)` returns what `pytester.runpytest_inprocess` does; `inner.write(name, text)` writes a file.
    """
    for name in list(os.environ):
        if name == "CI" or name.startswith(("ONETAKE_", "PYTEST_ADDOPTS")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PROVIDER", provider.url)

    def run(*arguments):
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:xdist", *arguments)

    def write(name, text):
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    def files(under=""):
        found = (pytester.path / under).rglob("*.json")
        return sorted(path.relative_to(pytester.path).as_posix() for path in found)

    run.write, run.files, run.path = write, files, pytester.path
    write("pytest.ini", "[pytest]\npythonpath = .\nasyncio_default_fixture_loop_scope = function\n")
    write("asking.py", _ASKING)
    return run
