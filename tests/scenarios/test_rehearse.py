"""`scripts/rehearse`: the whole way of a suite, in a copy of it; here of a small one of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("vcr")

SCRIPT = Path(__file__).parents[2] / "scripts/rehearse"
URL = "https://api.openai.com/v1/chat/completions"
SUITE = f"""
import httpx
import pytest
import vcr

def ask(text):
    body = {{"model": "m", "messages": [{{"role": "user", "content": text}}]}}
    return httpx.post("{URL}", json=body).json()["choices"][0]["message"]["content"]

@pytest.mark.parametrize("number", range(3))
def test_clean(number):
    with vcr.use_cassette("tapes/a.yaml"):
        assert ask("hi") == "one"

@pytest.mark.parametrize("number", range(2))
def test_drifted(number):
    with vcr.use_cassette("tapes/a.yaml"):
        assert ask(f"hello {{number}}") == "one"

def test_fails():
    assert False
"""


@pytest.fixture
def suite(tmp_path):
    message = {"role": "assistant", "content": "one"}
    answer = {"object": "chat.completion", "model": "m"}
    answer["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
    headers = {"content-type": ["application/json"]}
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    interaction = {
        "request": {"method": "POST", "uri": URL, "body": body, "headers": headers},
        "response": {
            "status": {"code": 200, "message": "OK"},
            "headers": headers,
            "body": {"string": json.dumps(answer)},
        },
    }
    folder = tmp_path / "suite"
    (folder / "tapes").mkdir(parents=True)
    (folder / "test_it.py").write_text(SUITE)
    (folder / "tapes/a.yaml").write_text(json.dumps({"version": 1, "interactions": [interaction]}))
    return folder


@pytest.mark.whole
def test_a_suite_goes_the_whole_way_and_its_folder_is_as_it_was(suite):
    before = {path.relative_to(suite): path.is_file() and path.read_bytes() for path in suite.rglob("*")}
    command = [sys.executable, str(SCRIPT), str(suite), sys.executable, "-p", "no:xdist", "-p", "no:hypothesispytest"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "their own recorder                5 passed, 1 failed",
        "only because the body is ignored  2",
        "imported                          1 of 1, 0 loose",
        "legacy                            5 passed, 1 failed",
        "legacy, clean tests strictly      5 passed, 1 failed",
        "strict                            3 passed, 3 failed",
        "nothing was lost",
    ], done.stderr
    assert done.returncode == 0
    assert {path.relative_to(suite): path.is_file() and path.read_bytes() for path in suite.rglob("*")} == before


def test_without_a_suite_it_says_how_it_is_used():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert (done.returncode, "scripts/rehearse PATH PYTHON" in done.stderr) == (2, True)
