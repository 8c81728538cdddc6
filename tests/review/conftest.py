"""A project under git whose entries are under a contract, and a person who reviews them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from onetake import key_specs
from onetake.aside import AsideStore
from onetake.cassette import Cassette
from onetake.contract import Contract
from onetake.format import load_entry
from onetake.interactions import schema_of
from onetake.key import Keyer
from onetake.model import Answer, Choice, Entry, Request, Response, Violation
from onetake.review.changes import changes
from onetake.review.reading import Reader
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.projects import Projects

SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}
URL = "https://api.openai.com/v1/chat/completions"
TEST = "tests/test_a.py::test_b"


class Desk:
    """The project, and what a review does with it.

    Args:
        root: An empty folder.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.contract = Contract(SCHEMA, name="items")
        self.declare(SCHEMA)

    def declare(self, schema):
        """Declare the contract `items` with a schema; with None, not at all."""
        text = '[contracts.items]\nschema = "items.json"\n' if schema else ""
        (self.root / "onetake.toml").write_text(text, encoding="utf-8")
        (self.root / "items.json").write_text(json.dumps(schema), encoding="utf-8")

    def git(self, *words):
        """Run git there, as somebody with a name; returns what it prints."""
        who = {f"GIT_{one}_{what}": "a@example.com" for one in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | who
        own = ("-c", "commit.gpgsign=false", "-c", "core.autocrlf=false", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", *own, *words], cwd=self.root, env=clean, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    def commit(self):
        """Commit everything, empty or not."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "Commit")

    def entry(self, asked="What?", said=None, **fields):
        """Make an entry under the contract; what was *said* is a JSON value, or a text."""
        text = said if isinstance(said, str) else json.dumps({"label": "ok"} if said is None else said)
        content = {"model": "gpt-5", "messages": [{"role": "user", "content": asked}]}
        headers = (("content-type", "application/json"),)
        request = Request("POST", URL, headers, json.dumps(content).encode())
        message = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
        known = {
            "verdict": "good",
            "contract": self.contract.ref(self.root),
            "provenance": {"recorded_at": "2026-03-01T10:00:00Z", "test": TEST},
            "dialect": "openai-chat/1",
            "answer": Answer((Choice(text, finish="stop"),)),
            "key": Keyer().key(request),
            "key_spec": key_specs.current({}),
            "response": Response(200, headers, json.dumps(message).encode()),
            "ordinal": 0,
        }
        return Entry(request=request, **(known | fields))

    def reject(self, asked="Refused?", said=None, **fields):
        """Make an entry that the gate refused: its label is no text."""
        found = (Violation("$.label", "a string", "1"),)
        wrong = {"label": 1} if said is None else said
        return self.entry(asked, wrong, **{"verdict": "reject:violation", "violations": found, **fields})

    def put(self, entry, folder="cassettes/a"):
        """Write an entry over the one in its place, its schema beside it; returns its file."""
        store = DirectoryStore(self.root / folder)
        Cassette(store).put(entry, schema_of(entry, [self.contract]))
        return self._file(store, entry)

    def aside(self, kind, entry, folder="cassettes/a", part=""):
        """Put an entry under `.onetake/`; returns its file."""
        store = AsideStore(self.root, kind, self.root / folder, part)
        assert Cassette(store).add(entry, schema_of(entry, [self.contract]))
        return self._file(store, entry)

    def changes(self, against=None, start=""):
        """Return what there is to review."""
        folder = self.root / start
        return changes(folder, against, Projects(folder, importing=False))

    def kinds(self, **options):
        """Return what became of each file, by its path from the root."""
        found = self.changes(**options).found
        return {one.path.relative_to(self.root).as_posix(): one.kind.value for one in found}

    def read(self, path=None, **options):
        """Read the change of one file, or the only one; returns it and what it is compared with."""
        found = self.changes(**options)
        reader = Reader(found, Projects(self.root, importing=False), importing=False)
        (change,) = [one for one in found.found if path in (None, one.path)]
        return reader.read(change), found.base

    @staticmethod
    def load(path):
        """Return the entry in a file."""
        return load_entry(path.read_bytes(), DirectoryStore(path.parent).get_side)

    @property
    def trash(self):
        """What lies in the trash: the bytes of each entry."""
        found = sorted((self.root / ".onetake" / "trash").rglob("*.json"))
        return [path.read_bytes() for path in found if path.parent.name != "_schemas"]

    def _file(self, store, entry):
        return self.root / store.locate(entry.key, entry.ordinal)


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A project under git, with nothing but its settings committed; it is the current folder."""
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.git("init", "-q")
    (tmp_path / ".gitignore").write_text(".onetake/\n", encoding="utf-8")
    made.commit()
    return made
