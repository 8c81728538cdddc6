"""A project with real entries: recorded by the engine under the project's own settings, then changed by a test."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from onetake import dialects
from onetake.contract import as_contracts
from onetake.format import dump_entry, load_entry
from onetake.key import Keyer
from onetake.model import Response
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
    def edit(path: Path, old: str, new: str) -> None:
        """Replace what stands once in a file."""
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        path.write_text(text.replace(old, new), encoding="utf-8", newline="")

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
