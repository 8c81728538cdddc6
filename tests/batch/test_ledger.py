"""The ledger of intents: what was sent, what came of it, and what it cost."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from decimal import Decimal
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onetake.batch.ledger import Intent, Ledger, Run, Settled, Spent, State, Totals
from onetake.errors import StoreError
from onetake.stores.sqlite import SqliteStore
from onetake.stores.sqlite_file import SqliteFile

WINDOW = 4
RUNNER = """
import sys
from collections import deque
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from onetake.batch.ledger import Ledger, Spent, State
window = int(sys.argv[2])
ledger = Ledger(Path(sys.argv[1]))
print(ledger.begin_run("job", "input", output_file="killed.jsonl"), flush=True)
flying = deque()
for line in range(1, 10_000):
    if len(flying) == window:
        done, attempt = flying.popleft()
        ledger.sent(attempt, "ok", status=200, spent=Spent(10, 2, Decimal("0.000003")))
        print("stored", done, flush=True)
        ledger.done(attempt, State.STORED)
    flying.append((line, ledger.intend([(sha256(b"%d" % line).hexdigest(), line)])[0]))
    print("sent", line, flush=True)
"""


def key_of(line):
    return sha256(b"%d" % line).hexdigest()


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".onetake" / "batch" / "ledger.db"


@pytest.fixture
def ledger(path):
    times = iter(range(100, 10_000))
    made = Ledger(path, "ledger.db", clock=lambda: next(times))
    yield made
    made.end_run("", 0)
    made.close()


@pytest.fixture
def begun(ledger):
    ledger.begin_run("job", "input", output_file="rows.jsonl")
    return ledger


@pytest.fixture
def full(monkeypatch):
    """Return a context in which the disk is full: no transaction can be committed."""

    class Full:
        def __init__(self, connection):
            self._connection = connection

        def execute(self, sql, *values):
            if sql == "COMMIT":
                raise sqlite3.OperationalError("database or disk is full")
            return self._connection.execute(sql, *values)

        def __getattr__(self, name):
            return getattr(self._connection, name)

    opened = SqliteFile._open_writer

    @contextmanager
    def filled():
        with monkeypatch.context() as patched:
            patched.setattr(SqliteFile, "_open_writer", lambda file: Full(opened(file)))
            yield

    return filled


def on_disk(path, sql):
    with closing(sqlite3.connect(path)) as connection, connection:
        return connection.execute(sql).fetchall()


def kill_after(path, lines, window=WINDOW):
    """Have a run with so many calls in flight killed once it has said so many lines; returns what it said."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(path), str(window)], stdout=subprocess.PIPE, text=True
    )
    said = [process.stdout.readline().split() for _ in range(lines + 1)]
    process.kill()
    said += [line.split() for line in process.communicate()[0].splitlines()]
    told = [words for words in said[1:] if len(words) == 2]
    return {word: {int(line) for kind, line in told if kind == word} for word in ("sent", "stored")}


def test_what_was_not_sent_after_all_is_no_attempt(ledger, begun):
    gone, sent = ledger.intend([(key_of(1), 1), (key_of(2), 2)])
    ledger.withdraw(gone)
    ledger.done(sent, State.STORED)
    ledger.flush()
    assert (ledger.totals().attempts, ledger.totals().unsettled) == (1, 0)


def test_nothing_is_made_before_the_first_run(path):
    ledger = Ledger(path)
    assert (ledger.runs(), ledger.open_intents(), ledger.totals()) == ([], [], Totals())
    assert ledger.settle(lambda key: None) == Settled(0, 0)
    assert not path.parent.exists()


def test_an_intent_is_on_disk_when_it_returns(begun, path):
    attempt = begun.intend([(key_of(7), 7)])[0]
    assert on_disk(path, "SELECT id, run, hex(key), line, at, state FROM attempt") == [
        (attempt, 1, key_of(7).upper(), 7, 101.0, State.OPEN)
    ]


