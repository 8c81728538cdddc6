"""Projects that replay by vcrpy, written file by file, and their cassettes."""

from __future__ import annotations

import json
import textwrap

import pytest
import yaml

from onetake.doctor.configurations import Configurations
from onetake.doctor.evaluation import Scope
from onetake.doctor.examining import examine
from onetake.doctor.finding import find_openings
from onetake.doctor.matchers import Matchers
from onetake.doctor.sources import Sources

URL = "https://api.openai.com/v1/chat/completions"


@pytest.fixture
def project(tmp_path):
    """Return a function that writes files, by their paths, and returns their folder."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text), encoding="utf-8")
        return tmp_path

    return write


@pytest.fixture
def interaction():
    """Return a function that makes one chat call of vcrpy's: *asked* by the user, *said* by the model."""

    def make(
        asked="Hello?", said="Good day.", *, url=URL, method="POST", body=None, status=200, headers=None, **fields
    ):
        content = {"model": "gpt-5", "messages": [{"role": "user", "content": asked}], **fields}
        message = {"role": "assistant", "content": said} if isinstance(said, str) else said
        answer = {"id": f"chatcmpl-{asked}", "choices": [{"message": message, "finish_reason": "stop"}]}
        return {
            "request": {
                "body": json.dumps(content) if body is None else body,
                "headers": {"content-type": ["application/json"], **(headers or {})},
                "method": method,
                "uri": url,
            },
            "response": {
                "body": {"string": json.dumps(answer)},
                "headers": {"content-type": ["application/json"]},
                "status": {"code": status, "message": "OK"},
            },
        }

    return make


@pytest.fixture
def cassette():
    """Return a function that makes the text of a cassette of interactions."""

    def make(*interactions):
        return yaml.safe_dump({"interactions": list(interactions), "version": 1})

    return make


@pytest.fixture
def found():
    """Return a function that examines a folder: its hazards as (kind, path, line), in order."""

    def run(folder, start=None):
        report = examine(start or folder)
        return [(one.kind.value, one.path.relative_to(folder).as_posix(), one.line) for one in report.hazards]

    return run


@pytest.fixture
def opened():
    """Return a function that finds the openings of a project, with the project and its configurations."""

    def run(folder):
        sources = Sources(folder)
        configurations = Configurations(sources)
        return find_openings(sources, configurations), sources, configurations, Matchers(sources)

    return run


@pytest.fixture
def scope(project):
    """Return a function that makes the scope of a file of a project: its text, and other files by their names."""

    def make(text, **files):
        folder = project({"here.py": text} | {f"{name}.py": content for name, content in files.items()})
        sources = Sources(folder)
        return Scope(sources, sources.module(folder / "here.py"))

    return make
