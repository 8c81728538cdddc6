"""A project with real entries: recorded by the engine under the project's own settings, then changed by a test."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from onetake import dialects
from onetake.contract import as_contracts
from onetake.errors import InteractionNotFound, UsageError
from onetake.format import dump_entry, load_entry
from onetake.key import Keyer
from onetake.model import Mode, Response
from onetake.options import Options
from onetake.project_files import digest
from onetake.scrub import Scrubber
from onetake.session_run import SessionRun
from onetake.settings import load_settings
from onetake.steps import Flow
from onetake.stores.directory import DirectoryStore
from onetake.stores.naming import parse_name
from onetake.upkeep.checking import check
from onetake.usage import CassetteUsage, UsageRun, write_run

ITEMS = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["label", "tags"],
}
ANSWER = {"label": "bug", "tags": ["a", "b"]}


class Folder:
    """A project in a folder.

    Args:
        root: An empty folder.
        direct: Makes engines without a client.
    """

    def __init__(self, root: Path, direct) -> None:
        self.root = root
        self.direct = direct
        self.settings()
        self.schema(ITEMS)

    def settings(self, contract: str = "", top: str = "") -> None:
        """Write the settings; *contract* is added to the contract `items`, *top* stands before it."""
        text = f'{top}\n[contracts.items]\nschema = "items.json"\n{contract}\n'
        (self.root / "onetake.toml").write_text(text, encoding="utf-8")

    def schema(self, schema: object) -> None:
        """Write the schema of the contract `items`."""
        (self.root / "items.json").write_text(json.dumps(schema), encoding="utf-8")

    def record(
        self, *calls, contract="items", folder="cassettes/test_a/test_b", test="tests/test_a.py::test_b", **policy
    ):
        """Record calls of (request or prompt, response or text) as a test would; returns the files of their entries."""
        settings = load_settings(self.root)
        contracts = as_contracts(contract, root=self.root, declared=settings.contracts)
        store = DirectoryStore(self.root / folder)
        policy = {"keep": settings.keep, "keyer": Keyer(settings.key), "scrubber": Scrubber(settings.scrub), **policy}
        engine = self.direct(store, contracts=contracts, root=self.root, test=test, **policy)
        for request, response in calls or [("Sort this", json.dumps(ANSWER))]:
            engine.answer(engine.ask(request), response)
        return [self.root / folder / Path(store.locate(*slot)).name for slot in sorted(store.names())]

    def miss(
        self, *requests, contract="items", folder="cassettes/test_a/test_b", test="tests/test_a.py::test_b", **own
    ):
        """Have a session of mode `none` ask these requests (or prompts); returns what it refused."""
        run = SessionRun(
            Options(folder, "none", contract, **own), load_settings(self.root), Mode.NONE, test, owned=True
        )
        refused = []
        for request in requests:
            try:
                run.session._engine.begin(self.direct.chat(request) if type(request) is str else request, Flow("one"))
            except InteractionNotFound as error:
                refused.append(error)
        run.settle(UsageError("the test failed"))
        return refused

    def check(self, **options):
        """Return what a check of the whole project finds: (code, path from the root, first line of the message)."""
        return [
            (one.code.value, one.path.relative_to(self.root).as_posix(), one.message.split("\n")[0])
            for one in self.findings(**options)
        ]

    def codes(self, **options):
        """Return the codes that a check finds, in order."""
        return [one.code.value for one in self.findings(**options)]

    def findings(self, **options):
        """Return what a check of the whole project finds."""
        return check(self.root, **options).findings

    @staticmethod
    def load(path: Path):
        """Return the entry in a file."""
        return load_entry(path.read_bytes(), DirectoryStore(path.parent).get_side)

    def rewrite(self, path: Path, **provenance) -> None:
        """Change what the provenance of the entry in a file says."""
        entry = self.load(path)
        path.write_bytes(dump_entry(replace(entry, provenance={**entry.provenance, **provenance}))[0])

    def ran(self, unused=(), used=(), *, folder="cassettes/test_a/test_b", why="", known=True, root="", at=""):
        """Put a run of tests on record, of now: which files of a cassette it used and which it left without use."""
        slots = [frozenset(map(parse_name, (path.name for path in paths))) for paths in (used, unused)]
        place = str(self.root / folder) if root else folder
        now = at or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        files = digest(self.root / root)
        cassettes = {place: CassetteUsage(*slots, known)}
        return write_run(self.root / root, UsageRun(now, files=files, why=why, cassettes=cassettes))

    @staticmethod
    def edit(path: Path, old: str, new: str) -> None:
        """Replace what stands once in a file."""
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8", newline="")

    @staticmethod
    def without(path: Path, *names: str) -> None:
        """Take fields out of an entry's file."""
        entry = load_entry(path.read_bytes(), lambda name: None)
        assert all(getattr(entry, name) for name in names)
        path.write_bytes(dump_entry(replace(entry, **dict.fromkeys(names)))[0])

    @staticmethod
    def edit_answer(path: Path, old: str, new: str) -> None:
        """Change what the model said, in the response and in the answer that is derived from it."""
        entry = load_entry(path.read_bytes(), lambda name: None)
        said, wanted = json.dumps(old).encode(), json.dumps(new).encode()
        assert entry.response.body.count(said) == 1
        response = replace(entry.response, body=entry.response.body.replace(said, wanted))
        answer = dialects.find(entry.request.method, entry.request.url).read(entry.request, response).answer
        path.write_bytes(dump_entry(replace(entry, response=response, answer=answer))[0])

    @staticmethod
    def line_of(path: Path, text: str) -> int:
        """Return the number of the first line that holds a text."""
        lines = path.read_text(encoding="utf-8").split("\n")
        return next(number for number, line in enumerate(lines, 1) if text in line)


