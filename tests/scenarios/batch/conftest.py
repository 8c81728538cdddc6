"""What the proofs of batches share: a provider of its own process, trials that are killed, and what must then hold."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from contextlib import chdir, closing, suppress
from decimal import Decimal
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner

from onetake.batch import running
from onetake.batch.claims import folder_of
from onetake.batch.job import load_job
from onetake.batch.ledger import Ledger
from onetake.batch.opening import Opened, open_source
from onetake.cli import commands
from onetake.stores import open_store
from onetake.upkeep import packing

HERE = Path(__file__).parent
IN_FLIGHT = 4
_PRICES = (Decimal("0.15"), Decimal("0.6"))
_NUMBERS = count(1)
_SCHEMA = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "number": {"type": "integer"}},
    "required": ["label", "number"],
    "additionalProperties": False,
}


@pytest.fixture(scope="session")
def server():
    """The address of the provider; see `server.py`."""
    with subprocess.Popen(
        [sys.executable, str(HERE / "server.py")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield process.stdout.readline().strip()
        process.kill()


class Trial:
    """A batch in a folder of its own, its runs as processes, and what the provider saw of them.

    Args:
        folder: Where to.
        server: The provider's address.
    """

    def __init__(self, folder, server):
        self.folder = folder
        self.server = server
        self.model = f"model-{next(_NUMBERS)}"
        self.out = folder / "rows.jsonl"
        (folder / "schema.json").write_text(json.dumps(_SCHEMA))
        self.job()

    def job(self, run="", ask=""):
        """Write the job file."""
        (self.folder / "job.toml").write_text(
            f"""
            [ask]
            base_url = "{self.server}/v1"
            model = "{self.model}"
            prompt = "Label {{message}}"
            schema = "schema.json"
            {ask}
            [run]
            concurrency = {IN_FLIGHT}
            prices = {{ input = 0.15, output = 0.6 }}
            {run}
            """
        )

    def write(self, *messages):
        """Write the input, a record a message."""
        lines = [json.dumps({"message": message}) for message in messages]
        (self.folder / "in.jsonl").write_text("".join(f"{line}\n" for line in lines))

    def words(self, *options, out="rows.jsonl"):
        """The words of a run."""
        return ["batch", "run", "in.jsonl", "-c", "job.toml", "-o", out, "--yes", "--progress", "none", *options]

    def start(self, *options, strace=(), program=("-m", "onetake"), **more):
        """Start a run as a process; *strace* are its options, where it is traced."""
        return self._started([*program, *self.words(*options, **more)], strace)

    def run(self, *options, **more):
        """Run to the end, in a process where that is told; returns the exit code and what was said."""
        if more.keys() & {"strace", "program"}:
            return ended(self.start(*options, **more))
        return self.onetake(*self.words(*options, **more))

    def onetake(self, *words, strace=()):
        """Run any command; returns the exit code and what it said."""
        if strace:
            return ended(self._started(["-m", "onetake", *words], strace))
        with chdir(self.folder):
            done = CliRunner().invoke(commands, words, catch_exceptions=False)
        return done.exit_code, done.output

    def _started(self, words, strace):
        traced = ["strace", "-f", "-o", str(self.folder / "trace"), *strace] if strace else []
        return subprocess.Popen(
            [*traced, sys.executable, *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def kill_at(self, number, delay=0.0, **more):
        """Start a run, and kill it some time after the provider's n-th call of it."""
        process = self.start(**more)
        self.calls(len(self.calls()) + number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        process.kill()
        return ended(process)

    def calls(self, at_least=0):
        """What the provider was asked, once it was that often."""
        with urllib.request.urlopen(f"{self.server}/{self.model}/{at_least}", timeout=60) as reply:
            return json.load(reply)

    def rows(self):
        """The output."""
        return [json.loads(line) for line in self.out.read_bytes().splitlines()]

    def opened(self):
        """The batch, in this process."""
        return Opened(load_job(self.folder / "job.toml"), open_source(str(self.folder / "in.jsonl")))

    def totals(self):
        """What the ledger says."""
        with closing(Ledger(folder_of(self.folder / "calls.db") / "calls.db.intents.db")) as ledger:
            return ledger.totals()

    def check(self, in_flight=0):
        """See that all holds that must hold after a run that ended: the promise of batches.

        Args:
            in_flight: How many calls may have been in flight at kills.
        """
        records = (self.folder / "in.jsonl").read_bytes().count(b"\n")
        assert [row["line"] for row in self.rows()] == [*range(1, records + 1)]
        self._check_replay()
        stored = self._check_calls(in_flight)
        self._check_ledger(in_flight, stored)
        litter = [*self.folder.rglob("*.tmp"), *self.folder.rglob("*.partial"), *self.folder.rglob("*-wal")]
        assert litter == []
        assert list(packing.faults(self.folder / "calls.db")) == []

    def _check_replay(self):
        """The same bytes come of the store alone, with nobody to connect to."""
        with pytest.MonkeyPatch.context() as patch, closing(self.opened()) as batch:
            patch.setattr(socket.socket, "connect", _refuse)
            patch.setattr(socket.socket, "connect_ex", _refuse)
            replayed = self.folder / "replayed.jsonl"
            running.replay(batch, replayed)
        assert replayed.read_bytes() == self.out.read_bytes()
        replayed.unlink()
        replayed.with_name("replayed.jsonl.manifest.json").unlink()

    def _check_calls(self, in_flight):
        """As many requests as keys; a call more only for one that was in flight at a kill. Returns the calls stored."""
        calls = self.calls()
        with closing(open_store(self.folder / "calls.db", "calls.db")) as store:
            keys = set(store.names())
        answered = [call for call in calls if call["word"] == "good"]
        assert len({call["key"] for call in answered}) == len(keys)
        assert len(answered) - len(keys) <= in_flight
        given = Counter(row["answer"]["number"] for row in self.rows() if "answer" in row)
        stored = [call for call in answered if call["number"] in given]
        assert {call["number"] for call in stored} == set(given)
        assert len({call["key"] for call in stored}) == len(stored)
        return stored

    def _check_ledger(self, in_flight, stored):
        """The ledger has every call, and at most those in flight besides; the cost is true to the last digit."""
        calls, totals = self.calls(), self.totals()
        assert totals.unsettled == 0
        assert totals.stored == len(stored)
        assert totals.lost <= in_flight
        assert len(calls) <= totals.attempts <= len(calls) + totals.lost
        assert len([call for call in calls if call["word"] == "good"]) - len(stored) <= totals.lost
        assert cost(stored) <= totals.cost <= cost(calls)
        if not totals.lost:
            assert totals.cost == cost(calls)


def ended(process):
    """Wait for a run; returns its exit code and what it said."""
    said, _ = process.communicate(timeout=100)
    return process.returncode, said


def cost(calls):
    """What the provider bills, in US dollars."""
    prices = (count * price for call in calls for count, price in zip(call["tokens"], _PRICES, strict=True))
    return sum(prices, Decimal(0)) / 1_000_000


def _refuse(*_):
    raise AssertionError("a replay connects to nobody")


@pytest.fixture
def trial(tmp_path, server):
    """A batch in a folder of its own; see `Trial`."""
    return Trial(tmp_path, server)


@pytest.fixture
def strace():
    """Skip where there is no strace."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not on this machine")