def test_what_came_is_on_disk_with_the_next_intent(begun, path):
    first = begun.intend([(key_of(1), 1)])[0]
    begun.sent(first, "ok", status=200, spent=Spent(3, 4, Decimal("0.01")))
    begun.done(first, State.STORED)
    assert on_disk(path, "SELECT state, class FROM attempt") == [(State.OPEN, None)]
    begun.intend([(key_of(2), 2)])
    assert on_disk(path, "SELECT line, state, class, status, input, output, cost FROM attempt") == [
        (1, State.STORED, "ok", 200, 3, 4, 10_000_000_000),
        (2, State.OPEN, None, None, None, None, None),
    ]


def test_what_came_is_on_disk_after_a_flush_and_at_the_end(begun, path):
    first, second = begun.intend([(key_of(1), 1)])[0], begun.intend([(key_of(2), 2)])[0]
    begun.sent(first, "500", status=500)
    begun.done(first, State.UNSTORED)
    begun.flush()
    assert on_disk(path, "SELECT state FROM attempt ORDER BY id") == [(State.UNSTORED,), (State.OPEN,)]
    begun.sent(second, "timeout")
    begun.end_run("budget", 4)
    assert on_disk(path, "SELECT state, class FROM attempt ORDER BY id") == [
        (State.UNSTORED, "500"),
        (State.ANSWERED, "timeout"),
    ]
    assert on_disk(path, "SELECT began, ended, why, exit_code FROM run") == [(100.0, 103.0, "budget", 4)]


def test_a_note_that_another_thread_wrote_first_stays(begun):
    attempt = begun.intend([(key_of(1), 1)])[0]
    begun.done(attempt, State.STORED)
    begun.sent(attempt, "ok", spent=Spent(1, 1))
    begun.flush()
    totals = begun.totals()
    assert (totals.stored, totals.unsettled, totals.classes) == (1, 0, {"ok": 1})


def test_attempts_add_up_by_run_and_in_all(begun, path):
    for line, word, spent, state in (
        (1, "ok", Spent(10, 5, Decimal("0.000015")), State.STORED),
        (2, "invalid", Spent(20, 5, Decimal("0.000025")), State.STORED),
        (2, "ok", Spent(7, 1), State.STORED),
        (3, "503", Spent(cost=Decimal(0)), State.UNSTORED),
    ):
        attempt = begun.intend([(key_of(line), line)])[0]
        begun.sent(attempt, word, spent=spent)
        begun.done(attempt, state)
    begun.intend([(key_of(4), 4)])
    classes = {"503": 1, "invalid": 1, "ok": 2}
    whole = Totals(5, 3, 0, 1, classes, input=37, output=11, cost=Decimal("0.00004"), unpriced=1)
    assert begun.totals() == begun.totals(1) == whole
    assert begun.totals(2) == Totals()
    second = Ledger(path)
    second.begin_run("job", "input")
    second.intend([(key_of(5), 5)])
    assert (second.totals(2).attempts, second.totals(1), second.totals().attempts) == (1, whole, 6)
    second.end_run("", 0)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**7), st.sampled_from(["0.15", "0.0375", "75", "0.6"])), max_size=30))
def test_costs_add_up_to_the_last_digit(tmp_path_factory, calls):
    ledger = Ledger(tmp_path_factory.mktemp("exact") / "ledger.db")
    ledger.begin_run("job", "input")
    costs = [tokens * Decimal(price) / 1_000_000 for tokens, price in calls]
    for line, cost in enumerate(costs):
        ledger.sent(ledger.intend([(key_of(line), line)])[0], "ok", spent=Spent(1, 1, cost))
    ledger.end_run("", 0)
    assert ledger.totals().cost == sum(costs, Decimal(0))
    ledger.close()


def test_what_was_asked_is_told_with_its_job(ledger):
    assert list(ledger.asked()) == []
    for job, lines in (("first", (1, 2)), ("second", (2,))):
        ledger.begin_run(job, "input")
        for line in lines:
            ledger.intend([(key_of(line), line)])
        ledger.end_run("", 0)
    assert list(ledger.asked()) == [("first", key_of(1)), ("first", key_of(2)), ("second", key_of(2))]


