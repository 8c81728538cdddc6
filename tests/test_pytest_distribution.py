"""pytest-xdist: whichever worker gets which test, nothing is lost and nothing is there twice."""

from __future__ import annotations

import json

import pytest

from onetake.testing.project import Project

_NO_PART = ("hypothesispytest", "respx", "pytest_cov", "asyncio", "anyio", "timeout", "rerunfailures")
QUICK = " ".join(f"-p no:{name}" for name in _NO_PART)
ASKING = """
import os, httpx

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    answer = httpx.post(os.environ["PROVIDER"] + "/v1/chat/completions", json=body).json()
    return answer["choices"][0]["message"]["content"]
"""
CONFTEST = """
import pytest
from asking import ask

@pytest.fixture(scope="session")
def wide():
    first = ask("wide")
    return first, ask("wide")
"""
TESTS = """
import os
import pytest
from asking import ask

@pytest.mark.cassette
@pytest.mark.parametrize("n", range(4))
@pytest.mark.xdist_group("own")
def test_own(n):
    assert ask(f"n {n}").endswith(f"n {n}")

@pytest.mark.cassette("shared")
@pytest.mark.parametrize("n", range(4))
def test_shared(n, wide):
    assert ask(f"shared {n}").endswith(f"shared {n}")
    assert wide[0] != wide[1] and ask("by all").endswith("by all")
"""


OTHERS = ("loadscope", "loadfile", "loadgroup", "worksteal", "each")


@pytest.fixture
def project(tmp_path, provider):
    files = {"pytest.ini": "[pytest]\npythonpath = .\n", "asking.py": ASKING, "onetake.toml": ""}
    return Project(tmp_path / "project", files, {"PROVIDER": provider.url, "PYTEST_ADDOPTS": QUICK})


@pytest.mark.slow
@pytest.mark.parametrize("how", ["load", *(pytest.param(how, marks=pytest.mark.whole) for how in OTHERS)])
def test_every_distribution_records_what_each_test_asks_once(project, provider, how):
    project.write({"conftest.py": CONFTEST, "test_a.py": TESTS, "test_b.py": TESTS.replace("n {n}", "m {n}")})
    arguments = ("-q", f"--dist={how}", *(("--tx=2*popen",) if how == "each" else ("-n", "2")))
    done = project.pytest(*arguments, "--record-mode=once", "--onetake-report=report.json")
    assert f"{32 if how == 'each' else 16} passed" in done.out, done.out + done.err
    # Under `each` every worker runs every test: each of them counts, and what both paid for is counted once.
    sessions = json.loads((project.folder / "report.json").read_text())
    runs = [one["id"] for one in sessions["tests"] if one["kind"] == "test"]
    assert (len(runs), len(set(runs))) == (32 if how == "each" else 16, 16)
    assert sessions["live"]["calls"] == provider.count
    own = [name for name in project.files("cassettes") if "~fixture" not in name]
    texts = [(project.folder / name).read_text() for name in own]
    assert len({name.rpartition("/")[0] for name in own}) == 8
    fixtures = [name for name in project.files("cassettes") if "~fixture" in name]
    shared = project.files("shared")
    entries = len(own) + len(fixtures) + len(shared)
    assert len(own) == len(set(texts)) == 8
    if how == "each":  # two runs of one test at once: both pay, and the answer that is stored first stays
        assert 8 + len(fixtures) + 5 <= entries <= provider.count
    else:
        assert (len(fixtures), entries) == (2, provider.count), "one entry for each live call"
    assert [name for name in project.files(".onetake") if "/pending/" in name or "/making/" in name] == []
    asked = provider.count
    done = project.pytest(*(arguments if how == "load" else ("-q", "-n", "0")))
    assert "16 passed" in done.out, done.out + done.err
    assert provider.count == asked


CRASHING = """
import os
import pytest
from asking import ask

@pytest.mark.cassette
@pytest.mark.parametrize("n", range(6))
def test_it(n):
    ask(f"n {n}")
    if n == 3 and not os.path.exists("mended"):
        os._exit(3)
"""


@pytest.mark.whole
@pytest.mark.slow
def test_a_worker_that_crashes_loses_no_entry_and_what_it_was_at_answers_next_time(project, provider):
    project.write({"test_it.py": CRASHING})
    done = project.pytest("-q", "-n", "2", "--record-mode=once")
    assert "1 failed, 5 passed" in done.out, done.out + done.err
    assert "INTERNALERROR" not in done.out
    assert (provider.count, len(project.files("cassettes"))) == (6, 5)
    project.write({"mended": ""})
    done = project.pytest("-q", "-n", "2", "--record-mode=once")
    assert "6 passed" in done.out, done.out + done.err
    assert (provider.count, len(project.files("cassettes"))) == (6, 6)


@pytest.mark.whole
@pytest.mark.slow
def test_retries_and_a_failing_sharer_under_two_workers(project, provider):
    project.env["PYTEST_ADDOPTS"] = QUICK.replace(" -p no:rerunfailures", "")
    project.write(
        {
            "test_it.py": """
import pytest
from asking import ask

pytestmark = pytest.mark.cassette("shared")
TRIES = []

@pytest.mark.parametrize("n", range(4))
def test_flaky(n):
    TRIES.append(n)
    ask(f"flaky {n}")
    assert TRIES.count(n) == 2

def test_fails():
    ask("never kept")
    assert False
"""
        }
    )
    done = project.pytest("-q", "-n", "2", "--reruns=1", "--record-mode=once")
    assert "1 failed, 4 passed, 5 rerun" in done.out, done.out + done.err
    assert "4 recorded" in done.out
    assert (provider.count, len(project.files("shared"))) == (5, 4)
    assert len([name for name in project.files(".onetake/pending/shared") if name.endswith(".json")]) == 1
