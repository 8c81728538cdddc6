"""What the proofs are worth: each thing that could be wrong is put wrong, and a proof that has a name must say so."""

from __future__ import annotations

import re

import pytest

_EVENT = re.compile(r"(fdatasync|fsync)\(\d+<([^>]*)>|(sendto)\(\d+<TCP|(rename)\(\"([^\"]*)\"")


def everything_is_on_disk_before_it_counts(trial, mutant):
    """An intent before its request, a reply before the next intent, the rows before their name, the name at the end."""
    trial.write(*(f"record {number}" for number in range(6)))
    trace = ["-yy", "-s", "64", "-e", "trace=fdatasync,fsync,sendto,rename"]
    code, said = trial.run("--concurrency", "1", strace=trace, mutant=mutant)
    assert code == 0, said
    seen = "".join(_events((trial.folder / "trace").read_text("utf-8", "replace")))
    assert re.search("(?:I+S+C+){6}", seen.replace("F", "")), seen
    assert re.search("PMrFRF", seen), seen


def _events(trace):
    """Give a letter for each: Intent, Sent, Committed reply; Partial and Manifest on disk, renames, Folder on disk."""
    ends = {
        "calls.db.intents.db-wal": "I",
        "calls.db-wal": "C",
        "rows.jsonl.partial": "P",
        "rows.jsonl.manifest.json.partial": "M",
    }
    for _, file, sent, renamed, name in _EVENT.findall(trace):
        if sent:
            yield "S"
        elif renamed:
            yield {"rows.jsonl.partial": "R", "rows.jsonl.manifest.json.partial": "r"}.get(name, "")
        else:
            yield ends.get(file.rpartition("/")[2], "F" if "." not in file.rpartition("/")[2] else "")


def a_kill_costs_no_more_than_what_was_in_flight(trial, mutant):
    trial.write(*(f"record {number}" for number in range(30)))
    trial.kill_at(7, 0.2, mutant=mutant)
    code, said = trial.run()
    assert code == 0, said
    trial.check(in_flight=4)


def an_edit_of_what_is_asked_asks_anew(trial, mutant):
    trial.write(*(f"record {number}" for number in range(4)))
    for temperature in (0, 1):
        trial.job(ask=f"params = {{ temperature = {temperature} }}")
        assert trial.run(mutant=mutant)[0] == 0
    assert len(trial.calls()) == 8


def running_again_changes_nothing(trial, mutant):
    trial.write(*(f"record {number}" for number in range(4)))
    for _ in range(2):
        assert trial.run(mutant=mutant)[0] == 0
    trial.check()


def rows_come_of_the_store_alone(trial, mutant):
    trial.write(*(f"record {number}" for number in range(4)))
    assert trial.run(mutant=mutant)[0] == 0
    trial.check()


PROOFS = {
    "no_fsync": everything_is_on_disk_before_it_counts,
    "early": a_kill_costs_no_more_than_what_was_in_flight,
    "field": an_edit_of_what_is_asked_asks_anew,
    "append": running_again_changes_nothing,
    "clock": rows_come_of_the_store_alone,
}


def _traced(proof, request):
    if proof is everything_is_on_disk_before_it_counts:
        request.getfixturevalue("strace")


@pytest.mark.parametrize("proof", PROOFS.values(), ids=lambda proof: proof.__name__)
def test_proof(trial, request, proof):
    _traced(proof, request)
    proof(trial, None)


@pytest.mark.parametrize("mutant", PROOFS)
def test_mutant_is_killed(trial, request, mutant):
    proof = PROOFS[mutant]
    _traced(proof, request)
    with pytest.raises(AssertionError):
        proof(trial, mutant)
