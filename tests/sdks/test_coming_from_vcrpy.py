"""The whole way from vcrpy, with the real parts: pytest-recording, vcrpy, and dspy over litellm.

A suite of three kinds of calls on one URL, asked by threads, replays under vcrpy's defaults: whose answer comes depends
on who asks first, so it fails, each time in another way. The doctor names the cause, the import keys what was recorded
by the whole request, and the same suite passes, unchanged and with the provider dead.
"""

from __future__ import annotations

import json
import os
import re
from importlib import metadata
from pathlib import Path

import pytest

import onetake
from onetake.testing.project import Project
from onetake.testing.provider import openai_chat

pytestmark = [pytest.mark.sdk("dspy"), pytest.mark.timeout(600), pytest.mark.slow]

ROUNDS = 50
SUITE = """
import inspect
import json
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import dspy
import pytest

SHAPES = {"writer": {"draft"}, "critic": {"score", "why"}, "tagger": {"tags"}}


def ask(model, job, start):
    start.wait(timeout=60)
    (found,) = model(messages=[{"role": "user", "content": f"You are the {job}."}])
    return json.loads(found if isinstance(found, str) else found["text"])


@pytest.mark.vcr
@pytest.mark.default_cassette("jobs")
@pytest.mark.parametrize("turn", range(50))
def test_jobs(turn):
    engine = {"engine": "litellm"} if "engine" in inspect.signature(dspy.LM.__init__).parameters else {}
    base = os.environ["PROVIDER"] + "/v1"
    model = dspy.LM("openai/m", api_base=base, api_key="sk-test", cache=False, num_retries=0, **engine)
    jobs = list(SHAPES)
    if turn:
        random.shuffle(jobs)
    start = threading.Barrier(len(jobs))
    with ThreadPoolExecutor(len(jobs)) as pool:
        got = {job: pool.submit(ask, model, job, start) for job in jobs}
    found = {job: set(answer.result()) for job, answer in got.items()}
    wrong = [f"{job} got {sorted(found[job])}" for job in SHAPES if found[job] != SHAPES[job]]
    assert not wrong, "; ".join(wrong)
"""


def _answer(request):
    job = request.json()["messages"][0]["content"].removeprefix("You are the ").rstrip(".")
    said = {"writer": {"draft": "d"}, "critic": {"score": 1, "why": "w"}, "tagger": {"tags": ["t"]}}
    return openai_chat(json.dumps(said[job]))


@pytest.fixture
def project(tmp_path, provider):
    folder = os.environ.get("ONETAKE_PYTEST_RECORDING")
    if not folder:
        pytest.skip("ONETAKE_PYTEST_RECORDING names no folder with pytest-recording, vcrpy and PyYAML")
    assert any(found.name == "pytest-recording" for found in metadata.distributions(path=[folder]))
    provider.script(_answer)
    path = os.pathsep.join([folder, str(Path(onetake.__file__).parents[1])])
    plugins = "-p no:xdist -p no:asyncio -p no:anyio -p no:hypothesispytest -p no:timeout -p no:langsmith_plugin"
    env = {
        "PROVIDER": provider.url,
        "PYTHONPATH": path,
        "PYTEST_ADDOPTS": plugins,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "DSPY_CACHEDIR": str(tmp_path / "cache"),
    }
    return Project(tmp_path / "project", {"test_jobs.py": SUITE, "pytest.ini": "[pytest]\n"}, env)


def _outcomes(done):
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed)", done.out.splitlines()[-1])}


def test_under_vcrpy_it_fails_by_chance_and_after_the_import_it_passes_fifty_times(project, provider):
    done = project.pytest("-q", "--record-mode=once", "-k", "[0]", timeout=200)
    assert _outcomes(done) == {"passed": 1}, done.out + done.err
    assert provider.count == 3
    provider.close()

    done = project.pytest("-q", "--tb=line", timeout=300)
    ways = set(re.findall(r"AssertionError: (.* got .*)", done.out))
    assert _outcomes(done)["failed"] > 0
    assert len(ways) > 1, "it fails in one way only"

    done = project.python("-m", "onetake", "doctor", "--json")
    hazards = json.loads(done.out)["hazards"]
    (shapes,) = [one for one in hazards if one["kind"] == "different-shapes"]
    assert done.code == 1
    assert "jobs" in json.dumps(shapes)

    done = project.python("-m", "onetake", "migrate", "--check", "--json", "--", "-k", "[0]", timeout=300)
    proof = json.loads(done.out)
    assert (proof["tests"], proof["interactions"]) == (1, {"imported": 3})

    done = project.python("-m", "onetake", "import", "vcr", "cassettes", "--json")
    assert (done.code, json.loads(done.out)["imported"]) == (0, 3), done.out
    project.write({"onetake.toml": ""})
    done = project.pytest("-q", "--onetake-vcr", timeout=300)
    assert _outcomes(done) == {"passed": ROUNDS}, done.out + done.err
    assert "pytest-recording stands aside" in done.out
    assert provider.count == 3
    assert not [name for name in project.files() if "pending" in name or "rejects" in name]