def test_several_intents_are_on_disk_together_each_with_a_number_of_its_own(begun, path):
    numbers = begun.intend([(key_of(line), line) for line in (7, 9, 8)])
    assert on_disk(path, "SELECT id, line FROM attempt ORDER BY id") == list(zip(numbers, (7, 9, 8), strict=True))


def test_threads_have_attempts_of_their_own(begun):
    def ask(line):
        attempt = begun.intend([(key_of(line), line)])[0]
        begun.sent(attempt, f"class-{line % 3}", spent=Spent(line, 1))
        begun.done(attempt, State.STORED)
        return attempt

    with ThreadPoolExecutor(16) as pool:
        attempts = set(pool.map(ask, range(300)))
    begun.flush()
    totals = begun.totals()
    assert (len(attempts), totals.attempts, totals.stored, totals.input) == (300, 300, 300, sum(range(300)))
    assert totals.classes == {"class-0": 100, "class-1": 100, "class-2": 100}


def test_the_last_run_comes_first_and_is_under_way_until_it_ends(path):
    first, second = Ledger(path, clock=lambda: 5.0), Ledger(path, clock=lambda: 6.0)
    first.begin_run("j1", "i1", job_file="job.toml", input_file="in.jsonl", output_file="a.jsonl", store="calls.db")
    second.begin_run("j2", "i2", output_file="b.jsonl")
    assert [run.output_file for run in first.runs()] == ["b.jsonl", "a.jsonl"]
    assert all(first.is_under_way(run) for run in first.runs())
    first.end_run("provider: no money", 75)
    latest, ended = second.runs()
    assert ended == Run(
        1, 5.0, 5.0, "j1", "i1", "job.toml", "in.jsonl", "a.jsonl", "calls.db", "provider: no money", 75
    )
    assert (second.is_under_way(ended), second.is_under_way(latest)) == (False, True)
    second.end_run("", 0)


def test_intents_of_a_run_under_way_are_not_open(begun, path):
    begun.intend([(key_of(1), 1)])
    other = Ledger(path)
    other.begin_run("job", "input")
    assert (other.open_intents(), other.settle(lambda key: Spent())) == ([], Settled(0, 0))
    assert other.totals().unsettled == 1
    other.end_run("", 0)


@pytest.mark.parametrize("lines", [1, 3, 4, 5, 6, 11, 50, 333])
def test_a_killed_run_leaves_no_more_open_than_it_had_in_flight(path, lines):
    said = kill_after(path, lines)
    ledger = Ledger(path)
    assert not ledger.is_under_way(ledger.runs()[0])
    intents = ledger.open_intents()
    assert len(intents) <= WINDOW
    assert {one.line for one in intents} >= said["sent"] - said["stored"]
    assert all(one.key == key_of(one.line) and one.run == 1 for one in intents)


def test_a_killed_run_is_settled_once_by_what_is_stored(path):
    said = kill_after(path, 40)
    ledger = Ledger(path)
    stored = {key_of(line): Spent(10, 2, Decimal("0.000003")) for line in said["stored"]}
    lines = [one.line for one in ledger.open_intents()]
    lost = len(set(lines) - said["stored"])
    assert 0 < lost <= WINDOW
    ledger.begin_run("job", "input")
    assert ledger.settle(stored.get) == Settled(len(lines) - lost, lost)
    totals = ledger.totals(1)
    assert (totals.stored, totals.lost, totals.unsettled) == (len(said["stored"]), lost, 0)
    assert totals.cost == len(said["stored"]) * Decimal("0.000003")
    asked_again = ledger.intend([(key_of(lines[-1]), lines[-1])])[0]
    ledger.done(asked_again, State.STORED)
    ledger.end_run("", 0)
    assert ledger.settle(lambda key: Spent(10, 2)) == Settled(0, 0)
    assert (ledger.totals(1), ledger.totals(2).stored) == (totals, 1)


