"""What tests of batches share: runs on a real store, against the scripted provider, by a clock of the test's own."""

from __future__ import annotations

import asyncio
import json
import os
from typing import ClassVar

import pytest

from onetake import gate, interactions, writing
from onetake.batch.asking import Asking
from onetake.batch.costs import costs_of
from onetake.batch.job import Ask, Job, Run
from onetake.batch.manifest import load_manifest
from onetake.batch.opening import Opened, open_source
from onetake.batch.records import Form, Tally, read
from onetake.batch.replies import KEEP, Replies, policy_for
from onetake.batch.resolving import Needed, Resolver
from onetake.batch.roots import Needs
from onetake.batch.rows import Made, Partial, publish
from onetake.batch.runner import Filler
from onetake.batch.sending import Sender
from onetake.batch.verifying import verify
from onetake.contract import Contract
from onetake.decide import Action
from onetake.model import Mode, Response
from onetake.steps import Flow, Live, Policy
from onetake.store_users import asked_keys
from onetake.stores import open_store


class TestClock:
    """A clock that goes on when it is waited by, and notes for how long that was."""

    __test__ = False

    def __init__(self):
        self.time = 1000.0
        self.rests = []

    def now(self):
        return self.time

    async def rest(self, seconds, unless):
        self.rests.append(seconds)
        until = self.time + seconds
        await asyncio.sleep(0)
        if not unless.is_set():
            self.time = max(self.time, until)


class Filling:
    """A batch of a test: its input, its store, and runs that fill it."""

    def __init__(self, folder, provider):
        self.folder = folder
        self.provider = provider
        self.clock = TestClock()
        self.ask, self.run = {}, {}
        self.build = self.contract = None

    def write(self, *records):
        lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
        (self.folder / "in.jsonl").write_text("".join(line + "\n" for line in lines), "utf-8")

    def job(self, **run):
        ask = {"base_url": self.provider.url + "/v1", "model": "m", "prompt": "Say {m}", **self.ask}
        return Job(None, Ask(**ask), Run(**self._told(run)))

    def _told(self, run):
        return {"store": self.folder / "calls.db", "least": 1, "most": 1, **self.run, **run}

    def opened(self, job=None):
        source = open_source(str(self.folder / "in.jsonl"))
        return Opened(job or self.job(), source, build=self.build, contract=self.contract)

    def fill(self, *, sends=None, shows=None, environ=os.environ, ahead=False, **run):
        """Run once, replies read ahead as `run` has it, or not; returns the outcome and the ledger's totals of it."""
        job = self.job(**run)
        batch = self.opened(job)
        ledger = batch.ledger()
        sender = sends or Sender(job.ask, timeout=job.run.timeout, environ=environ)
        number = ledger.begin_run(job.digest(), "")
        try:
            outcome = asyncio.run(
                Filler(
                    job=job,
                    records=batch.resolver.ahead(batch.records()) if ahead else batch.records(),
                    replies=batch.replies,
                    resolver=batch.resolver,
                    ledger=ledger,
                    claims=asked_keys(job.run.store),
                    sends=sender,
                    costs=costs_of(job),
                    clock=self.clock,
                    chance=lambda: 1.0,
                ).fill(shows)
            )
            ledger.end_run(outcome.why, outcome.exit_code)
            return outcome, ledger.totals(number)
        finally:
            ledger.close()
            batch.close()

    def rows(self, **run):
        """What each record is, from the store alone: its answer, or the class of its failure."""
        batch = self.opened(self.job(**run))
        found = [batch.resolver.resolve(record) for record in batch.records()]
        batch.close()
        return ["needed" if isinstance(one, Needed) else one.failure or one.answer for one in found]


@pytest.fixture
def filling(tmp_path, provider, monkeypatch):
    """A batch in a folder of its own; see `Filling`."""
    monkeypatch.chdir(tmp_path)
    return Filling(tmp_path, provider)


class Replied:
    """A batch of a test whose replies are stored by hand: its input, its store, and what is made of both."""

    schema: ClassVar = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}

    def __init__(self, folder):
        self.folder = folder
        self.ask = Ask("http://127.0.0.1:9/v1", "m", "Label {message}")
        self.contract = Contract(self.schema, name="label")
        self.repairs = 0
        self.store = open_store(folder / "calls.db")
        self.out = folder / "rows.jsonl"

    def write(self, *lines):
        (self.folder / "in.jsonl").write_bytes(b"".join(_line(line) for line in lines))

    @property
    def asking(self):
        return Asking(self.ask, self.schema, "label")

    @property
    def replies(self):
        contracts = (self.contract,) if self.contract else ()
        return Replies(self.store, policy_for(Policy(Mode.NEW_EPISODES, self.folder, contracts=contracts)))

    def resolver(self):
        return Resolver(self.asking, self.replies, repairs=self.repairs, parses=self.contract is not None)

    def reply(self, message, text, *, finish="stop", status=200, **said):
        """Store what the model said to a record's message."""
        return self.answer(self.asking.request({"message": message}), text, finish=finish, status=status, **said)

    def answer(self, request, text, *, finish="stop", status=200, **said):
        choice = {"index": 0, "message": {"role": "assistant", "content": text, **said}, "finish_reason": finish}
        body = {"model": "m", "choices": [choice]} if status == 200 else {"error": {"message": text}}
        response = Response(status, (("content-type", "application/json"),), json.dumps(body).encode())
        replies = self.replies
        asked = replies.find(request).asked
        live = Live(asked, Action.RECORD, 0, Flow(0), "onetake batch", True)
        judged = gate.judge(request, response, asked.contracts, keep=KEEP, root=self.folder)
        entry = interactions.entry_of(live, response, judged, replies.policy)
        assert writing.write(self.store, entry, interactions.schema_of(entry, asked.contracts), over=False)
        return entry

    def records(self, tally=None):
        with (self.folder / "in.jsonl").open("rb") as file:
            yield from read(file, Form.JSONL, tally)

    def publish(self, *, keep_input=False, **more):
        tally = Tally()
        made = Made(self.folder / "in.jsonl", Form.JSONL, tally, self.folder / "job.toml", "0" * 64,
                    self.folder / "calls.db", **more)  # fmt: skip
        with Partial(self.out, keep_input=keep_input) as partial:
            return publish(self.records(tally), self.resolver(), partial, made, Needs(made.store, self.out))

    def rows(self):
        return [json.loads(line) for line in self.out.read_bytes().split(b"\n")[:-1]]

    def differences(self, job="0" * 64):
        tally = Tally()
        return verify(self.records(tally), tally, self.resolver(), self.out, load_manifest(self.out), job)


def _line(line):
    return line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode() + b"\n"


@pytest.fixture
def replied(tmp_path):
    """Return a batch whose replies are stored by hand."""
    found = Replied(tmp_path)
    yield found
    found.store.close()
