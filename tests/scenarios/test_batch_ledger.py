"""What the ledger of intents says is what the provider saw: every call, every token, every cent."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import pytest

from onetake.batch.ledger import Ledger
from onetake.testing.provider import Provider, echo, openai_error, text_reply

RECORDS = 60
IN_FLIGHT = 4
PRICES = {"input": Decimal("0.15"), "output": Decimal("0.6")}


class Billing:
    """A provider that counts what it answered: tokens of what it said in full, whoever was still there to hear it."""

    def __init__(self):
        self.keys = Counter()
        self.cost = self.dearest = Decimal(0)
        self.kill_at = self.victim = None
        self._lock = threading.Lock()

    @property
    def calls(self):
        return self.keys.total()

    def __call__(self, request):
        reply = echo(request)
        usage = json.loads(reply.body)["usage"]
        cost = cost_of(usage["prompt_tokens"], usage["completion_tokens"])
        with self._lock:
            self.keys[request.body] += 1
            self.cost += cost
            self.dearest = max(self.dearest, cost)
            if self.calls == self.kill_at:
                self.victim.kill()
        return reply


def cost_of(asked, answered):
    return (asked * PRICES["input"] + answered * PRICES["output"]) / 1_000_000


@pytest.fixture
def provider():
    with Provider() as made:
        yield made


@pytest.fixture
def billing(provider):
    made = Billing()
    provider.script(made)
    return made


@pytest.fixture
def folder(tmp_path, provider):
    lines = [json.dumps({"message": f"line {number} of the log"}) for number in range(RECORDS)]
    (tmp_path / "in.jsonl").write_text("\n".join([*lines, lines[0]]) + "\n")
    (tmp_path / "job.toml").write_text(
        f"""
        [ask]
        base_url = "{provider.url}/v1"
        model = "our-model"
        prompt = "Say it again: {{message}}"
        [run]
        concurrency = {IN_FLIGHT}
        prices = {{ input = 0.15, output = 0.6 }}
        """
    )
    return tmp_path


def start(folder, output):
    command = [sys.executable, "-m", "onetake", "batch", "run", "in.jsonl", "-c", "job.toml", "-o", output]
    return subprocess.Popen(
        [*command, "--yes", "--progress", "none"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process):
    said, _ = process.communicate(timeout=100)
    return process.returncode, said


def ledger_of(folder):
    return Ledger(folder / ".onetake" / "batch" / "calls.db.intents.db")


def test_a_run_that_nothing_disturbs_is_billed_as_the_ledger_says(folder, billing):
    code, said = ended(start(folder, "rows.jsonl"))
    assert code == 0, said
    totals = ledger_of(folder).totals()
    assert (totals.attempts, totals.stored, totals.unsettled) == (RECORDS, RECORDS, 0)
    assert (billing.calls, billing.cost) == (RECORDS, totals.cost)


@pytest.mark.parametrize(
    "at", [pytest.param(1, marks=pytest.mark.whole), 17, pytest.param(RECORDS, marks=pytest.mark.whole)]
)
def test_a_killed_run_may_have_been_billed_for_no_more_than_was_in_flight(folder, billing, at):
    billing.kill_at = at
    billing.victim = start(folder, "rows.jsonl")
    assert ended(billing.victim)[0] != 0
    code, said = ended(start(folder, "rows.jsonl"))
    assert code == 0, said
    totals = ledger_of(folder).totals()
    assert (totals.stored, totals.unsettled) == (RECORDS, 0)
    assert 0 < totals.lost <= IN_FLIGHT
    assert f"up to {totals.lost} call" in said
    extra = billing.calls - RECORDS
    assert 0 <= extra <= totals.lost == totals.attempts - RECORDS
    assert totals.cost <= billing.cost <= totals.cost + extra * billing.dearest


def test_two_runners_of_one_store_pay_for_each_request_once(folder, billing):
    runners = [start(folder, f"rows-{number}.jsonl") for number in range(2)]
    for code, said in map(ended, runners):
        assert code == 0, said
    assert set(billing.keys.values()) == {1}
    totals = ledger_of(folder).totals()
    assert (totals.attempts, totals.stored, totals.lost, totals.cost) == (RECORDS, RECORDS, 0, billing.cost)
    assert (folder / "rows-0.jsonl").read_bytes() == (folder / "rows-1.jsonl").read_bytes()


def test_what_failed_is_counted_and_costs_nothing(folder, provider, billing):
    failing = {3: openai_error(503), 5: openai_error(400), 8: replace(text_reply("<html>"), status=200)}
    provider.script(lambda request: failing.get(request.number) or billing(request))
    code, said = ended(start(folder, "rows.jsonl"))
    assert code == 7, said
    totals = ledger_of(folder).totals()
    # A page under a good status may stand before an answer that was made, and paid for.
    assert (totals.attempts, totals.stored, totals.lost) == (RECORDS + 2, RECORDS, 1)
    assert (totals.classes["ok"], totals.classes["503"], totals.classes["refused"]) == (RECORDS - 1, 1, 1)
    assert (totals.cost, totals.unpriced) == (billing.cost, 0)