def test_a_reply_that_came_to_another_runner_is_not_the_killed_ones(path):
    said = kill_after(path, WINDOW)
    alive = Ledger(path)
    alive.begin_run("job", "input")
    alive.done(alive.intend([(key_of(1), 1)])[0], State.STORED)
    alive.end_run("", 0)
    open_lines = {one.line for one in alive.open_intents()}
    assert 1 in open_lines | said["stored"]
    next_run = Ledger(path)
    next_run.begin_run("job", "input")
    settled = next_run.settle(lambda key: Spent(10, 2) if key == key_of(1) else None)
    assert settled == Settled(0, len(open_lines))
    next_run.end_run("", 0)


def test_of_two_killed_runs_the_last_one_has_the_reply(path):
    for _ in range(2):
        kill_after(path, 2, window=10_000)  # the first is in flight however late the kill comes
    ledger = Ledger(path)
    ledger.begin_run("job", "input")
    count = len(ledger.open_intents())
    assert [one.run for one in ledger.open_intents() if one.line == 1] == [1, 2]
    assert ledger.settle(lambda key: Spent(10, 2) if key == key_of(1) else None) == Settled(1, count - 1)
    assert [ledger.totals(run).stored for run in (1, 2)] == [0, 1]
    ledger.end_run("", 0)


def test_an_interrupted_run_says_what_it_left_in_flight(begun, path):
    answered = begun.intend([(key_of(1), 1)])[0]
    begun.sent(answered, "ok", spent=Spent(5, 5, Decimal("0.5")))
    begun.intend([(key_of(2), 2)])
    begun.end_run("interrupted", 130)
    ledger = Ledger(path)
    assert ledger.open_intents() == [
        Intent(1, 1, key_of(1), 1, 101.0, State.ANSWERED),
        Intent(2, 1, key_of(2), 2, 102.0, State.OPEN),
    ]
    told = {key_of(1): Spent(1, 1, Decimal(9)), key_of(2): None}
    assert ledger.settle(told.get) == Settled(1, 1)
    assert (ledger.totals().cost, ledger.totals().input) == (Decimal("0.5"), 5)


def test_two_processes_that_settle_at_once_count_a_call_once(begun, path):
    begun.intend([(key_of(1), 1)])
    begun.end_run("interrupted", 130)
    first, second = Ledger(path), Ledger(path)

    def slowly(key):
        assert second.settle(lambda key: Spent(3, 3)) == Settled(1, 0)

    assert first.settle(slowly) == Settled(0, 0)
    assert (first.totals().stored, first.totals().lost, first.totals().input) == (1, 0, 3)