class Repository:
    """A project under git, with a parser in `app/parse.py`.

    Args:
        folder: The project.
        git: Runs git.
    """

    parser = '"""Parses."""\n\n\ndef parse(text):\n    return text\n'
    fixed = parser.replace("return text", "return text.strip()")

    def __init__(self, folder, git) -> None:
        self.folder = folder
        self.root = folder.root
        self._git = git
        self.git("init", "-q")
        (self.root / ".gitignore").write_text(".onetake\n")
        self.write(self.parser)
        self.watch()
        self.commit("Begin")

    def git(self, *words, **environment):
        return self._git(self.root, *words, **environment)

    def write(self, text, name="app/parse.py"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def watch(self, contract='watch = ["app/parse.py"]'):
        self.folder.settings(contract)

    def commit(self, subject, day="2026-03-01"):
        """Commit everything; returns the commit's name."""
        moment = f"{day}T10:00:00Z"
        self.git("add", "-A")
        self.git("commit", "-qm", subject, GIT_AUTHOR_DATE=moment, GIT_COMMITTER_DATE=moment)
        return self.git("rev-parse", "HEAD")

    def said(self):
        """Return what the check says: the first line of each message."""
        found = self.folder.findings()
        assert {one.code.value for one in found} <= {"predates-parser"}
        return [one.message.split("\n")[0] for one in found]


@pytest.fixture
def folder(tmp_path, direct):
    """A project with the contract `items`, and no entry yet."""
    return Folder(tmp_path, direct)


@pytest.fixture
def answer():
    """The text of an answer that the contract `items` takes."""
    return json.dumps(ANSWER)


@pytest.fixture
def items():
    """The schema of the contract `items`; the test's own to change."""
    return json.loads(json.dumps(ITEMS))


@pytest.fixture
def streamed(direct, answer):
    """A streamed call: its request and its response."""
    choices = [{"index": 0, "delta": {"content": answer}}, {"index": 0, "delta": {}, "finish_reason": "stop"}]
    body = "".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in choices) + "data: [DONE]\n\n"
    return direct.chat("x", stream=True), Response(200, (("content-type", "text/event-stream"),), body.encode())


@pytest.fixture
def git():
    """Return a function that runs git in a folder, as somebody with a name, and returns what it prints."""
    who = {f"GIT_{whose}_{what}": "ann@example.com" for whose in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | who
    own = ("-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", "-c", "core.autocrlf=false")

    def run(folder, *words, **environment):
        done = subprocess.run(["git", *own, *words], cwd=folder, env=clean | environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    return run


@pytest.fixture
def repository(folder, git):
    """The project under git, with a parser that its contract watches; everything is committed."""
    return Repository(folder, git)


@pytest.fixture
def recorded(repository):
    """The repository, with an entry that was recorded under the parser of its first commit, and is committed itself."""
    repository.folder.record()
    repository.commit("Record")
    return repository


@pytest.fixture
def unwatched(repository):
    """The same, recorded while the contract watched nothing: the entry has no digest of the parser."""
    repository.watch("")
    repository.commit("Watch nothing")
    repository.folder.record()
    repository.watch()
    repository.commit("Record, and watch the parser")
    return repository


@pytest.fixture
def tree(tmp_path):
    """A repository with settings at its top and in three folders, two of them with runs, and one outside of it."""
    for name in ("repo", "repo/app", "repo/app/inner", "repo/lib", "repo/lib/src", "outside"):
        (tmp_path / name).mkdir()
        if name != "repo/lib/src":
            (tmp_path / name / "onetake.toml").touch()
    for name in ("repo", "repo/app/inner", "repo/lib", "outside"):
        write_run(tmp_path / name, UsageRun("2026-11-30T10:00:00Z"))
    return tmp_path
