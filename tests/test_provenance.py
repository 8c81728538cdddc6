import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from onetake import provenance as module
from onetake.provenance import provenance, sdk_of

IDENTITY = {f"GIT_{who}_{what}": "x@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def origin(root, **more):
    facts = {"test": "", "client": "", "sdk": None, "model_asked": None, "model_served": None, **more}
    return provenance(root, **facts)


def git(folder, *words):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *words], cwd=folder, env=clean | IDENTITY, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "a")
    return tmp_path


def test_the_commit_is_named_and_untracked_files_do_not_make_it_dirty(repository):
    (repository / "new.json").write_text("{}")
    found = origin(repository)
    assert found["commit"] == git(repository, "rev-parse", "HEAD")
    assert "dirty" not in found


def test_a_changed_tracked_file_makes_it_dirty(repository):
    (repository / "a.txt").write_text("b")
    assert origin(repository)["dirty"] is True


def test_outside_of_git_and_without_git_there_is_no_commit(tmp_path, monkeypatch):
    assert "commit" not in origin(tmp_path)
    monkeypatch.setenv("PATH", "")
    assert "commit" not in origin(tmp_path / "elsewhere")


def test_empties_are_left_out_and_the_rest_is_there(tmp_path):
    found = origin(tmp_path, client="httpx2 2.16.2", model_asked="m")
    assert (found["client"], found["model_asked"], found["recorder"]) == (
        "httpx2 2.16.2",
        "m",
        f"onetake {module.version()}",
    )
    assert not {"test", "sdk", "model_served"} & found.keys()
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    moment = datetime.fromisoformat(found["recorded_at"])
    assert found["recorded_at"].endswith("Z")
    assert abs((datetime.now(UTC) - moment).total_seconds()) < 60


@pytest.mark.parametrize(
    ("agent", "sdk"),
    [
        ("OpenAI/Python 3.57.0", "OpenAI/Python 3.57.0"),
        ("AsyncAzureOpenAI/Python 1.107.2", "AsyncAzureOpenAI/Python 1.107.2"),
        ("AsyncAnthropic/Python 2.14.0", "AsyncAnthropic/Python 2.14.0"),
        ("Groq/Python 1.7.0", "Groq/Python 1.7.0"),
        (
            "Boto3/1.44.8 md/Botocore#1.44.8 ua/2.1 os/linux#6.18.44 md/arch#x86_64 lang/python#3.11.7 "
            "md/pyimpl#CPython m/E,e,b,Z,N cfg/retry-mode#standard Botocore/1.44.8",
            "Boto3/1.44.8",
        ),
        ("google-genai-sdk/3.6.1 gl-python/3.11.7", "google-genai-sdk/3.6.1"),
        ("cohere/7.3.1", "cohere/7.3.1"),
        ("mistral-client-python/3.7.0", "mistral-client-python/3.7.0"),
        ("speakeasy-sdk/python 1.5.0 2.497.0 0.0.2 mistralai", "mistralai 1.5.0"),
        ("litellm/1.110.2", "litellm/1.110.2"),
        ("ollama-python/0.6.3 (x86_64 linux) Python/3.11.7", "ollama-python/0.6.3"),
        ("pydantic-ai/2.68.0", "pydantic-ai/2.68.0"),
        ("our-service 7 on box-12", "our-service 7"),
        ("our-service on box-12", "our-service"),
        ("ours/[openai key 1] (box-12)", "ours/[openai key 1]"),
        ("python-httpx2/2.16.2", None),
        ("Python/3.11 aiohttp/3.14.1", None),
        ("(nobody)", None),
        ("", None),
    ],
)
def test_of_a_user_agent_only_the_sdk_and_its_version_are_kept(agent, sdk):
    assert sdk_of(agent) == sdk


def test_a_user_agent_of_any_length_is_read_at_once():
    assert sdk_of("a" * 100_000 + " " * 100_000) == "a" * 100_000
