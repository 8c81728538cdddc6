import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from onetake import provenance as module
from onetake.provenance import provenance

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
