"""A project with real entries: recorded by the engine under the project's own settings, then changed by a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onetake.contract import as_contracts
from onetake.key import Keyer
from onetake.scrub import Scrubber
from onetake.settings import load_settings
from onetake.stores.directory import DirectoryStore
from onetake.upkeep.checking import check

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

    def record(self, *calls, contract="items", folder="cassettes/test_a/test_b", test="tests/test_a.py::test_b", **policy):
        """Record calls of (request or prompt, response or text) as a test would; returns the files of their entries."""
        settings = load_settings(self.root)
        contracts = as_contracts(contract, root=self.root, declared=settings.contracts)
        store = DirectoryStore(self.root / folder)
        policy = {"keep": settings.keep, "keyer": Keyer(settings.key), "scrubber": Scrubber(settings.scrub), **policy}
        engine = self.direct(store, contracts=contracts, root=self.root, test=test, **policy)
        for request, response in calls or [("Sort this", json.dumps(ANSWER))]:
            engine.answer(engine.ask(request), response)
        return [self.root / folder / Path(store.locate(*slot)).name for slot in sorted(store.names())]

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
