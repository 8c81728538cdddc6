"""What the proofs of batches share: a provider of its own process, trials that are killed, and what must then hold.

`test_batch_faults.py` lists the faults, each with its tests; `scripts/sweep` tries them all, and prints figures.
"""

from __future__ import annotations

import json
import os
import runpy
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
Started = runpy.run_path(str(HERE / "started.py"))["Started"]
IN_FLIGHT = 4
_PRICES = (Decimal("0.15"), Decimal("0.6"))
_NUMBERS = count(1)
_FIGURE = "of batches: "
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


@pytest.fixture(scope="session")
def starter():
    """What starts runs; see `starter.py`."""
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    program = [sys.executable, str(HERE / "starter.py")]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline()
        yield process.stdin


class Trial:
    """A batch in a folder of its own, its runs as processes, and what the provider saw of them.

    Args:
        folder: Where to.
        server: The provider's address.
        starter: Returns what starts processes.
    """

    def __init__(self, folder, server, starter):
        self.folder = folder
        self.server = server
        self.figures = Counter()
        self._starter = starter
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

    def start(self, *options, out="rows.jsonl", **more):
        """Start a run as a process; more: see `Started`."""
        self.figures["runs as processes"] += 1
        return self.process(*self.words(*options, out=out), **more)

    def process(self, *words, **more):
        """Start any command as a process; more: see `Started`."""
        return Started(self._starter(), self.folder, words, **more)

    def run(self, *options, out="rows.jsonl", **more):
        """Run to the end, in a process where more is told; returns the exit code and what was said."""
        return ended(self.start(*options, out=out, **more)) if more else self.onetake(*self.words(*options, out=out))

    def onetake(self, *words, **more):
        """Run any command, in a process where more is told; returns the exit code and what it said."""
        if more:
            return ended(self.process(*words, **more))
        with chdir(self.folder):
            done = CliRunner().invoke(commands, words, catch_exceptions=False)
        return done.exit_code, done.output

    def kill_at(self, number, delay=0.0, **more):
        """Start a run, and kill it some time after the provider's n-th call of it."""
        process = self.start(**more)
        self.calls(len(self.calls()) + number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        process.kill()
        self.figures["kills at random times"] += 1
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

    def check(self, in_flight=0, unsure=0):
        """See that all holds that must hold after a run that ended: the promise of batches.

        Args:
            in_flight: How many calls may have been in flight at kills.
            unsure: How many got no whole answer, so that nobody who asked can know whether they are billed.
        """
        records = (self.folder / "in.jsonl").read_bytes().count(b"\n")
        self.figures.update({"trials that held": 1, "rows that were right": records})
        assert [row["line"] for row in self.rows()] == [*range(1, records + 1)]
        self._check_replay()
        stored = self._check_calls(in_flight)
        self._check_ledger(in_flight, unsure, stored)
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

    def _check_ledger(self, in_flight, unsure, stored):
        """The ledger has every call, and at most those in flight besides; the cost is true to the last digit."""
        calls, totals = self.calls(), self.totals()
        assert totals.unsettled == 0
        assert totals.stored == len(stored)
        assert unsure <= totals.lost <= in_flight + unsure
        self.figures["calls"] += len(calls)
        self.figures["calls that a kill may have cost"] += totals.lost - unsure
        assert len(calls) <= totals.attempts <= len(calls) + totals.lost - unsure
        assert len([call for call in calls if call["word"] == "good"]) - len(stored) <= totals.lost - unsure
        assert cost(stored) <= totals.cost <= cost(calls)
        if totals.lost == unsure:
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
def trial(request, tmp_path, server):
    """A batch in a folder of its own; see `Trial`."""
    made = Trial(tmp_path, server, lambda: request.getfixturevalue("starter"))
    yield made
    for name, number in made.figures.items():
        request.node.user_properties.append((f"{_FIGURE}{name}", number))


@pytest.fixture
def strace():
    """Skip where there is no strace."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not on this machine")


def pytest_terminal_summary(terminalreporter):
    """Print what the trials came to."""
    figures = Counter()
    for report in terminalreporter.getreports(""):
        figures.update({name: number for name, number in report.user_properties if name.startswith(_FIGURE)})
    for name, number in sorted(figures.items()):
        terminalreporter.line(f"{name.removeprefix(_FIGURE)}: {number:,}")