def test_what_could_not_be_written_is_still_noted(begun, path):
    attempt = begun.intend([(key_of(1), 1)])[0]
    begun.sent(attempt, "ok", spent=Spent(1, 2, Decimal(1)))
    on_disk(path, "CREATE TRIGGER full BEFORE INSERT ON attempt BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
    with pytest.raises(StoreError, match=r"ledger\.db: cannot be written: disk is full"):
        begun.intend([(key_of(2), 2)])
    assert begun.totals().classes == {}
    on_disk(path, "DROP TRIGGER full")
    begun.flush()
    assert (begun.totals().classes, begun.totals().attempts) == ({"ok": 1}, 1)


def test_a_run_ends_for_others_also_where_that_cannot_be_written(ledger, path):
    ledger.begin_run("job", "input")
    on_disk(path, "CREATE TRIGGER full BEFORE UPDATE ON run BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
    with pytest.raises(StoreError, match="disk is full"):
        ledger.end_run("", 0)
    assert not ledger.is_under_way(ledger.runs()[0])
    on_disk(path, "DROP TRIGGER full")


def test_br_166_a_resume_that_asks_nothing_leaves_the_ledger_as_large(path):
    def resume(lines):
        ledger = Ledger(path)
        ledger.begin_run("j" * 64, "i" * 64, output_file="rows.jsonl")
        for line in lines:
            ledger.done(ledger.intend([(key_of(line), line)])[0], State.STORED)
        ledger.end_run("", 0)
        ledger.close()
        return path.stat().st_size

    size = resume(range(500))
    assert [resume(()) for _ in range(5)][-1] <= size * 1.1


def test_a_ledger_that_was_cut_is_said_or_read(begun, path, tmp_path):
    for line in range(40):
        begun.sent(begun.intend([(key_of(line), line)])[0], "ok", spent=Spent(1, 1, Decimal("0.01")))
    begun.end_run("", 0)
    begun.close()
    whole = path.read_bytes()
    cut = tmp_path / "cut.db"
    seen = []
    for length in sorted(
        {*range(8, len(whole), 397), *(end + by for end in range(8192, len(whole), 8192) for by in (-1, 0, 1))}
    ):
        cut.write_bytes(whole[:length])
        ledger = Ledger(cut, "cut.db")
        try:
            seen.append((ledger.totals().attempts, len(ledger.runs())))
        except StoreError as error:
            seen.append(str(error).partition(": ")[0])
        ledger.close()
    assert set(seen) <= {"cut.db", (40, 1)}
    assert seen.count("cut.db") > len(seen) / 2


def test_a_damaged_ledger_says_what_is_lost_with_it(path):
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no ledger at all" * 1000)
    told = r"file is not a database; it holds what calls cost, and no reply: move it away, and the next run begins"
    with pytest.raises(StoreError, match=rf"ledger\.db: damaged: it cannot be read: {told}"):
        Ledger(path).totals()
    with pytest.raises(StoreError, match=rf"ledger\.db: damaged: it cannot be written: {told}"):
        Ledger(path).begin_run("job", "input")


def test_a_store_is_no_ledger(path):
    path.parent.mkdir(parents=True)
    SqliteStore(path).add(key_of(1), 0, b"entry")
    with pytest.raises(StoreError, match=r"is a database of something else: name another file$"):
        Ledger(path).begin_run("job", "input")


def test_a_ledger_of_a_newer_onetake_is_refused(begun, path):
    begun.end_run("", 0)
    begun.close()
    on_disk(path, "PRAGMA user_version = 2")
    with pytest.raises(StoreError, match=r"a newer onetake wrote it \(format 2\); upgrade onetake"):
        Ledger(path).totals()
    on_disk(path, "PRAGMA user_version = 1")


def test_br_176_after_a_full_disk_the_same_process_begins_its_run(ledger, path, full):
    ledger.begin_run("job", "input", output_file="rows.jsonl")
    ledger.end_run("", 0)
    with full(), pytest.raises(StoreError, match="disk is full"):
        ledger.begin_run("job", "input", output_file="rows.jsonl")
    with closing(Ledger(path)) as other:
        assert [run.id for run in other.runs()] == [1]
        assert other.begin_run("job", "input") == 2
        other.end_run("", 0)
    assert ledger.begin_run("job", "input") == 3
    assert (ledger.is_under_way(ledger.runs()[0]), ledger.is_under_way(ledger.runs()[1])) == (True, False)


def test_what_no_provider_can_have_counted_breaks_nothing(begun):
    for line, spent in enumerate([Spent(10**30, 5, Decimal("1e30")), Spent(10**400), Spent(7, 2, Decimal("0.5"))], 1):
        begun.sent(begun.intend([(key_of(line), line)])[0], "ok", status=200, spent=spent)
    begun.flush()
    found = begun.totals()
    assert (found.input, found.output, found.cost, found.unpriced) == (7, 7, Decimal("0.5"), 1)


def test_sums_may_be_larger_than_what_sqlite_adds(begun):
    most = Spent(2**53, 2**62, Decimal(9_000_000))
    for line in range(5):
        begun.sent(begun.intend([(key_of(line), line)])[0], "ok", spent=most)
    begun.flush()
    found = begun.totals()
    assert (found.input, found.output, found.cost) == (5 * 2**53, 5 * 2**62, Decimal(45_000_000))


def test_what_was_asked_in_vain_is_neither_stored_nor_in_flight(begun):
    for line, (word, state) in enumerate([("ok", State.STORED), ("server", State.UNSTORED), ("timeout", State.LOST)]):
        attempt = begun.intend([(key_of(line), line)])[0]
        begun.sent(attempt, word)
        begun.done(attempt, state)
    begun.intend([(key_of(9), 9)])
    begun.flush()
    assert list(begun.in_vain()) == [key_of(1), key_of(2)]
